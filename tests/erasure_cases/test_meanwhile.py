"""What else happens while an erasure waits for its turn or runs. The numbers are those of the list of attacks and faults."""

from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError
from django_q.models import OrmQ, Task
from django_q.tasks import async_task

from memadmin.erasure import discovery, workflow
from memadmin.erasure.execution import resuming, steps, sweeping
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle.models import RunKept, RunVictim
from memadmin.store import bars
from memadmin.store.check import check
from memadmin.store.models import Archived, Container, LongTermMemory, RecallEvent, Subject
from tests.erasure.workflow import approved, opened, opened_for
from tests.factories import ACTOR, NOON, a_memory, days, make_container, make_memory, store
from tests.lifecycle.nights import without_second_person
from tests.runs import a_policy, carry_out, governed, preview
from tests.tokens import api_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def container() -> Container:
    """A container whose policy evicts what is older than 90 days, into the archive."""
    without_second_person()
    made = governed(a_policy(long_term={"retention_days": 90}))
    for user in ("ann", "bob"):
        store(made, a_memory("old", user_id=user, days_old=100), a_memory("new", user_id=user))
    return made


def claimed(phase: str | None, monkeypatch: Any) -> ErasureRequest:
    """Return the request about ann, claimed, and stopped before this phase of its execution."""
    request = opened("ann")
    approved(request)
    steps.begin_approved(now=NOON)
    if phase is not None:
        with monkeypatch.context() as stopping:
            stopping.setitem(steps._STEPS, phase, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON)
    return request


def to_the_end(request: ErasureRequest) -> ErasureRequest:
    run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON + days(1))
    request.refresh_from_db()
    return request


@pytest.mark.parametrize("phase", [None, "words", "rows"])
def test_15_a_run_beside_an_erasure_leaves_the_person_alone_and_evicts_from_everybody_else(
    container: Container, monkeypatch: Any, phase: str | None
):
    request = claimed(phase, monkeypatch)

    run = carry_out(preview(container))

    assert (run.state, run.error_code) == ("finished", "")
    assert list(Archived.objects.values_list("subject__user_id", flat=True)) == ["bob"]
    assert set(RunKept.objects.filter(run=run).values_list("why", flat=True)) == {"held"}
    assert to_the_end(request).state == Status.COMPLETED
    assert not Archived.objects.filter(subject__user_id="ann").exists()
    assert list(LongTermMemory.objects.values_list("subject__user_id", "text")) == [("bob", "new")]
    assert not Subject.objects.filter(user_id="ann").exists()
    assert list(check()) == []


def test_15_a_memory_that_is_erased_by_itself_is_not_evicted_meanwhile(container: Container):
    old = LongTermMemory.objects.get(subject__user_id="ann", text="old")
    request = opened_for(old)
    approved(request)
    steps.begin_approved(now=NOON)

    carry_out(preview(container))

    assert to_the_end(request).state == Status.COMPLETED
    assert list(Archived.objects.values_list("subject__user_id", flat=True)) == ["bob"]


def test_15_when_the_erasure_has_ended_runs_go_on_as_before(container: Container, monkeypatch: Any):
    to_the_end(claimed(None, monkeypatch))
    store(container, a_memory("old", user_id="carl", days_old=100))

    carry_out(preview(container))

    assert set(Archived.objects.values_list("subject__user_id", flat=True)) == {"bob", "carl"}


def test_15_a_copy_that_a_run_made_all_the_same_is_erased_without_asking_again(container: Container, monkeypatch: Any):
    request = claimed(None, monkeypatch)
    with monkeypatch.context() as blind:
        blind.setattr(bars, "BUSY", [])  # its batch had looked a moment before the erasure began
        carry_out(preview(container))
    assert to_the_end(request).state == Status.RESIDUE_FOUND

    resuming.go_on(request, actor=ACTOR, now=NOON)
    for kind in (discovery.DISCOVER, steps.EXECUTE):
        run_inline(Job.objects.get(kind=kind, state="queued"), now=NOON)

    request.refresh_from_db()
    assert (request.state, request.manifests.count()) == (Status.COMPLETED, 2)
    assert list(Archived.objects.values_list("subject__user_id", flat=True)) == ["bob"]


