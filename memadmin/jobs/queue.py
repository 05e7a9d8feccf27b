"""Into the queue and out of it. django-q2's task carries the job's id and nothing else; it is stored in the transaction of the job."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django_q.tasks import async_task

from memadmin.jobs import lease, registry
from memadmin.jobs.models import LIVE, Job, JobState
from memadmin.jobs.registry import JobView

RUN_JOB = "memadmin.jobs.tasks.run_job"
RESERVED_FOR = timedelta(minutes=5)


class WrongState(Exception):
    """The job's state does not allow this; somebody else may just have changed it."""


class AlreadyLive(Exception):
    """A job for this waits or runs already, and no second one is wanted."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"Job {job.pk} waits or runs already.")
        self.job = job


@transaction.atomic
def enqueue(kind: str, *, target: str = "", requested_by: str, now: datetime) -> Job:
    """Return a queued job for (kind, target), or the one that already waits or runs. Raises UnknownKind."""
    job, is_new = _one_live(kind, target, requested_by=requested_by, now=now, ready_at=None)
    if is_new:
        enter(job.pk)
    return job


@transaction.atomic
def enqueue_alone(kind: str, *, requested_by: str, now: datetime) -> Job:
    """Return a queued job of this kind, which was not there before. Raises AlreadyLive and UnknownKind."""
    job, is_new = _one_live(kind, "", requested_by=requested_by, now=now, ready_at=None)
    if not is_new:
        raise AlreadyLive(job)
    enter(job.pk)
    return job


@transaction.atomic
def reserve(kind: str, *, target: str = "", requested_by: str, now: datetime) -> Job:
    """Like `enqueue`, for a command that goes on with `run_inline`: workers leave the job alone for five minutes.

    If the command dies before it begins, they take over.
    """
    return _one_live(kind, target, requested_by=requested_by, now=now, ready_at=now + RESERVED_FOR)[0]


@transaction.atomic
def cancel(job: Job, *, now: datetime) -> None:
    """Call the job off; one that runs stops after its present step. Raises WrongState when it has ended."""
    values = {"state": JobState.CANCELLED, "finished_at": now, **lease.RELEASED}
    if not Job.objects.live().filter(pk=job.pk).update(**values):
        raise WrongState
    job.refresh_from_db()


@transaction.atomic
def retry(job: Job, *, requested_by: str) -> Job:
    """Queue a failed or cancelled job again, from where it stopped; return it, or the live one that has taken its place.

    Raises WrongState when it is done.
    """
    live = _live(job.kind, job.target)
    if live is not None:
        return live
    ended = Job.objects.filter(pk=job.pk, state__in=[JobState.FAILED, JobState.CANCELLED])
    fresh = {"attempts": 0, "error_code": "", "ready_at": None, "finished_at": None, "requested_by": requested_by}
    try:
        with transaction.atomic():
            changed = ended.update(state=JobState.QUEUED, **fresh)
    except IntegrityError as error:  # another was queued this moment
        raise WrongState from error
    if not changed:
        raise WrongState
    enter(job.pk)
    job.refresh_from_db()
    return job


@transaction.atomic
def hand_over(job: JobView) -> None:
    """Let the next stretch of a long job wait its turn. Raises LeaseLost."""
    lease.hand_over(job)
    enter(job.id)


def enter(job_id: int) -> None:
    """Give django-q2 an entry for the job. More entries than one are harmless: the lease lets one run."""
    async_task(RUN_JOB, job_id)


def _one_live(kind: str, target: str, *, requested_by: str, now: datetime, ready_at: datetime | None) -> tuple[Job, bool]:
    most = registry.handler_of(kind).max_attempts
    while True:
        live = _live(kind, target)
        if live is not None:
            return live, False
        try:
            with transaction.atomic():
                job = Job(kind=kind, target=target, created_at=now, ready_at=ready_at, requested_by=requested_by, max_attempts=most)
                job.save()
                return job, True
        except IntegrityError:  # another was queued this moment, and may even have ended
            continue


def _live(kind: str, target: str) -> Job | None:
    return Job.objects.filter(kind=kind, target=target, state__in=LIVE).first()
