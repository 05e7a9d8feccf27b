"""Restrictions that requests bring: on receipt, until the request has ended; and those that a person asked for."""

from importlib import import_module

import pytest
from django.apps import apps

from memadmin.access.actors import actor_of
from memadmin.audit.models import AuditEntry
from memadmin.erasure import freezing, workflow
from memadmin.erasure.execution import steps
from memadmin.erasure.intake import NotForThisKind
from memadmin.erasure.models import ErasureRequest, Ground, Kind, Status
from memadmin.erasure.workflow import NotSoEnded
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import holding
from memadmin.store.holding import NoticeMissing
from memadmin.store.models import Authority, Hold, HoldKind, LongTermMemory
from tests.erasure.workflow import approved, discovered, officer, opened, opened_for
from tests.factories import ACTOR, NOON, a_memory, make_container, make_memory, store, subject_of
from tests.holds import hold

pytestmark = pytest.mark.django_db


@pytest.fixture
def container():
    container = make_container()
    store(container, a_memory(), a_memory(user_id="bob"), a_memory(user_id="Ann"))
    return container


def restricted() -> set[str | None]:
    return set(LongTermMemory.objects.filter(restricted=True).values_list("subject__user_id", flat=True))


def answered(request, code="done"):
    workflow.answer(request, code, letter="It is restricted.", actor=actor_of(officer()), now=NOON)


def decided(request, **meant):
    refs = {row.user_id: row.subject_ref for row in request.subjects.all()}
    workflow.tick(request, {refs[user]: value for user, value in meant.items()}, actor=actor_of(officer()), now=NOON)


class TestAskedFor:
    def test_a_request_to_restrict_is_followed_when_it_is_answered(self, container):
        request = opened(kind=Kind.RESTRICT, others=[])
        discovered(request)
        assert restricted() == set()

        answered(request)

        placed = Hold.objects.get()
        assert (request.state, restricted()) == (Status.COMPLETED, {"ann"})
        assert (placed.kind, placed.authority, placed.request_ref) == (HoldKind.RESTRICTION, "restriction_asked", f"erasure/{request.uid}")
        assert placed.reason == f"Request {request.number}"
        assert {entry.action for entry in AuditEntry.objects.filter(action__in=["hold.placed", "erasure.answered"])} == {
            "hold.placed",
            "erasure.answered",
        }

    @pytest.mark.parametrize(
        ("ground", "authority"),
        [
            (Ground.ACCURACY_CONTESTED, "accuracy_contested"),
            (Ground.UNLAWFUL_BUT_KEPT, "unlawful_but_kept"),
            (Ground.NEEDED_FOR_CLAIMS, "legal_claim"),
            (Ground.OBJECTION_PENDING, "objection_pending"),
        ],
    )
    def test_its_authority_follows_from_the_ground(self, container, ground, authority):
        request = opened(kind=Kind.RESTRICT, ground=ground, others=[])
        discovered(request)

        answered(request)

        assert Hold.objects.get().authority == authority

    def test_one_from_before_restriction_had_grounds_of_its_own_is_followed_too(self, container):
        request = opened(kind=Kind.RESTRICT, others=[])
        ErasureRequest.objects.filter(pk=request.pk).update(ground=Ground.UNLAWFUL)
        request.refresh_from_db()
        discovered(request)

        answered(request)

        assert Hold.objects.get().authority == Authority.UNLAWFUL_BUT_KEPT

    def test_it_is_lifted_only_after_the_person_was_told(self, container):
        request = opened(kind=Kind.RESTRICT, others=[])
        discovered(request)
        answered(request)
        placed = Hold.objects.get()

        with pytest.raises(NoticeMissing):
            holding.release(placed, reason="it is correct", actor=ACTOR, now=NOON)
        holding.record_notice(placed, sent_on=NOON.date(), actor=ACTOR, now=NOON)
        holding.release(placed, reason="it is correct", actor=ACTOR, now=NOON)

        assert restricted() == set()

    def test_a_stranger_cannot_have_somebody_restricted(self, container):
        request = opened(kind=Kind.RESTRICT, identity=None, others=[])
        discovered(request)

        with pytest.raises(NotSoEnded, match="how it is known"):
            answered(request)

        assert (restricted(), request.notes.count()) == (set(), 0)
        request.refresh_from_db()
        assert request.state == Status.REVIEW

    def test_look_alikes_are_decided_first_and_nobody_is_not_restricted(self, container):
        request = opened(kind=Kind.RESTRICT)
        discovered(request)
        with pytest.raises(NotSoEnded, match="look alike"):
            answered(request)
        ghost = opened("ghost", kind=Kind.RESTRICT, ticked=[], unknown=["ghost"])
        discovered(ghost)

        with pytest.raises(NotSoEnded, match="nothing to restrict"):
            answered(ghost)

        assert not Hold.objects.exists()


