"""Runs a job step by step under its lease. Every error is caught here: to record it, then raise it again."""

import logging
import math
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import close_old_connections, transaction
from django.utils import timezone

from memadmin.jobs import failure, heartbeat, lease, limits, queue, registry
from memadmin.jobs.lease import LeaseLost
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.registry import JobView

logger = logging.getLogger(__name__)
BEAT_EVERY = 5.0  # seconds

Clock = Callable[[], datetime]


class NotFree(Exception):
    """The job has ended, or another process is working on it."""


def run_stretch(job_id: int, *, clock: Clock = timezone.now, stretch: timedelta | None = None) -> None:
    """Work on the job for about `stretch` (default: limits.STRETCH), then queue it again. Does nothing when the job is not free.

    Raises what the step raised, after recording it.
    """
    job = lease.take(job_id, now=clock())
    if job is None:
        logger.info("job %d: not free, left alone", job_id)
        return
    seconds = (limits.STRETCH if stretch is None else stretch).total_seconds()
    try:
        _attempt(job, clock=clock, seconds=seconds, beat=_beats(clock))
    except LeaseLost:
        logger.warning("job %d: lease lost, stopped", job.id)
    except registry.Waits:
        logger.info("job %d: may not go on now, waits", job.id)


def run_inline(job: Job, *, now: datetime | None = None) -> Job:
    """Run the job to its end in this process and return it. With `now`, all happens at that moment.

    Raises NotFree; LeaseLost when the job was cancelled meanwhile; and whatever the step raised, after recording it as a failed attempt.
    """
    clock = timezone.now if now is None else lambda: now
    with transaction.atomic():
        Job.objects.filter(pk=job.pk, state=JobState.QUEUED).update(ready_at=None)
        view = lease.take(job.pk, now=clock())
    if view is None:
        raise NotFree
    # No sign of life from here: a command must not make a dead worker look alive.
    _attempt(view, clock=clock, seconds=math.inf, beat=lambda: None)
    job.refresh_from_db()
    return job


def _attempt(job: JobView, *, clock: Clock, seconds: float, beat: Callable[[], None]) -> None:
    began = time.monotonic()
    try:
        _steps(job, clock=clock, until=began + seconds, beat=beat)
    except LeaseLost:
        raise
    except registry.Waits:
        lease.wait(job, ready_at=clock() + limits.MAY_NOT_GO_ON)
        raise
    except Exception as error:
        if transaction.get_autocommit():
            close_old_connections()  # the error may have been the connection's
        failure.record(job, error, now=clock())
        raise
    logger.info("job %d: %.1f s of work", job.id, time.monotonic() - began)


def _steps(job: JobView, *, clock: Clock, until: float, beat: Callable[[], None]) -> None:
    step_of = registry.handler_of(job.kind).step
    while True:
        beat()
        step = step_of(job, now=clock())
        if step.finished:
            lease.finish(job, step, now=clock())
            return
        job = lease.checkpoint(job, step, now=clock())
        if time.monotonic() >= until:
            queue.hand_over(job)
            return


def _beats(clock: Clock) -> Callable[[], None]:
    """Return a function that signs at most every few seconds: steps may be very short."""
    last = -math.inf

    def beat() -> None:
        nonlocal last
        if time.monotonic() - last >= BEAT_EVERY:
            heartbeat.beat(clock())
            last = time.monotonic()

    return beat