@pytest.mark.parametrize(("page", "at_once"), [(sweeping.PAGE, sweeping.AT_ONCE), (2, 1)])
def test_25_what_hangs_on_the_person_and_came_since_the_approval_goes_too(container: Container, monkeypatch: Any, page: int, at_once: int):
    monkeypatch.setattr(sweeping, "PAGE", page)
    monkeypatch.setattr(sweeping, "AT_ONCE", at_once)
    ann = Subject.objects.get(user_id="ann")
    memory = LongTermMemory.objects.filter(subject=ann).latest("pk")
    request = opened("ann")
    approved(request)
    for seconds in range(3):
        RecallEvent.objects.create(container=container, subject=ann, memory_uid=memory.uid, at=NOON + timedelta(seconds=seconds))
    bobs = LongTermMemory.objects.filter(subject__user_id="bob").latest("pk")
    RecallEvent.objects.create(container=container, subject=bobs.subject, memory_uid=bobs.uid, at=NOON)
    previewed = preview(container)
    async_task("memadmin.jobs.tasks.run", 1, str(memory.uid))
    steps.begin_approved(now=NOON)

    done = to_the_end(request)

    assert (done.state, done.verifications.get().outcome) == (Status.COMPLETED, "clean")
    assert list(RecallEvent.objects.values_list("subject_id", flat=True)) == [bobs.subject_id]
    assert set(RunVictim.objects.of_run(previewed).values_list("subject_id", flat=True)) == {bobs.subject_id}
    assert done.outcomes.get(location="store.recalls").erased == 3


def test_25_what_came_behind_that_sweep_goes_with_the_rows_of_the_users_however_much_it_is(container: Container, monkeypatch: Any):
    monkeypatch.setattr(sweeping, "PAGE", 2)
    ann = Subject.objects.get(user_id="ann")
    request, real = claimed("users", monkeypatch), steps._STEPS["users"]
    for seconds in range(5):
        RecallEvent.objects.create(container=container, subject=ann, memory_uid=uuid4(), at=NOON + timedelta(seconds=seconds))
    monkeypatch.setitem(steps._STEPS, "users", real)

    done = to_the_end(request)

    assert (done.state, done.verifications.get().outcome) == (Status.COMPLETED, "clean")
    assert not RecallEvent.objects.exists()
    assert done.outcomes.get(location="store.recalls").erased == 5


def test_25_of_one_memory_that_is_erased_the_recalls_since_the_approval_go_and_those_of_others_stay(container: Container):
    old, new = LongTermMemory.objects.filter(subject__user_id="ann").order_by("text")[::-1]
    request = opened_for(old)
    approved(request)
    for memory in (old, new):
        RecallEvent.objects.create(container=container, subject=memory.subject, memory_uid=memory.uid, at=NOON)
    steps.begin_approved(now=NOON)

    assert to_the_end(request).state == Status.COMPLETED
    assert list(RecallEvent.objects.values_list("memory_uid", flat=True)) == [new.uid]


def test_14_a_container_of_which_something_is_asked_to_be_erased_is_not_deleted_until_that_has_ended(db: None):
    container = make_container(external_id="c1", owner={"name": "ana"})
    make_memory(container, user_id="ann")
    request, api = opened("ann"), api_of("ana")

    refused = api.delete("/c1?delete_all_memories=true")
    assert (refused.status_code, LongTermMemory.objects.count()) == (409, 1)
    assert "asked to erase" in refused.json()["error"]["reason"]
    approved(request)
    assert api.delete("/c1").status_code == 409
    workflow.cancel(request, actor=ACTOR, now=NOON)

    assert api.delete("/c1?delete_all_memories=true").status_code == 200


def test_14_another_container_is_deleted_all_the_same(db: None):
    make_memory(make_container(), user_id="ann")
    opened("ann")
    make_container("other", external_id="c2", owner={"name": "ana"})

    assert api_of("ana").delete("/c2").status_code == 200


def test_14_what_was_taken_away_in_the_database_itself_is_absent_and_looked_for_all_the_same(container: Container, monkeypatch: Any):
    request = claimed(None, monkeypatch)
    LongTermMemory.objects.filter(subject__user_id="ann")._raw_delete("default")
    Subject.objects.filter(user_id="ann").update(long_term=0, tokens=0)

    done = to_the_end(request)

    assert (done.state, done.verifications.get().outcome) == (Status.COMPLETED, "clean")
    outcome = done.outcomes.get(location="store.long_term")
    assert (outcome.erased, outcome.absent) == (0, 2)


