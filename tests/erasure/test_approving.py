"""Four eyes. The numbers are those of the list of attacks and faults."""

from datetime import timedelta

import pytest
from django.conf import LazySettings

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure import approving, deciding, workflow
from memadmin.erasure.approving import NotApproved, NotFresh, OtherDigest, SamePerson, WrongNumber
from memadmin.erasure.deciding import NotDecidable, NotReady, Verdict
from memadmin.erasure.drift import drift_of
from memadmin.erasure.models import ErasureRequest, IdentityLevel, Status
from memadmin.erasure.moves import WrongState
from memadmin.lifecycle.feedback import Report, record
from memadmin.store import holding
from memadmin.store.locations import Act
from memadmin.store.models import FeedbackKind, LongTermMemory
from tests.erasure.workflow import a_word, approved, discovered, officer, opened, opened_for, submitted
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store
from tests.holds import hold
from tests.people import make_person

pytestmark = pytest.mark.django_db


def waiting() -> ErasureRequest:
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    submitted(request)
    return request


def test_another_officer_approves_and_an_execution_claims_it_once():
    request = waiting()
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)

    claim = approving.claim(request, actor="job/erasure", now=NOON)

    assert (request.state, claim.attempt) == (Status.EXECUTING, 1)
    assert claim.token not in str(ErasureRequest.objects.values().get())
    with pytest.raises(WrongState):
        approving.claim(request, actor="job/erasure", now=NOON)


def test_47_who_took_it_in_or_reviewed_it_cannot_approve_it():
    request = waiting()

    with pytest.raises(SamePerson):
        approving.approve(request, a_word(request), actor=actor_of(officer()), now=NOON)
    assert ErasureRequest.objects.get().state == Status.AWAITING_APPROVAL
    assert AuditEntry.objects.filter(action="erasure.approved", outcome="refused", reason_code="same_person").count() == 1


@pytest.mark.parametrize(
    ("requester", "reviewer", "again"),
    [
        ("cora@x.org", "rita@x.org", ["cora+two@x.org", "rita+b@x.org", "CORA+Two@X.org"]),
        ("cora@gmail.com", "rita@x.org", ["c.o.ra+two@googlemail.com"]),
        ("cora", "rita", ["cora+two", "rita+b"]),  # logins that are no addresses
    ],
)
def test_47_a_second_account_of_the_same_person_is_the_same_person(requester: str, reviewer: str, again: list[str]):
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened(actor=actor_of(officer(requester)))
    submitted(request, reviewer=officer(reviewer))

    for login in again:
        with pytest.raises(SamePerson):
            approving.approve(request, a_word(request), actor=actor_of(officer(login)), now=NOON)
    approving.approve(request, a_word(request), actor=actor_of(officer("c.ora@x.org")), now=NOON)


@pytest.mark.parametrize("login", ["cora", "ivan", "rita"])
def test_47_who_only_took_it_in_or_noted_the_identity_or_reviewed_it_cannot_approve_it(login: str):
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened(identity=None, actor=actor_of(officer("cora")))
    workflow.note_identity(request, IdentityLevel.DOCUMENTS, actor=actor_of(officer("ivan")), now=NOON)
    submitted(request, reviewer=officer("rita"))

    with pytest.raises(SamePerson):
        approving.approve(request, a_word(request), actor=actor_of(officer(login)), now=NOON)


def test_who_has_not_the_right_cannot_approve():
    request = waiting()
    for actor in (actor_of(make_person(Role.AUDITOR, login="ada")), "job/erasure", "token/00000000-0000-0000-0000-000000000000"):
        with pytest.raises(SamePerson):
            approving.approve(request, a_word(request), actor=actor, now=NOON)


def test_an_old_sign_in_is_not_enough():
    request = waiting()
    for proved_at in (None, NOON - timedelta(hours=1), NOON + timedelta(hours=1)):
        with pytest.raises(NotFresh):
            approving.approve(request, a_word(request, proved_at=proved_at), actor=actor_of(officer("carl")), now=NOON)


def test_the_number_is_typed_and_the_digest_is_that_of_the_page():
    request = waiting()
    with pytest.raises(WrongNumber):
        approving.approve(request, a_word(request, number="99"), actor=actor_of(officer("carl")), now=NOON)
    with pytest.raises(OtherDigest):
        approving.approve(request, a_word(request, digest="0" * 64), actor=actor_of(officer("carl")), now=NOON)


def test_49_what_arrives_after_the_search_sends_it_back():
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    approved(request)
    store(LongTermMemory.objects.get().container, a_memory("new"), now=NOON + days(1))

    with pytest.raises(NotApproved):
        approving.claim(request, actor="job/erasure", now=NOON + days(1))

    request.refresh_from_db()
    assert (request.state, request.manifest_digest) == (Status.REVIEW, "")
    assert request.approvals.get().void_code == "new_items"


@pytest.mark.parametrize("is_one_memory", [False, True])
def test_49_what_somebody_reports_after_the_search_sends_it_back_too(is_one_memory: bool):
    store(make_container(), a_memory(), a_memory(user_id="bob"), now=NOON - days(1))
    memory, others = LongTermMemory.objects.order_by("pk")
    request = opened_for(memory) if is_one_memory else opened()
    approved(request)
    for each in (others, memory):
        assert drift_of(request.manifests.get()) == ""
        report = Report(kind=FeedbackKind.FORGOT, words="likes tea", noticed_at=NOON, memory_uid=each.uid)
        record(each.subject, report, actor=ACTOR, now=NOON + days(1))

    with pytest.raises(NotApproved):
        approving.claim(request, actor="job/erasure", now=NOON + days(1))
    assert request.approvals.get().void_code == "new_items"


