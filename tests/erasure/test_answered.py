"""From answered to closed: a correction that was looked at, a restriction that was lifted, an export that nobody can take any more."""

import pytest

from memadmin.access.actors import actor_of
from memadmin.audit.models import AuditEntry
from memadmin.erasure import alarms, answered, correction_checks, ending, notices, purging, rectifying, workflow
from memadmin.erasure.access_exports import ending as export_ending
from memadmin.erasure.answered import NotLifted
from memadmin.erasure.models import Correction, ErasureRequest, Kind, NoteKind, RecipientKind, Status, WrongLeft
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import editing, holding
from memadmin.store.models import Archived, HistoryEntry, Hold, LongTermMemory, Session, WorkingMemory
from tests.erasure.access_exports.making import handed_out
from tests.erasure.executing import execute
from tests.erasure.test_notices import a_recipient
from tests.erasure.workflow import approved, discovered, officer, opened
from tests.factories import ACTOR, NOON, a_memory, a_message, a_session, days, make_container, make_memory, store, subject_of
from tests.holds import hold

pytestmark = pytest.mark.django_db
WRONG = "works at the quokka farm"
RIGHT = "works at the museum"
LATER = NOON + days(1)
TODAY = NOON.date()


@pytest.fixture
def container():
    return make_container()


def the_night(now=LATER):
    run_inline(queue.enqueue(ending.DAILY, requested_by=ACTOR, now=now), now=now)


def checked(request, now=NOON):
    job = Job.objects.get(kind=correction_checks.CHECK, target=request.target, state="queued")
    run_inline(job, now=now)


def answer(request, code="done"):
    workflow.answer(request, code, letter="It is done.", actor=actor_of(officer()), now=NOON)


def corrected(*items, text=RIGHT):
    request = opened(kind=Kind.RECTIFY, others=[])
    discovered(request)
    for item in items:
        rectifying.correct(request, item, text, actor=actor_of(officer()), now=NOON)
    answer(request)
    return request


def restricted(user_id="ann", **details):
    request = opened(user_id, kind=Kind.RESTRICT, others=[], **details)
    discovered(request)
    answer(request)
    return request


def lifted(request, *, told_on=TODAY, letter="It is lifted.", reason="it was right", now=NOON):
    return answered.lift_restriction(request, reason, letter=letter, told_on=told_on, actor=actor_of(officer()), now=now)


def codes(request):
    request.refresh_from_db()
    return [wait.code for wait in ending.waits_for(request, now=LATER)]


def entries(request, action):
    return list(AuditEntry.objects.filter(action=action, target=request.target).values_list("outcome", "reason_code"))


class TestTime:
    @pytest.mark.parametrize("kind", [Kind.ACCESS, Kind.RECTIFY, Kind.RESTRICT])
    def test_it_stops_with_the_answer(self, container, kind):
        memory = make_memory(container, WRONG)
        request = opened(kind=kind, others=[])
        discovered(request)
        if kind == Kind.RECTIFY:
            rectifying.correct(request, memory, RIGHT, actor=ACTOR, now=NOON)
        long_after = NOON + days(90)
        assert list(alarms.late(ErasureRequest.objects.all(), long_after.date())) == [request]

        answer(request, "done_in_part")

        assert not alarms.late(ErasureRequest.objects.all(), long_after.date()).exists()
        assert not alarms.pressing(ErasureRequest.objects.all(), long_after.date()).exists()


