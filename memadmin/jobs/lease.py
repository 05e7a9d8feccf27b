"""The lease on a running job. Every write on it is one UPDATE that compares who holds it: the loser of a race writes nothing."""

import os
import secrets
import socket
from dataclasses import replace
from datetime import datetime

from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Coalesce

from memadmin.jobs import limits
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.registry import JobView, Step

RELEASED = {"lease_until": None, "leased_by": ""}


class LeaseLost(Exception):
    """Somebody else took the job, or it was cancelled. Stop without writing."""


def take(job_id: int, *, now: datetime) -> JobView | None:
    """Lease the job, None when it is not free. The attempt is counted here, before any work."""
    token = f"{socket.gethostname()[:150]}:{os.getpid()}:{secrets.token_hex(8)}"
    taken = (
        Job.objects.filter(pk=job_id)
        .free_to_take(now)
        .update(
            state=JobState.RUNNING,
            lease_until=now + limits.LEASE,
            leased_by=token,
            attempts=F("attempts") + 1,
            ready_at=None,
            started_at=Coalesce("started_at", Value(now, output_field=DateTimeField())),
        )
    )
    if not taken:
        return None
    job = Job.objects.filter(pk=job_id).leased_by(token).first()
    return None if job is None else view_of(job)  # None: cancelled this moment


def view_of(job: Job) -> JobView:
    return JobView(
        id=job.pk,
        uid=job.uid,
        kind=job.kind,
        target=job.target,
        cursor=job.cursor,
        done=job.done,
        total=job.total,
        attempt=job.attempts,
        max_attempts=job.max_attempts,
        requested_by=job.requested_by,
        token=job.leased_by,
    )


def checkpoint(job: JobView, step: Step, *, now: datetime) -> JobView:
    """Save how far the job is and extend the lease; an attempt before this one has failed no more. Raises LeaseLost.

    The runner calls it between steps, for those that have not done so with `save`.
    """
    if not step.saved:
        _write(job, cursor=step.cursor, done=step.done, total=step.total, lease_until=now + limits.LEASE, error_code="")
    return replace(job, cursor=step.cursor, done=step.done, total=step.total)


def save(job: JobView, step: Step, *, now: datetime) -> Step:
    """Checkpoint as the last thing of a step's own transaction, and return the step, which the runner then does not save again.

    For steps that must not be done twice: work and cursor are saved together, and who lost the lease rolls back. Raises LeaseLost.
    """
    checkpoint(job, step, now=now)
    return replace(step, saved=True)


def finish(job: JobView, step: Step, *, now: datetime) -> None:
    """Mark the job as done. Raises LeaseLost."""
    progress = {"cursor": step.cursor, "done": step.done, "total": step.total}
    _write(job, state=JobState.DONE, finished_at=now, error_code="", **progress, **RELEASED)


def hand_over(job: JobView) -> None:
    """Put the job back among the queued ones after a stretch that ended well. Raises LeaseLost."""
    _write(job, state=JobState.QUEUED, attempts=0, error_code="", **RELEASED)


def give_back(job: JobView, *, error_code: str, ready_at: datetime) -> None:
    """Queue the job for another attempt, not before `ready_at`. Raises LeaseLost."""
    _write(job, state=JobState.QUEUED, error_code=error_code, ready_at=ready_at, **RELEASED)


def wait(job: JobView, *, ready_at: datetime) -> None:
    """Queue the job again, not before `ready_at`, as if this attempt had not been. Raises LeaseLost."""
    _write(job, state=JobState.QUEUED, error_code="", attempts=F("attempts") - 1, ready_at=ready_at, **RELEASED)


def fail(job: JobView, *, error_code: str, now: datetime) -> None:
    """Mark the job as failed for good. Raises LeaseLost."""
    _write(job, state=JobState.FAILED, error_code=error_code, finished_at=now, **RELEASED)


def _write(job: JobView, **values: object) -> None:
    if not Job.objects.filter(pk=job.id).leased_by(job.token).update(**values):
        raise LeaseLost