class TestOnReceipt:
    def test_the_users_that_are_meant_are_restricted_at_once(self, container):
        request = opened(freeze=True, identity=None)

        placed = Hold.objects.get()
        assert restricted() == {"ann"}
        assert (placed.authority, placed.review_on) == (Authority.REQUEST_PENDING, request.due_on)

    def test_without_the_option_nobody_is(self, container):
        opened()

        assert restricted() == set()

    def test_what_is_ticked_later_follows(self, container):
        request = opened(freeze=True)

        decided(request, Ann=True, ann=False)

        assert restricted() == {"Ann"}

    @pytest.mark.parametrize("verb", ["cancel", "refuse"])
    def test_it_ends_with_the_request(self, container, verb):
        request = opened(freeze=True)
        details = {"actor": actor_of(officer()), "now": NOON}

        if verb == "cancel":
            workflow.cancel(request, **details)
        else:
            workflow.refuse(request, "no_ground", letter="No ground applies.", **details)

        ended = Hold.objects.get()
        assert restricted() == set()
        assert (ended.released_at, ended.notice_sent_on) == (NOON, NOON.date())
        assert str(request.number) in ended.release_reason

    @pytest.mark.parametrize("first_ends", [True, False])
    def test_two_requests_that_freeze_a_person_do_so_until_both_have_ended(self, container, first_ends):
        """A stranger's duplicate that is withdrawn does not lift what the person asked for."""
        requests = [opened(freeze=True), opened(freeze=True)]
        first, last = requests if first_ends else reversed(requests)

        workflow.cancel(first, actor=actor_of(officer()), now=NOON)

        assert restricted() == {"ann"}
        assert [hold.request_ref for hold in Hold.objects.filter(released_at=None)] == [last.target]

        workflow.cancel(last, actor=actor_of(officer()), now=NOON)
        assert restricted() == set()

    def test_nobody_is_frozen_by_a_duplicate_that_did_not_ask_for_it_or_has_ended(self, container):
        ended = opened(freeze=True)
        opened()
        request = opened(freeze=True)
        for each in (ended, request):
            workflow.cancel(each, actor=actor_of(officer()), now=NOON)

        assert restricted() == set()

    def test_a_duplicate_whose_user_is_no_longer_meant_hands_the_person_over(self, container):
        opened("Ann", freeze=True, others=[])
        request = opened(freeze=True)
        decided(request, Ann=True, ann=False)

        assert restricted() == {"Ann"}
        decided(request, ann=True, Ann=False)

        assert restricted() == {"Ann", "ann"}

    def test_what_froze_a_person_before_this_was_noted_still_follows_ticks(self, container):
        request = opened(freeze=True)
        released = opened("bob", freeze=True, others=[])
        workflow.cancel(released, actor=actor_of(officer()), now=NOON)
        ErasureRequest.objects.update(freezes=False)

        import_module("memadmin.erasure.migrations.0019_freezes").mark_standing(apps, None)

        assert list(ErasureRequest.objects.filter(freezes=True)) == [request]

    def test_another_hold_of_the_person_stays(self, container):
        request = opened(freeze=True)
        hold(subject_of(container))

        workflow.cancel(request, actor=actor_of(officer()), now=NOON)

        assert restricted() == set()
        assert LongTermMemory.objects.filter(held=True).count() == 1

    @pytest.mark.parametrize("kind", [Kind.ACCESS, Kind.RESTRICT])
    def test_other_kinds_cannot_be_frozen(self, container, kind):
        with pytest.raises(NotForThisKind):
            opened(kind=kind, freeze=True)

        assert restricted() == set()

    def test_nor_can_single_items(self, container):
        with pytest.raises(NotForThisKind):
            opened_for(LongTermMemory.objects.first(), freeze=True)


@pytest.mark.django_db(transaction=True)
def test_after_an_erasure_that_withheld_something_the_freeze_ends_too():
    container = make_container()
    store(container, a_memory("goes"), a_memory("stays"))
    request = opened(freeze=True)
    hold(LongTermMemory.objects.get(text="stays"))

    approved(request)
    steps.begin_approved(now=NOON)
    run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)
    request.refresh_from_db()

    assert (request.state, request.outcome_code) == (Status.COMPLETED, "partly")
    assert not freezing.frozen_by(request).exists()
    kept = LongTermMemory.objects.get()
    assert (kept.text, kept.held, kept.restricted) == ("stays", True, False)


def test_a_request_is_erased_although_it_froze_the_person(container):
    """A restriction is often the first half of erasing: the manifest withholds nothing for it."""
    memory = make_memory(container, "likes mate", user_id="cy")
    request = opened("cy", freeze=True)

    manifest = discovered(request)

    assert manifest.items.get(row_uid=memory.uid).act == "delete"
