"""After the end of a request: what was withheld is asked for again, papers are purged, and a hold that comes too late is told."""

import pytest
from django.urls import reverse

from memadmin.access.actors import actor_of
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure import answered, approving, deciding, following, purging, workflow
from memadmin.erasure.deciding import Verdict
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest, Kind, RequestItem, Status
from memadmin.erasure.visibility import visible_requests
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import configuration, holding, suppression
from memadmin.store.locations import Act
from memadmin.store.models import LongTermMemory, Subject, Suppression
from tests.erasure.workflow import a_word, approved, discovered, officer, opened, opened_for
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store, subject_of
from tests.holds import hold
from tests.people import a_browser_of, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def erased(request, now=NOON):
    approved(request, now=now)
    return executed(request, now=now)


def executed(request, now=NOON):
    steps.begin_approved(now=now)
    run_inline(Job.objects.get(kind=steps.EXECUTE, target__endswith=str(request.uid)), now=now)
    request.refresh_from_db()
    return request


def swept(now):
    run_inline(queue.enqueue(following.FOLLOW_UP, requested_by="test", now=now), now=now)
    return ErasureRequest.objects.order_by("-number").first()


def purged(now):
    run_inline(queue.enqueue(purging.PURGE, requested_by="test", now=now), now=now)


class TestWithheld:
    def test_when_the_hold_is_released_a_request_follows_and_takes_the_user_too(self):
        container = make_container()
        store(container, a_memory("goes"), a_memory("stays"))
        placed = hold(LongTermMemory.objects.get(text="stays"))
        first = erased(opened())
        assert swept(NOON + days(1)) == first

        holding.release(placed, reason="the case is closed", actor=ACTOR, now=NOON + days(2))
        second = swept(NOON + days(2))

        assert (second.follows, second.kind, second.state, second.identity_level) == (first, Kind.SUBJECT, Status.RECEIVED, 1)
        assert swept(NOON + days(3)) == second
        first.refresh_from_db()
        assert first.state == Status.COMPLETED
        erased(second, now=NOON + days(3))
        assert second.outcome_code == "live"
        assert not Subject.objects.filter(user_id="ann").exists()
        assert swept(NOON + days(4)) == second

    def test_what_came_since_is_not_asked_for(self):
        container = make_container()
        kept = make_memory(container, "stays")
        make_memory(container, "goes")
        placed = hold(kept)
        first = erased(opened())
        suppression.lift(Suppression.objects.get(), reason="she came back", actor=ACTOR, now=NOON)
        store(container, a_memory("new"))
        holding.release(placed, reason="the case is closed", actor=ACTOR, now=NOON)

        second = swept(NOON + days(1))

        assert (second.follows, second.kind) == (first, Kind.TOPIC)
        assert [item.item_uid for item in second.items.all()] == [kept.uid]

    def test_a_day_of_review_that_has_come_is_asked_for_and_one_ahead_is_not(self):
        container = make_container()
        kept, later = make_memory(container, "one"), make_memory(container, "two")
        make_memory(container, "three")
        request = opened()
        manifest = discovered(request)
        for memory, ahead in ((kept, 10), (later, 400)):
            verdict = Verdict(act=Act.WITHHOLD, code="art_17_3_b", review_on=(NOON + days(ahead)).date())
            line = manifest.items.get(row_uid=memory.uid)
            deciding.decide(request, [line.pk], verdict, actor=actor_of(officer()), now=NOON)
        submitted_as_decided(request)
        executed(request)
        assert swept(NOON + days(9)) == request

        second = swept(NOON + days(10))

        assert [item.item_uid for item in second.items.all()] == [kept.uid]


def submitted_as_decided(request):
    deciding.submit(request, actor=actor_of(officer()), now=NOON)
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)


