"""A decision about many mentions that was wrong is undone as a whole, as long as the list is not approved."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure import approving, bulk_decisions, deciding, mentions, sharing
from memadmin.erasure.deciding import NotDecidable, Verdict
from memadmin.erasure.models import ErasureRequest, Manifest, Status
from memadmin.erasure.moves import WrongState
from memadmin.store.locations import Act, ItemClass
from tests.erasure.on_pages import do
from tests.erasure.workflow import a_word, discovered, officer, opened
from tests.factories import NOON, a_memory, make_container, store
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db
KEEP = Verdict(act=Act.KEEP, code="not_about_them")
WITHHOLD = Verdict(act=Act.WITHHOLD, code="art_17_3_e", review_on=(timezone.now() + timedelta(days=90)).date())
STORY = "my blue bicycle was stolen near the harbour"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> tuple[ErasureRequest, Manifest]:
    """Three mention the person by name, one tells their story."""
    monkeypatch.setattr(mentions, "SAMPLED", 0)
    shop = make_container()
    store(shop, a_memory(STORY, user_id="annika-77"), a_memory(f"as told: {STORY}", user_id="carl"), now=timezone.now())
    store(shop, *(a_memory(f"met annika-77, {n}", user_id=f"bob-{n}") for n in range(3)), now=timezone.now())
    request = opened("annika-77", now=timezone.now())
    return request, discovered(request, now=timezone.now())


def as_it_is(manifest: Manifest) -> list[tuple[Any, ...]]:
    columns = ("row_uid", "act", "reason_code", "review_on", "decision", "decided_by", "bulk", "planned")
    return list(manifest.items.order_by("pk").values_list(*columns))


def keep_names(request: ErasureRequest, manifest: Manifest, verdict: Verdict = KEEP) -> None:
    [group] = [group for group in sharing.groups_of(manifest) if group.why == "identifier"]
    assert sharing.decide_shared(request, [group.matched], verdict, actor=actor_of(officer()), now=NOON) == 3


def undo(request: ErasureRequest, number: int) -> int:
    return bulk_decisions.undo(request, number, actor=actor_of(officer()), now=NOON)


@pytest.mark.parametrize("verdict", [KEEP, WITHHOLD], ids=["kept", "withheld until a day"])
def test_all_that_it_decided_waits_again_just_as_it_was_found(found: Any, verdict: Verdict):
    request, manifest = found
    before = as_it_is(manifest)
    keep_names(request, manifest, verdict)
    last = bulk_decisions.last_of(request)

    assert last is not None
    assert (last.decision.act, last.items) == (verdict.act.value, 3)
    assert undo(request, last.decision.number) == 3

    assert as_it_is(manifest) == before
    manifest.refresh_from_db()
    assert manifest.undecided == 4
    entry = AuditEntry.objects.filter(action="erasure.decision_undone").latest("seq")
    assert (entry.outcome, entry.counts) == ("ok", {"items": 3, "decision": 1})
    assert bulk_decisions.last_of(request) is None
    last.decision.refresh_from_db()
    assert (last.decision.undone_by, last.decision.undone_at) == (actor_of(officer()), NOON)


@pytest.mark.parametrize("how", ["accept_uncommon", "accept_planned"])
def test_what_was_accepted_as_planned_is_undone_too_and_then_the_decision_before_it(found: Any, how: str):
    request, manifest = found
    before = as_it_is(manifest)
    keep_names(request, manifest)
    actor = actor_of(officer())
    if how == "accept_uncommon":
        sharing.accept_uncommon(request, actor=actor, now=NOON)
    else:
        bulk_decisions.accept_planned(request, ItemClass.MENTION, actor=actor, now=NOON)

    assert (undo(request, 2), undo(request, 1)) == (1, 3)
    assert as_it_is(manifest) == before


def test_what_was_decided_by_itself_since_stays_and_is_not_counted(found: Any):
    request, manifest = found
    keep_names(request, manifest)
    mine = manifest.items.filter(act="keep").first()
    deciding.decide(request, [mine.pk], Verdict(act=Act.DELETE), actor=actor_of(officer()), now=NOON)

    assert undo(request, 1) == 2
    assert manifest.items.get(pk=mine.pk).act == "delete"


def test_one_of_which_nothing_is_left_gives_way_to_the_one_before_it(found: Any):
    request, manifest = found
    keep_names(request, manifest)
    bulk_decisions.accept_planned(request, ItemClass.MENTION, actor=actor_of(officer()), now=NOON)
    mine = manifest.items.get(bulk=2)
    deciding.decide(request, [mine.pk], KEEP, actor=actor_of(officer()), now=NOON)

    last = bulk_decisions.last_of(request)

    assert last is not None
    assert (last.decision.number, last.items) == (1, 3)
    assert undo(request, 1) == 3


def test_what_was_decided_about_the_list_of_an_earlier_search_is_not_offered(found: Any):
    request, manifest = found
    keep_names(request, manifest)

    discovered(request, now=timezone.now())

    assert bulk_decisions.last_of(request) is None
    with pytest.raises(NotDecidable):
        undo(request, 1)


def test_only_the_last_one_is_undone_and_once(found: Any):
    request, manifest = found
    keep_names(request, manifest)
    sharing.accept_uncommon(request, actor=actor_of(officer()), now=NOON)

    with pytest.raises(NotDecidable):
        undo(request, 1)
    undo(request, 2)
    with pytest.raises(NotDecidable):
        undo(request, 2)


def test_a_list_that_waits_for_its_approval_goes_back_to_review_and_an_approved_one_stays(found: Any):
    request, manifest = found
    keep_names(request, manifest)
    sharing.accept_uncommon(request, actor=actor_of(officer()), now=NOON)
    deciding.submit(request, actor=actor_of(officer()), now=timezone.now())

    undo(request, 2)

    assert (request.state, request.manifest_digest) == (Status.REVIEW, "")
    sharing.accept_uncommon(request, actor=actor_of(officer()), now=NOON)
    now = timezone.now()
    deciding.submit(request, actor=actor_of(officer()), now=now)
    approving.approve(request, a_word(request, now=now), actor=actor_of(officer("carl")), now=now)
    assert bulk_decisions.last_of(request) is None
    with pytest.raises(WrongState):
        undo(request, 3)


def test_the_pages_offer_it_ask_first_with_the_number_and_do_it(found: Any):
    request, manifest = found
    keep_names(request, manifest)
    cora = a_browser_of(Role.COMPLIANCE, login="una")
    address = reverse("pages:erasure-decision-undo", args=[request.uid, 1])

    offered = [cora.get(reverse(f"pages:erasure-{name}", args=[request.uid])).content.decode() for name in ("detail", "mentions")]
    asked = cora.post(address, follow=True).content.decode()
    assert manifest.items.filter(act="keep").count() == 3
    done = cora.post(address, {"sure": "yes"}, follow=True).content.decode()

    assert all(address in page and "for 3 items" in page for page in offered)
    assert "3 items wait for a decision again" in asked
    assert "not about this person" in asked
    assert "3 of them wait for a decision again" in done
    assert address not in done
    assert manifest.items.filter(decision="waiting").count() == 4


def test_who_may_not_review_is_not_offered_it_and_may_not(found: Any):
    request, manifest = found
    keep_names(request, manifest)
    ada = a_browser_of(Role.AUDITOR, login="ada")
    address = reverse("pages:erasure-decision-undo", args=[request.uid, 1])

    assert address not in ada.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()
    assert ada.post(address, {"sure": "yes"}).status_code == 403
    assert do(a_browser_of(Role.COMPLIANCE, login="una"), "mentions-leave", request).status_code == 422  # nothing is shared by many
    assert manifest.items.filter(act="keep").count() == 3