class TestCorrected:
    def test_it_is_closed_when_the_wrong_words_stand_nowhere(self, container):
        request = corrected(make_memory(container, WRONG))
        assert codes(request) == ["not_checked"]

        checked(request)
        the_night()

        request.refresh_from_db()
        assert (request.state, request.outcome_code) == (Status.CLOSED, "done")
        assert entries(request, "erasure.corrections_checked") == [("ok", "")]
        assert entries(request, "erasure.closed") == [("ok", "verified")]

    def test_the_night_has_it_looked_at_where_nobody_has(self, container):
        request = corrected(make_memory(container, WRONG))
        Job.objects.all().delete()

        the_night()
        checked(request, now=LATER)
        the_night(LATER + days(1))

        request.refresh_from_db()
        assert request.state == Status.CLOSED

    def test_other_rows_that_say_the_same_are_found_whatever_their_case(self, container):
        memory = make_memory(container, WRONG)
        twin = make_memory(container, f"  {WRONG.upper()}. ")
        changed = make_memory(container, WRONG)
        editing.edit_memory(changed, {"text": "likes tea"}, actor=ACTOR, now=NOON)
        store(container, a_session("s-1", summary=WRONG), a_message(WRONG, session_ref="s-1"), a_memory(WRONG, user_id="bob"))
        gone = make_memory(container, "likes mate")
        Archived.objects.create(
            uid=gone.uid, container=container, subject=subject_of(container), item_type="long-term", reason="ttl", archived_at=NOON,
            payload=b'{"row": {"text": "works at the quokka farm"}, "working": []}',
        )  # fmt: skip

        request = corrected(memory)
        checked(request)

        left = dict(WrongLeft.objects.values_list("location", "row_uid"))
        assert left == {
            "store.long_term": twin.uid,
            "store.history": HistoryEntry.objects.get(memory_uid=changed.uid, action="UPDATE").uid,
            "store.sessions": Session.objects.get().uid,
            "store.working": WorkingMemory.objects.get().uid,
            "store.archive": gone.uid,
        }
        assert codes(request) == ["words_left"]
        assert entries(request, "erasure.corrections_checked") == [("failed", "")]

    def test_what_is_left_is_corrected_or_taken_out_after_the_answer_and_then_it_is_closed(self, container):
        memory, twin, changed = (make_memory(container, WRONG) for _ in range(3))
        editing.edit_memory(changed, {"text": "likes tea"}, actor=ACTOR, now=NOON)
        store(container, a_session("s-1", summary=WRONG))
        request = corrected(memory)
        checked(request)
        act = {"actor": actor_of(officer()), "now": NOON}

        rectifying.correct(request, twin, RIGHT, **act)
        for left in WrongLeft.objects.exclude(location="store.long_term"):
            rectifying.take_out(request, left, **act)
        checked(request)

        assert (codes(request), Session.objects.get().summary) == ([], None)
        assert HistoryEntry.objects.get(memory_uid=changed.uid, action="UPDATE").before == {"memory": "[corrected]"}
        assert sorted(entries(request, "erasure.words_taken_out")) == [("ok", "store.history"), ("ok", "store.sessions")]
        the_night()
        request.refresh_from_db()
        assert request.state == Status.CLOSED

    def test_what_is_held_stays_and_keeps_the_request_open(self, container):
        memory, changed = make_memory(container, WRONG), make_memory(container, WRONG)
        editing.edit_memory(changed, {"text": "likes tea"}, actor=ACTOR, now=NOON)
        hold(changed)
        request = corrected(memory)
        checked(request)

        with pytest.raises(rectifying.NotCorrected, match="hold"):
            rectifying.take_out(request, WrongLeft.objects.get(), actor=ACTOR, now=NOON)

        the_night()
        assert codes(request) == ["words_left"]

    def test_a_short_answer_is_looked_for_in_the_item_and_its_copies_alone(self, container):
        memory = make_memory(container, "vegan")
        make_memory(container, "vegan")
        request = corrected(memory, text="vegetarian")
        HistoryEntry.objects.filter(memory_uid=memory.uid).update(before={"memory": "Vegan"})

        checked(request)

        assert [left.location for left in WrongLeft.objects.all()] == ["store.history"]

    def test_what_an_item_says_again_is_not_wrong_any_more(self, container):
        memory = make_memory(container, WRONG)
        request = corrected(memory)
        rectifying.correct(request, memory, WRONG, actor=ACTOR, now=NOON)

        checked(request)

        assert [each.is_short for each in Correction.objects.all()] == [False]
        assert codes(request) == []

    def test_a_check_that_is_killed_and_done_again_counts_nothing_twice(self, container, monkeypatch):
        monkeypatch.setattr(correction_checks, "ROWS_AT_ONCE", 1)
        memory, _, _ = (make_memory(container, WRONG) for _ in range(3))
        request = corrected(memory)
        job = Job.objects.get(kind=correction_checks.CHECK)
        for cursor in (None, None, {"upto": Correction.objects.get().pk, "place": 0, "after": 0}):
            correction_checks.step(type("View", (), {"target": job.target, "cursor": cursor, "done": 0})(), now=NOON)

        checked(request)

        assert WrongLeft.objects.count() == 2

    @pytest.mark.django_db(transaction=True)
    def test_the_digest_says_nothing_of_the_words_and_goes_with_the_papers(self, container):
        request = corrected(make_memory(container, WRONG))
        assert Correction.objects.get().before_ref not in WRONG
        checked(request)
        the_night()

        run_inline(queue.enqueue(purging.PURGE, requested_by=ACTOR, now=NOON), now=LATER + days(91))

        assert not Correction.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_they_go_with_an_erasure_of_the_person_and_the_request_is_closed(self, container):
        request = corrected(make_memory(container, WRONG))
        checked(request)

        erasing = opened()
        approved(erasing)
        execute(erasing)
        the_night()

        request.refresh_from_db()
        assert (request.state, Correction.objects.count()) == (Status.CLOSED, 0)