class TestPapers:
    @pytest.mark.parametrize("end", ["refused", "cancelled", "nothing_held", "answered"])
    def test_names_and_notes_of_what_erased_nothing_go_after_some_days(self, end):
        container = make_container()
        store(container, a_memory())
        request = ended(end)

        purged(NOON + days(90))
        request.refresh_from_db()
        assert request.purged_at is None
        assert request.notes.exists()
        purged(NOON + days(91))
        request.refresh_from_db()

        assert request.purged_at == NOON + days(91)
        assert not request.notes.exists()
        assert list(request.subjects.exclude(user_id=None)) == []
        assert AuditEntry.objects.filter(action="erasure.papers_purged").count() == 1
        assert LongTermMemory.objects.count() == 1

    def test_an_open_request_and_a_shorter_time(self):
        store(make_container(), a_memory())
        still_open, gone = opened(), ended("refused")
        configuration.change("erasure_papers_days", 1, actor=ACTOR, now=NOON)

        purged(NOON + days(2))

        still_open.refresh_from_db()
        gone.refresh_from_db()
        assert (still_open.purged_at, gone.purged_at) == (None, NOON + days(2))

    def test_of_listed_items_stays_who_may_see_the_request_and_no_name_of_an_item(self):
        container = make_container()
        request = opened_for(make_memory(container, "one"), make_memory(container, "two"), kind=Kind.TOPIC)
        workflow.cancel(request, actor=actor_of(officer()), now=NOON)
        ada = make_person(Role.AUDITOR, login="ada", containers=[container])

        purged(NOON + days(91))

        assert set(RequestItem.objects.values_list("item_uid", "item_ref", "subject_id")) == {(None, "", 0)}
        assert visible_requests(ada).filter(pk=request.pk).exists()


def ended(end):
    details = {"letter": "Read this.", "actor": actor_of(officer()), "now": NOON}
    if end == "nothing_held":
        request = opened("ghost", ticked=[], unknown=["ghost"])
        discovered(request)
        workflow.end_as_nothing_held(request, **details)
    elif end == "answered":
        request = opened(kind=Kind.ACCESS)
        discovered(request)
        workflow.answer(request, "done_in_part", **details)
        assert answered.close(request, now=NOON)
    elif end == "refused":
        request = opened(aliases=["Annie"], note="she called")
        workflow.refuse(request, "no_ground", **details)
    else:
        request = opened(note="she called")
        workflow.cancel(request, actor=actor_of(officer()), now=NOON)
    return request


class TestTooLate:
    def test_13_a_hold_on_what_was_erased_is_told_when_and_by_which_request(self):
        container = make_container()
        memory = make_memory(container)
        user = subject_of(container)
        request = erased(opened())
        lea = a_browser_of(Role.COMPLIANCE, login="lea")

        answers = [lea.get(reverse("pages:hold-new", args=["subjects", user.uid]))]
        body = {"kind": "hold", "authority": "court_order", "reason": "case 12", "review_on": "2099-01-01"}
        answers.append(lea.post(reverse("pages:hold-place", args=["subjects", user.uid]), body))

        assert [answer.status_code for answer in answers] == [410, 410]
        words = f"Already destroyed on {request.completed_at:%d %b %Y} by request {request.number}."
        assert all(words in answer.content.decode() for answer in answers)
        assert lea.get(reverse("pages:hold-new", args=["long-term", "00000000-0000-0000-0000-000000000000"])).status_code == 404
        assert not LongTermMemory.objects.filter(uid=memory.uid).exists()

    def test_13_while_it_is_carried_out_a_hold_binds_what_is_left_and_is_told_so(self):
        container = make_container()
        store(container, a_memory())
        request = opened()
        approved(request)
        steps.begin_approved(now=NOON)
        lea = a_browser_of(Role.COMPLIANCE, login="lea")
        body = {"kind": "hold", "authority": "court_order", "reason": "case 12", "review_on": "2099-01-01"}

        page = lea.post(reverse("pages:hold-place", args=["subjects", subject_of(container).uid]), body, follow=True).content.decode()

        assert f"Request {request.number} is being carried out" in page
        assert LongTermMemory.objects.get().held