@pytest.mark.parametrize("times", [2, 5])
def test_23_a_deadlock_is_tried_again_and_at_last_the_request_stalls_with_its_name(container: Container, monkeypatch: Any, times: int):
    request, real, met = claimed(None, monkeypatch), steps.carry_out, list[int]()

    def meets(*arguments: Any, **details: Any) -> Any:
        done = real(*arguments, **details)
        if len(met) < times:
            met.append(1)
            raise OperationalError("deadlock detected")
        return done

    monkeypatch.setattr(steps, "carry_out", meets)
    job = Job.objects.get(kind=steps.EXECUTE)
    for attempt in range(times):
        with pytest.raises(OperationalError):
            run_inline(job, now=NOON + days(attempt))
    request.refresh_from_db()

    if times == job.max_attempts:
        assert (request.state, request.error_code) == (Status.STALLED, "OperationalError")
        assert LongTermMemory.objects.filter(subject__user_id="ann").count() == 2
        assert not request.certificates.exists()
    else:
        assert to_the_end(request).state == Status.COMPLETED
        assert request.outcomes.get(location="store.long_term").erased == 2


def test_9_what_waits_for_the_person_in_the_queue_goes_and_what_waits_for_others_does_not(container: Container, monkeypatch: Any):
    ann, bob = (LongTermMemory.objects.filter(subject__user_id=user).first() for user in ("ann", "bob"))
    for number in range(100):
        async_task("memadmin.jobs.tasks.run", number, str(ann.uid))
        Task.objects.create(id=f"{number:032}", name="n", func="f", args=(str(ann.uid),), started=NOON, stopped=NOON)
    async_task("memadmin.jobs.tasks.run", 1, str(bob.uid))
    kept = OrmQ.objects.latest("pk").pk

    done = to_the_end(claimed(None, monkeypatch))

    assert done.state == Status.COMPLETED
    assert (done.outcomes.get(location="jobs.queue").erased, done.outcomes.get(location="jobs.results").erased) == (100, 100)
    assert OrmQ.objects.filter(pk=kept).exists()


def test_46_the_number_of_an_erased_row_is_given_to_nobody_again(container: Container, monkeypatch: Any):
    numbers = set(LongTermMemory.objects.filter(subject__user_id="ann").values_list("pk", flat=True))
    number_of_user = Subject.objects.get(user_id="ann").pk
    to_the_end(claimed(None, monkeypatch))

    new = make_memory(container, user_id="carl")

    assert new.pk > max(numbers)
    assert new.subject_id > number_of_user


def test_25_what_came_since_the_approval_goes_page_by_page_and_a_kill_between_two_loses_nothing(container: Container, monkeypatch: Any):
    monkeypatch.setattr(sweeping, "PAGE", 3)
    monkeypatch.setattr(steps, "MOMENT", 0)
    ann = Subject.objects.get(user_id="ann")
    memory = LongTermMemory.objects.filter(subject=ann).latest("pk")
    request = opened("ann")
    approved(request)
    for seconds in range(10):
        RecallEvent.objects.create(container=container, subject=ann, memory_uid=memory.uid, at=NOON + timedelta(seconds=seconds))
    steps.begin_approved(now=NOON)
    left = []

    def dies_at_each_second(*arguments: Any, real: Any = steps._STEPS["came"]) -> Any:
        after = real(*arguments)
        left.append(RecallEvent.objects.count())
        if len(left) % 2:
            raise KeyboardInterrupt  # its page is done, and the job has not heard of it
        return after

    monkeypatch.setitem(steps._STEPS, "came", dies_at_each_second)
    job = Job.objects.get(kind=steps.EXECUTE)
    while job.state != JobState.DONE:
        with suppress(KeyboardInterrupt):
            run_inline(job, now=NOON + timedelta(hours=len(left)))
        Job.objects.update(attempts=0)
        job.refresh_from_db()

    request.refresh_from_db()
    assert [number for number in dict.fromkeys(left) if number] == [10, 7, 4, 1]
    assert (request.state, request.outcomes.get(location="store.recalls").erased) == (Status.COMPLETED, 10)
