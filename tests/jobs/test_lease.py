from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from memadmin.jobs import heartbeat, lease, limits, queue, runner
from memadmin.jobs.lease import LeaseLost
from memadmin.jobs.models import Heartbeat, Job, JobState
from memadmin.jobs.registry import Step
from tests.factories import NOON
from tests.jobs.at_once import at_once


def queued() -> Job:
    return queue.enqueue("count", requested_by="command/test", now=NOON)


@pytest.mark.django_db(transaction=True)
def test_of_four_runners_at_once_one_takes_the_job(counting):
    job = queued()

    taken = at_once(lambda: lease.take(job.pk, now=NOON), times=4)

    assert len([view for view in taken if view is not None]) == 1
    assert Job.objects.get().attempts == 1


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_do_each_unit_once(counting):
    job = queued()

    at_once(lambda: runner.run_stretch(job.pk, clock=lambda: NOON))

    assert counting == [1, 2, 3]


@pytest.mark.django_db
def test_the_attempt_is_counted_before_any_work(counting):
    job = queued()

    view = lease.take(job.pk, now=NOON)

    assert (view.attempt, Job.objects.get().attempts) == (1, 1)


@pytest.mark.django_db
def test_a_worker_that_lost_its_lease_stops_and_writes_nothing(handle, clock):
    units = []

    def slow(job, *, now) -> Step:
        units.append(now)
        clock.pass_by(minutes=6)
        lease.take(job.id, now=clock.now)  # another worker, while this one hangs
        return Step(False, cursor="late", done=99)

    handle("count", slow)
    job = queued()

    runner.run_stretch(job.pk, clock=clock)

    job.refresh_from_db()
    assert units == [NOON]
    assert (job.state, job.cursor, job.done, job.attempts) == (JobState.RUNNING, None, 0, 2)


@pytest.mark.django_db
def test_a_failure_after_the_lease_was_lost_is_not_recorded(handle, clock):
    def fails_late(job, *, now) -> Step:
        clock.pass_by(minutes=6)
        lease.take(job.id, now=clock.now)
        raise ValueError

    handle("count", fails_late)
    job = queued()

    runner.run_stretch(job.pk, clock=clock)

    job.refresh_from_db()
    assert (job.state, job.error_code) == (JobState.RUNNING, "")


@pytest.mark.django_db
def test_work_that_is_saved_with_its_cursor_is_rolled_back_when_the_lease_is_lost(handle, clock):
    def careful(job, *, now) -> Step:
        with transaction.atomic():
            heartbeat.beat(now, "a unit of work")
            Job.objects.update(leased_by="another")
            return lease.save(job, Step(False, done=1), now=now)

    handle("count", careful)

    runner.run_stretch(queued().pk, clock=clock)

    assert not Heartbeat.objects.filter(name="a unit of work").exists()


@pytest.mark.django_db
def test_a_step_that_saved_itself_is_not_saved_again_and_the_next_one_goes_on_from_it(handle, clock):
    seen = []

    def careful(job, *, now) -> Step:
        seen.append(job.cursor)
        if job.cursor == 2:
            return Step(True, cursor=2)
        with transaction.atomic():
            return lease.save(job, Step(False, cursor=(job.cursor or 0) + 1), now=now)

    handle("count", careful)
    job = queued()
    with CaptureQueriesContext(connection) as queries:
        runner.run_stretch(job.pk, clock=clock)

    assert seen == [None, 1, 2]
    written = [each["sql"] for each in queries if each["sql"].startswith("UPDATE") and '"cursor" =' in each["sql"]]
    assert len(written) == 3  # twice by the step, and the end


@pytest.mark.django_db
def test_a_cancelled_job_stops_after_the_present_step(handle, clock):
    def cancelled(job, *, now) -> Step:
        queue.cancel(Job.objects.get(pk=job.id), now=now)
        return Step(False, done=job.done + 1)

    handle("count", cancelled)
    job = queued()

    runner.run_stretch(job.pk, clock=clock)

    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.CANCELLED, 0)


@pytest.mark.django_db
def test_an_extended_lease_cannot_be_taken(counting):
    job = queued()
    view = lease.take(job.pk, now=NOON)
    lease.checkpoint(view, Step(False), now=NOON + timedelta(minutes=4))

    assert lease.take(job.pk, now=NOON + timedelta(minutes=8)) is None


@pytest.mark.django_db
def test_a_lease_from_a_clock_that_was_years_ahead_does_not_block_the_job(counting):
    job = queued()
    lease.take(job.pk, now=NOON + timedelta(days=1000))

    assert lease.take(job.pk, now=NOON) is not None


@pytest.mark.django_db
def test_a_small_step_back_of_the_clock_does_not_free_a_job_that_runs(counting):
    job = queued()
    lease.take(job.pk, now=NOON)

    assert lease.take(job.pk, now=NOON - limits.LEASE / 2) is None


@pytest.mark.django_db
def test_a_job_that_is_out_of_attempts_is_not_taken(counting):
    job = queued()
    for hour in range(3):
        lease.take(job.pk, now=NOON + timedelta(hours=hour))

    assert lease.take(job.pk, now=NOON + timedelta(hours=9)) is None


@pytest.mark.django_db
def test_a_finished_job_cannot_be_finished_twice(counting):
    view = lease.take(queued().pk, now=NOON)
    lease.finish(view, Step(True), now=NOON)

    with pytest.raises(LeaseLost):
        lease.finish(view, Step(True), now=NOON)
