from datetime import timedelta

import pytest
from django_q.models import OrmQ

from memadmin.jobs import heartbeat, lease, limits, queue, runner
from memadmin.jobs.lease import LeaseLost
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.registry import Step, Waits
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def queued(kind: str) -> Job:
    return queue.enqueue(kind, target="things/1", requested_by="command/test", now=NOON)


def fails(job, *, now) -> Step:
    raise ZeroDivisionError("a text that must stay here")


def test_a_job_is_run_step_by_step_to_its_end(counting):
    job = runner.run_inline(queued("count"), now=NOON)

    assert (job.state, job.done, job.total, job.cursor, job.finished_at) == (JobState.DONE, 3, 3, 3, NOON)
    assert counting == [1, 2, 3]
    assert (job.leased_by, job.lease_until) == ("", None)


def test_a_job_goes_on_from_its_cursor(counting):
    job = queued("count")
    Job.objects.update(cursor=2, done=2)

    runner.run_inline(job, now=NOON)

    assert counting == [3]


def test_a_long_job_is_queued_again_between_stretches(counting, clock):
    job = queued("count")
    OrmQ.objects.all().delete()

    runner.run_stretch(job.pk, clock=clock, stretch=timedelta(0))

    job.refresh_from_db()
    assert (job.state, job.done, job.attempts) == (JobState.QUEUED, 1, 0)
    assert [entry.args() for entry in OrmQ.objects.all()] == [(job.pk,)]


def test_many_stretches_do_not_use_up_the_attempts(handle, clock):
    handle("long", lambda job, *, now: Step(job.done == 9, done=job.done + 1), max_attempts=2)
    job = queued("long")

    for _ in range(10):
        runner.run_stretch(job.pk, clock=clock, stretch=timedelta(0))

    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, 10)


def test_the_lease_is_extended_between_steps(handle, clock):
    def slow(job, *, now) -> Step:
        clock.pass_by(minutes=4)
        assert Job.objects.get().lease_until == now + limits.LEASE
        return Step(job.done == 3, done=job.done + 1)

    handle("slow", slow)
    job = queued("slow")

    runner.run_stretch(job.pk, clock=clock)

    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_a_failed_attempt_is_named_by_its_class_and_waits(handle, clock):
    handle("fails", fails)
    job = queued("fails")

    with pytest.raises(ZeroDivisionError):
        runner.run_stretch(job.pk, clock=clock)

    job.refresh_from_db()
    assert (job.state, job.error_code, job.attempts) == (JobState.QUEUED, "ZeroDivisionError", 1)
    assert job.ready_at == NOON + timedelta(minutes=1)


def test_a_job_that_may_not_go_on_waits_without_an_error_or_an_attempt(handle, clock):
    handle("held", lambda job, *, now: waits(), max_attempts=1)
    job = queued("held")

    for _ in range(3):
        runner.run_stretch(job.pk, clock=clock)
        job.refresh_from_db()
        assert (job.state, job.attempts, job.error_code) == (JobState.QUEUED, 0, "")
        assert job.ready_at == clock() + limits.MAY_NOT_GO_ON
        clock.now = job.ready_at
    with pytest.raises(Waits):
        runner.run_inline(job, now=NOON)


def test_a_failure_is_told_until_the_next_step_that_goes_well(handle, clock):
    handle("fails", fails)
    job = queued("fails")
    with pytest.raises(ZeroDivisionError):
        runner.run_stretch(job.pk, clock=clock)
    clock.pass_by(minutes=2)

    again = lease.take(job.pk, now=clock())
    job.refresh_from_db()
    assert job.error_code == "ZeroDivisionError"
    lease.checkpoint(again, Step(False, done=1), now=clock())

    job.refresh_from_db()
    assert job.error_code == ""


def waits() -> Step:
    raise Waits