@pytest.mark.parametrize("change", ["placed", "released"])
def test_11_a_hold_that_is_placed_or_released_after_the_search_sends_it_back(change: str):
    store(make_container(), a_memory(), a_memory("other"), now=NOON - days(1))
    memory = LongTermMemory.objects.earliest("pk")
    before = hold(memory) if change == "released" else None
    request = opened()
    approved(request)
    if before is None:
        hold(memory)
    else:
        holding.release(before, reason="closed", actor=ACTOR, now=NOON)

    with pytest.raises(NotApproved):
        approving.claim(request, actor="job/erasure", now=NOON)

    request.refresh_from_db()
    assert (request.state, request.approvals.get().void_code) == (Status.REVIEW, "holds_changed")


def test_49_a_digest_of_an_older_review_is_refused():
    request = waiting()
    seen = a_word(request)
    deciding.send_back(request, reason="Look again", actor=actor_of(officer("carl")), now=NOON)
    item = request.manifests.get().items.get(location="store.long_term")
    verdict = Verdict(act=Act.WITHHOLD, code="art_17_3_e", review_on=NOON.date() + days(100))
    deciding.decide(request, [item.pk], verdict, actor=actor_of(officer()), now=NOON)
    deciding.submit(request, actor=actor_of(officer()), now=NOON)

    with pytest.raises(OtherDigest):
        approving.approve(request, seen, actor=actor_of(officer("carl")), now=NOON)


def test_50_the_right_taken_away_before_the_run_voids_the_approval():
    store(make_container(), a_memory(), now=NOON - days(1))
    request, carl = opened(), officer("carl")
    approved(request, by=carl)
    Person.objects.filter(pk=carl.pk).update(roles=["auditor"])

    with pytest.raises(NotApproved):
        approving.claim(request, actor="job/erasure", now=NOON)

    request.refresh_from_db()
    assert request.state == Status.AWAITING_APPROVAL
    assert LongTermMemory.objects.count() == 1
    assert AuditEntry.objects.filter(action="erasure.claimed", outcome="refused", reason_code="right_lost").exists()


def test_51_a_second_approval_is_refused():
    request = waiting()
    word = a_word(request)
    approving.approve(request, word, actor=actor_of(officer("carl")), now=NOON)

    with pytest.raises(WrongState):
        approving.approve(request, word, actor=actor_of(officer("carl")), now=NOON)
    assert request.approvals.count() == 1


def test_an_approval_expires_and_no_clock_brings_it_back():
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    approved(request)

    assert approving.void_expired(now=NOON + days(8)) == 1
    with pytest.raises(WrongState):
        approving.claim(request, actor="job/erasure", now=NOON)
    assert request.approvals.get().void_code == "expired"


def test_an_approval_never_outlasts_the_day_it_is_due():
    store(make_container(), a_memory(), now=NOON - days(40))
    request = opened(now=NOON - days(28))
    approved(request, now=NOON)

    assert request.approvals.get().expires_at < NOON + days(2)


def test_57_cancelled_before_the_claim_nothing_runs_and_after_it_cannot_be_cancelled():
    store(make_container(), a_memory(), a_memory(user_id="bob"), now=NOON - days(1))
    one, two, actor = opened(), opened("bob"), actor_of(officer())
    approved(one)
    approved(two)

    workflow.cancel(one, actor=actor, now=NOON)
    approving.claim(two, actor="job/erasure", now=NOON)

    with pytest.raises(WrongState):
        approving.claim(one, actor="job/erasure", now=NOON)
    with pytest.raises(WrongState):
        workflow.cancel(two, actor=actor, now=NOON)


def test_single_operator_only_by_setting_and_it_is_noted(settings: LazySettings):
    settings.ERASURE_SINGLE_OPERATOR = True
    request = waiting()

    approval = approving.approve(request, a_word(request), actor=actor_of(officer()), now=NOON)

    request.refresh_from_db()
    assert approval.single_operator
    assert request.single_operator


def test_an_unverified_request_is_not_frozen():
    store(make_container(), a_memory())
    request = opened(identity=None)
    discovered(request)
    with pytest.raises(NotReady, match="comes from the person"):
        deciding.submit(request, actor=actor_of(officer()), now=NOON)


def test_mentions_wait_for_a_decision_and_what_is_kept_says_why():
    shop = make_container()
    store(shop, a_memory(user_id="annika-77"), a_memory("about annika-77", user_id="bob"))
    request, actor = opened("annika-77"), actor_of(officer())
    item = discovered(request).items.get(item_class="D")
    with pytest.raises(NotReady, match="wait for a decision"):
        deciding.submit(request, actor=actor, now=NOON)
    with pytest.raises(NotDecidable):
        deciding.decide(request, [item.pk], Verdict(act=Act.KEEP), actor=actor, now=NOON)

    deciding.decide(request, [item.pk], Verdict(act=Act.KEEP, code="not_about_them"), actor=actor, now=NOON)
    deciding.submit(request, actor=actor, now=NOON)

    assert request.state == Status.AWAITING_APPROVAL


def test_withholding_needs_a_reason_in_law_and_a_day_ahead():
    store(make_container(), a_memory())
    request = opened()
    item = discovered(request).items.get(location="store.long_term")
    for verdict in (Verdict(act=Act.WITHHOLD), Verdict(act=Act.WITHHOLD, code="art_17_3_b"), Verdict(act=Act.REDERIVE)):
        with pytest.raises(NotDecidable):
            deciding.decide(request, [item.pk], verdict, actor=actor_of(officer()), now=NOON)


def test_the_digest_is_of_what_will_be_done():
    store(make_container(), a_memory())
    one, two = opened(), opened()

    assert submitted(one).digest != submitted(two).digest
