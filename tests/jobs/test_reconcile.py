from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django_q.models import OrmQ, Task

from memadmin.jobs import lease, limits, queue, reconcile, runner
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.registry import Step
from tests.factories import NOON
from tests.jobs.at_once import at_once

LATER = NOON + limits.LEASE + timedelta(seconds=1)


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    with time_machine.travel(NOON, tick=False):  # django-q2 reads the clock itself
        yield


def queued(kind: str = "count", target: str = "") -> Job:
    return queue.enqueue(kind, target=target, requested_by="command/test", now=NOON)


def entered() -> list[int]:
    return [entry.args()[0] for entry in OrmQ.objects.order_by("pk")]


def take_entry(at) -> None:
    """As django-q2 does when a worker takes an entry."""
    OrmQ.objects.update(lock=at + timedelta(seconds=1200))


@pytest.mark.django_db
def test_a_queued_job_without_entry_is_entered_again(counting):
    job = queued()
    OrmQ.objects.all().delete()

    reconcile.reconcile(now=NOON)

    assert entered() == [job.pk]


@pytest.mark.django_db
def test_doing_it_again_changes_nothing(counting):
    lost, running = queued(target="lost"), queued(target="running")
    lease.take(running.pk, now=NOON)
    OrmQ.objects.all().delete()

    for _ in range(3):
        reconcile.reconcile(now=LATER)

    assert sorted(entered()) == [lost.pk, running.pk]
    assert Job.objects.filter(state=JobState.QUEUED).count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_at_once_enter_a_lost_job_once(counting):
    jobs = [queued(target=f"runs/{number}") for number in range(5)]
    OrmQ.objects.all().delete()

    at_once(lambda: reconcile.reconcile(now=NOON), times=3)

    assert sorted(entered()) == [job.pk for job in jobs]


@pytest.mark.django_db
def test_a_job_whose_entry_a_worker_has_just_taken_is_left_alone(counting):
    queued()
    take_entry(NOON)

    reconcile.reconcile(now=NOON + timedelta(minutes=4))

    assert OrmQ.objects.count() == 1


@pytest.mark.django_db
def test_a_job_whose_entry_died_with_its_worker_is_entered_again(counting):
    queued()
    take_entry(NOON)

    reconcile.reconcile(now=NOON + limits.LOST + timedelta(seconds=1))

    assert OrmQ.objects.count() == 2


@pytest.mark.django_db
def test_an_entry_that_cannot_be_read_stops_nothing(counting):
    job = queued()
    OrmQ.objects.update(payload="written with another key")

    reconcile.reconcile(now=NOON)

    assert OrmQ.objects.count() == 2
    assert OrmQ.objects.latest("pk").args() == (job.pk,)


@pytest.mark.django_db
def test_a_job_whose_worker_died_is_queued_again_with_its_attempt_counted(counting):
    job = queued()
    view = lease.take(job.pk, now=NOON)
    lease.checkpoint(view, Step(False, cursor=2, done=2), now=NOON)

    reconcile.reconcile(now=LATER)

    job.refresh_from_db()
    assert (job.state, job.attempts, job.cursor) == (JobState.QUEUED, 1, 2)


@pytest.mark.django_db
def test_a_job_whose_worker_died_is_entered_at_once_beside_the_entry_that_the_worker_had_taken(counting):
    job = queued()
    take_entry(NOON)
    lease.take(job.pk, now=NOON)

    for _ in range(2):
        reconcile.reconcile(now=LATER)

    assert OrmQ.objects.filter(lock__lte=LATER).count() == 1


@pytest.mark.django_db
def test_a_job_that_runs_is_left_alone(counting):
    job = queued()
    lease.take(job.pk, now=NOON)

    reconcile.reconcile(now=NOON + timedelta(minutes=4))

    job.refresh_from_db()
    assert job.state == JobState.RUNNING


@pytest.mark.django_db
def test_a_job_whose_workers_died_too_often_fails_and_its_app_is_told(handle):
    told = []
    handle("deadly", lambda job, *, now: Step(True), on_failed=lambda job, *, error_code, now: told.append(error_code))
    job = queued("deadly")
    now = NOON
    for _ in range(3):
        lease.take(job.pk, now=now)
        now += limits.LEASE + timedelta(seconds=1)
        reconcile.reconcile(now=now)

    job.refresh_from_db()
    assert (job.state, job.error_code, job.attempts, job.finished_at) == (JobState.FAILED, "OutOfAttempts", 3, now)
    assert told == ["OutOfAttempts"]


@pytest.mark.django_db
def test_a_job_that_waits_after_a_failure_is_entered_when_its_time_has_come(handle):
    def fails(job, *, now) -> Step:
        raise ZeroDivisionError

    handle("fails", fails)
    with pytest.raises(ZeroDivisionError):
        runner.run_inline(queued("fails"), now=NOON)
    OrmQ.objects.all().delete()

    reconcile.reconcile(now=NOON + timedelta(seconds=59))
    assert entered() == []

    reconcile.reconcile(now=NOON + timedelta(seconds=60))
    assert len(entered()) == 1


@pytest.mark.django_db
def test_jobs_that_ended_long_ago_are_deleted_and_no_others(counting):
    ages = {JobState.DONE: (29, 31), JobState.CANCELLED: (29, 31), JobState.FAILED: (179, 181)}
    for state, days in ages.items():
        for old in days:
            at = NOON - timedelta(days=old)
            Job.objects.create(kind="count", target=f"{old}", state=state, created_at=at, finished_at=at, requested_by="command/test")
    waiting = queued("count", target="ancient")
    Job.objects.filter(pk=waiting.pk).update(created_at=NOON - timedelta(days=900))

    reconcile.prune(now=NOON)

    assert sorted(Job.objects.values_list("target", flat=True)) == ["179", "29", "29", "ancient"]


@pytest.mark.django_db
def test_old_failure_records_of_django_q2_are_deleted():
    for days in (29, 31):
        at = NOON - timedelta(days=days)
        Task.objects.create(id=f"{days}", name=f"{days}", func="f", started=at, stopped=at, success=False)

    reconcile.prune(now=NOON)

    assert list(Task.objects.values_list("id", flat=True)) == ["29"]
