"""Through django-q2's own worker and monitor, in this process: what it stores and logs is what is looked at."""

import logging
import queue as plain_queue
from datetime import timedelta
from multiprocessing import Value

import pytest
from django.utils import timezone
from django_q.exceptions import TimeoutException
from django_q.models import OrmQ, Task
from django_q.models import Schedule as EngineSchedule
from django_q.monitor import monitor
from django_q.worker import worker

from memadmin.jobs import heartbeat, limits, queue, reconcile, schedules, tasks
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.registry import JobView, Step

pytestmark = pytest.mark.django_db
CANARY = "Ann takes warfarin"


@pytest.fixture(autouse=True)
def connection_of_the_test(monkeypatch):
    """The engine closes connections between tasks; here that would end the transaction of the test."""
    for module in ("worker", "monitor"):
        monkeypatch.setattr(f"django_q.{module}.close_old_django_connections", lambda: None)


@pytest.fixture
def logs(caplog):
    caplog.set_level(logging.DEBUG)
    engine = logging.getLogger("django-q")  # does not hand its lines on
    engine.addHandler(caplog.handler)
    yield caplog
    engine.removeHandler(caplog.handler)


def work() -> None:
    """Let django-q2 work off its queue."""
    tasks_in, results = plain_queue.Queue(), plain_queue.Queue()
    for entry in OrmQ.objects.order_by("pk"):
        tasks_in.put({**entry.task, "ack_id": entry.pk})
    tasks_in.put("STOP")
    worker(tasks_in, results, Value("f", -1), timeout=20)
    results.put("STOP")
    monitor(results)


def queued(kind: str) -> Job:
    return queue.enqueue(kind, requested_by="command/test", now=timezone.now())


def everything_stored() -> str:
    rows = [*Task.objects.values_list(), *Job.objects.values_list(), *((row.task,) for row in OrmQ.objects.all())]
    return repr(rows)


def test_a_job_goes_through_the_engine(counting):
    job = queued("count")

    work()

    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, 3)
    assert (Task.objects.get().success, Task.objects.get().result, OrmQ.objects.count()) == (True, None, 0)


def test_the_text_of_an_error_is_nowhere(handle, logs):
    def fails(job: JobView, *, now) -> Step:
        try:
            raise KeyError(CANARY)
        except KeyError as error:
            raise ValueError(CANARY) from error

    handle("fails", fails)
    job = queued("fails")

    work()

    job.refresh_from_db()
    assert (job.state, job.error_code) == (JobState.QUEUED, "ValueError")
    assert CANARY not in everything_stored() + logs.text
    assert f"job {job.pk}: attempt 1 of 3 stopped with ValueError" in logs.text


def test_the_error_that_was_being_handled_when_the_timeout_came_is_nowhere(handle, logs):
    def is_stopped(job: JobView, *, now) -> Step:
        try:
            raise KeyError(CANARY)
        except KeyError:
            raise TimeoutException("Task exceeded maximum timeout value")  # noqa: B904  # as a signal handler does

    handle("slow", is_stopped)
    job = queued("slow")

    work()

    job.refresh_from_db()
    assert job.state == JobState.RUNNING  # until its lease is over
    assert "TimeoutException" in Task.objects.get().result
    assert CANARY not in everything_stored() + logs.text


def test_the_timeout_of_the_engine_stops_a_step_and_the_job_is_tried_again(handle):
    def hangs(job: JobView, *, now) -> Step:
        if job.attempt == 1:
            raise TimeoutException
        return Step(True)

    handle("slow", hangs)
    job = queued("slow")
    work()

    reconcile.reconcile(now=timezone.now() + limits.LEASE + timedelta(seconds=1))
    work()

    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 2)


def test_an_unknown_kind_fails_by_that_name():
    job = Job.objects.create(kind="gone", created_at=timezone.now(), requested_by="command/test")
    queue.enter(job.pk)

    work()

    job.refresh_from_db()
    assert (job.state, job.error_code) == (JobState.FAILED, "UnknownKind")


def test_a_job_that_is_no_more_is_no_error(counting):
    job = queued("count")
    Job.objects.all().delete()

    tasks.run_job(job.pk)

    assert counting == []


def test_a_worker_that_starts_shows_that_it_lives_and_schedules_the_tick():
    work()

    assert heartbeat.age(timezone.now()) < timedelta(seconds=10)
    assert EngineSchedule.objects.filter(name=schedules.TICK_NAME).count() == 1


def test_the_tick_beats_reconciles_and_starts_what_is_due(counting):
    job = queued("count")
    OrmQ.objects.all().delete()

    for _ in range(2):
        tasks.tick()

    assert heartbeat.age(timezone.now()) < timedelta(seconds=10)
    assert [entry.args() for entry in OrmQ.objects.all() if entry.func() == queue.RUN_JOB] == [(job.pk,)]


def test_a_part_of_the_tick_that_fails_does_not_stop_the_others(monkeypatch, logs):
    def fails(*, now) -> None:
        raise ValueError(CANARY)

    started = []
    monkeypatch.setattr(reconcile, "reconcile", fails)
    monkeypatch.setattr(schedules, "start_due", lambda *, now: started.append(now))

    tasks.tick()

    assert len(started) == 1
    assert "reconcile: stopped with ValueError" in logs.text
    assert CANARY not in logs.text