class TestRestricted:
    @pytest.mark.django_db(transaction=True)
    def test_it_waits_until_it_is_lifted_and_its_papers_wait_too(self, container):
        make_memory(container)
        request = restricted()

        the_night(NOON + days(200))
        run_inline(queue.enqueue(purging.PURGE, requested_by=ACTOR, now=NOON), now=NOON + days(200))

        assert codes(request) == ["restricted"]
        assert (request.state, request.subjects.get().user_id) == (Status.COMPLETED, "ann")

    def test_lifting_it_tells_the_person_first_and_closes_the_request(self, container):
        memory = make_memory(container)
        request = restricted()

        assert lifted(request) == 1

        memory.refresh_from_db()
        placed = Hold.objects.get()
        assert (memory.restricted, placed.notice_sent_on, placed.release_reason) == (False, NOON.date(), "it was right")
        assert request.state == Status.CLOSED
        assert request.notes.filter(kind=NoteKind.LETTER, text="It is lifted.").exists()
        assert entries(request, "erasure.restriction_lifted") == [("ok", "")]
        assert entries(request, "erasure.closed") == [("ok", "lifted")]

    @pytest.mark.parametrize("details", [{"letter": " "}, {"reason": " "}, {"told_on": LATER.date()}, {"told_on": (NOON - days(1)).date()}])
    def test_without_letter_reason_or_day_nothing_is_lifted(self, container, details):
        memory = make_memory(container)
        request = restricted()

        with pytest.raises(answered.Refusal):
            lifted(request, **details)

        memory.refresh_from_db()
        assert (memory.restricted, request.notes.filter(text="It is lifted.").exists()) == (True, False)
        assert [outcome for outcome, _ in entries(request, "erasure.restriction_lifted")] == ["refused"]

    def test_one_that_was_lifted_under_holds_is_closed_at_night(self, container):
        make_memory(container)
        request, placed = restricted(), Hold.objects.get()
        holding.record_notice(placed, sent_on=NOON.date(), actor=ACTOR, now=NOON)
        holding.release(placed, reason="it is correct", actor=ACTOR, now=NOON)

        the_night()

        request.refresh_from_db()
        assert request.state == Status.CLOSED

    def test_a_second_request_for_the_same_waits_for_the_first_ones_restriction(self, container):
        make_memory(container)
        first, second = restricted(), restricted()
        assert codes(second) == ["restricted"]
        with pytest.raises(NotLifted):
            lifted(second)

        lifted(first)
        the_night()

        second.refresh_from_db()
        assert second.state == Status.CLOSED

    def test_another_hold_on_the_person_stays(self, container):
        memory = make_memory(container)
        hold(subject_of(container))
        request = restricted()

        lifted(request)

        memory.refresh_from_db()
        assert (memory.held, memory.restricted) == (True, False)


class TestAccess:
    def test_it_is_closed_when_nobody_can_take_the_export_any_more(self, container):
        make_memory(container)
        request = opened(kind=Kind.ACCESS, others=[])
        discovered(request)
        handed_out(request)
        answer(request, "done_in_part")
        assert codes(request) == ["export_open"]

        export_ending.end_old(now=NOON + days(60))
        the_night(NOON + days(60))

        request.refresh_from_db()
        assert request.state == Status.CLOSED
        assert entries(request, "erasure.closed") == [("ok", "given")]

    @pytest.mark.django_db(transaction=True)
    def test_names_are_kept_for_the_time_of_proof_though_it_is_closed(self, container):
        make_memory(container)
        request = opened(kind=Kind.ACCESS, others=[])
        discovered(request)
        answer(request, "done_in_part")
        the_night()

        named = request.subjects.get()
        assert (named.user_id, named.subject_ref != "") == ("ann", True)

        run_inline(queue.enqueue(purging.PURGE, requested_by=ACTOR, now=NOON), now=LATER + days(91))
        the_night(LATER + days(92))

        named.refresh_from_db()
        assert (named.user_id, named.subject_ref) == (None, "")


def test_recipients_have_to_answer_first(container):
    make_memory(container)
    a_recipient(container, kind=RecipientKind.MANUAL, contact="by post")
    request = restricted()
    lifted(request)
    assert (request.state, codes(request)) == (Status.COMPLETED, ["notices_open"])

    notices.acknowledge(request.notices.get(), actor=ACTOR, now=NOON)
    the_night()

    request.refresh_from_db()
    assert request.state == Status.CLOSED
    assert LongTermMemory.objects.filter(restricted=True).count() == 0