def test_each_wait_is_longer_until_the_attempts_are_used_up(handle, clock):
    handle("fails", fails, max_attempts=5)
    job = queued("fails")
    waits = []

    while Job.objects.live().exists():
        with pytest.raises(ZeroDivisionError):
            runner.run_stretch(job.pk, clock=clock)
        job.refresh_from_db()
        if job.ready_at:
            waits.append((job.ready_at - clock.now) // timedelta(minutes=1))
            clock.now = job.ready_at

    assert waits == [1, 4, 16, 60]
    assert (job.state, job.attempts, job.error_code, job.finished_at) == (JobState.FAILED, 5, "ZeroDivisionError", clock.now)


def test_a_waiting_job_is_left_alone_until_its_time(handle, clock):
    handle("fails", fails)
    job = queued("fails")
    with pytest.raises(ZeroDivisionError):
        runner.run_stretch(job.pk, clock=clock)

    clock.pass_by(seconds=59)
    runner.run_stretch(job.pk, clock=clock)

    assert Job.objects.get().attempts == 1


def test_the_app_is_told_once_when_a_job_has_failed_for_good(handle, clock):
    told = []
    handle("fails", fails, max_attempts=2, on_failed=lambda job, *, error_code, now: told.append((job.target, error_code, now)))
    job = queued("fails")

    for _ in range(3):
        clock.pass_by(hours=1)
        with pytest.raises((ZeroDivisionError, runner.NotFree)):
            runner.run_inline(job, now=clock.now)

    assert told == [("things/1", "ZeroDivisionError", NOON + timedelta(hours=2))]


def test_a_job_is_marked_as_failed_though_its_app_cannot_note_it(handle):
    def cannot(job, *, error_code, now) -> None:
        raise RuntimeError

    handle("fails", fails, max_attempts=1, on_failed=cannot)
    job = queued("fails")

    with pytest.raises(ZeroDivisionError):
        runner.run_inline(job, now=NOON)

    assert Job.objects.get().state == JobState.FAILED


def test_a_job_of_an_unknown_kind_fails_at_once(clock):
    job = Job.objects.create(kind="gone", created_at=NOON, requested_by="command/test")

    with pytest.raises(Exception, match="gone"):
        runner.run_stretch(job.pk, clock=clock)

    job.refresh_from_db()
    assert (job.state, job.error_code) == (JobState.FAILED, "UnknownKind")


def test_a_worker_that_is_killed_leaves_the_job_to_the_next_after_its_lease(handle, clock):
    def dies_once(job, *, now) -> Step:
        if job.attempt == 1 and job.done == 1:
            raise SystemExit
        return Step(job.done == 1, done=job.done + 1)

    handle("dies", dies_once)
    job = queued("dies")
    with pytest.raises(SystemExit):
        runner.run_stretch(job.pk, clock=clock)

    runner.run_stretch(job.pk, clock=clock)
    assert Job.objects.get().state == JobState.RUNNING

    clock.pass_by(minutes=5, seconds=1)
    runner.run_stretch(job.pk, clock=clock)

    job.refresh_from_db()
    assert (job.state, job.done, job.attempts) == (JobState.DONE, 2, 2)


def test_the_worker_shows_that_it_lives_before_each_long_step(handle, clock, monkeypatch):
    monkeypatch.setattr(runner, "BEAT_EVERY", 0.0)
    seen = []

    def slow(job, *, now) -> Step:
        seen.append(heartbeat.age(clock.now))
        clock.pass_by(seconds=25)
        return Step(job.done == 2, done=job.done + 1)

    handle("slow", slow)

    runner.run_stretch(queued("slow").pk, clock=clock)

    assert seen == [timedelta(0)] * 3


def test_a_command_does_not_make_a_dead_worker_look_alive(counting):
    runner.run_inline(queued("count"), now=NOON)

    assert heartbeat.age(NOON) is None


def test_a_job_that_another_runs_is_not_free(counting):
    job = queued("count")
    Job.objects.update(state=JobState.RUNNING, leased_by="other", lease_until=NOON + limits.LEASE)

    with pytest.raises(runner.NotFree):
        runner.run_inline(job, now=NOON)

    assert counting == []


def test_a_job_that_has_ended_is_not_run_again(counting):
    job = queued("count")
    runner.run_inline(job, now=NOON)

    with pytest.raises(runner.NotFree):
        runner.run_inline(job, now=NOON)

    assert counting == [1, 2, 3]


def test_a_command_whose_job_is_cancelled_learns_of_it(handle):
    def cancelled(job, *, now) -> Step:
        queue.cancel(Job.objects.get(pk=job.id), now=now)
        return Step(False)

    handle("cancelled", cancelled)

    with pytest.raises(LeaseLost):
        runner.run_inline(queued("cancelled"), now=NOON)
