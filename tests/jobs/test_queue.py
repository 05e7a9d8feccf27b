import pytest
from django.db import IntegrityError, transaction
from django_q.models import OrmQ

from memadmin.jobs import lease, limits, queue, runner
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.queue import WrongState
from memadmin.jobs.registry import UnknownKind
from tests.factories import NOON
from tests.jobs.at_once import at_once

ANN = "person/00000000-0000-0000-0000-000000000001"


def enqueue(target: str = "runs/1") -> Job:
    return queue.enqueue("count", target=target, requested_by=ANN, now=NOON)


@pytest.mark.django_db
def test_the_queue_entry_carries_the_id_of_the_job_and_nothing_else(counting):
    job = enqueue()

    task = OrmQ.objects.get().task
    assert (task["func"], task["args"], task["kwargs"]) == (queue.RUN_JOB, (job.pk,), {})
    assert (job.state, job.requested_by, job.created_at, job.max_attempts) == (JobState.QUEUED, ANN, NOON, 3)


@pytest.mark.django_db(transaction=True)
def test_job_and_entry_go_when_the_transaction_is_rolled_back(counting):
    with transaction.atomic():
        enqueue()
        transaction.set_rollback(True)

    assert (Job.objects.count(), OrmQ.objects.count()) == (0, 0)


@pytest.mark.django_db
def test_the_live_job_of_a_target_is_returned_in_place_of_a_second(counting):
    first = enqueue()
    assert enqueue() == first

    lease.take(first.pk, now=NOON)
    assert enqueue() == first
    assert OrmQ.objects.count() == 1


@pytest.mark.django_db
def test_a_job_that_has_ended_makes_room_for_the_next(counting):
    first = enqueue()
    runner.run_inline(first, now=NOON)

    assert enqueue() != first


@pytest.mark.django_db
def test_other_targets_have_jobs_of_their_own(counting):
    assert enqueue("runs/1") != enqueue("runs/2")


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_at_once_get_the_same_job(counting):
    for number in range(5):
        assert len({job.pk for job in at_once(lambda number=number: enqueue(f"runs/{number}"), times=4)}) == 1

    assert OrmQ.objects.count() == 5


@pytest.mark.django_db
def test_an_unknown_kind_is_refused():
    with pytest.raises(UnknownKind):
        queue.enqueue("nobody", requested_by=ANN, now=NOON)


@pytest.mark.django_db
def test_workers_leave_a_reserved_job_to_the_command_that_asked_for_it(counting):
    job = queue.reserve("count", requested_by=ANN, now=NOON)

    assert OrmQ.objects.count() == 0
    assert lease.take(job.pk, now=NOON) is None
    assert runner.run_inline(job, now=NOON).state == JobState.DONE


@pytest.mark.django_db
def test_a_reserved_job_whose_command_died_goes_to_the_workers(counting):
    job = queue.reserve("count", requested_by=ANN, now=NOON)

    assert lease.take(job.pk, now=NOON + queue.RESERVED_FOR) is not None


@pytest.mark.django_db
def test_a_waiting_job_can_be_called_off(counting):
    job = enqueue()

    queue.cancel(job, now=NOON)

    assert (job.state, job.finished_at) == (JobState.CANCELLED, NOON)
    assert lease.take(job.pk, now=NOON) is None


@pytest.mark.django_db
def test_a_job_that_has_ended_cannot_be_called_off(counting):
    job = runner.run_inline(enqueue(), now=NOON)

    with pytest.raises(WrongState):
        queue.cancel(job, now=NOON)


@pytest.mark.django_db
def test_a_failed_job_is_tried_again_from_where_it_stopped(counting):
    job = enqueue()
    Job.objects.update(state=JobState.FAILED, finished_at=NOON, attempts=3, cursor=2, done=2, error_code="ValueError")

    again = queue.retry(job, requested_by=ANN)

    assert (again.pk, again.state, again.attempts, again.error_code) == (job.pk, JobState.QUEUED, 0, "")
    runner.run_inline(again, now=NOON)
    assert counting == [3]


@pytest.mark.django_db
def test_a_job_that_is_done_is_not_tried_again(counting):
    job = runner.run_inline(enqueue(), now=NOON)

    with pytest.raises(WrongState):
        queue.retry(job, requested_by=ANN)


@pytest.mark.django_db
def test_trying_again_returns_the_job_that_has_taken_the_place(counting):
    job = enqueue()
    queue.cancel(job, now=NOON)
    newer = enqueue()

    assert queue.retry(job, requested_by=ANN) == newer


@pytest.mark.django_db
@pytest.mark.parametrize(
    "values",
    [
        {"state": "running"},
        {"state": "queued", "leased_by": "somebody", "lease_until": NOON},
        {"state": "done"},
        {"state": "queued", "finished_at": NOON},
        {"state": "unheard-of", "finished_at": NOON},
        {"state": "queued", "attempts": 4},
    ],
)
def test_the_database_refuses_a_job_in_an_impossible_state(counting, values):
    enqueue()

    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.update(**values)


def test_a_lease_outlives_every_task_that_django_q2_lets_run(settings):
    timeout = settings.Q_CLUSTER["timeout"]

    assert limits.STRETCH.total_seconds() < timeout < limits.LEASE.total_seconds() < limits.LOST.total_seconds()
    assert limits.LOST.total_seconds() < settings.Q_CLUSTER["retry"]
