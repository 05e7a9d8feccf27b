"""The jobs of this app."""

from __future__ import annotations

from datetime import datetime

from memadmin.erasure import approving, discovery, ending
from memadmin.erasure.execution import steps
from memadmin.jobs.registry import JobView, Step, every_minute, job, scheduled


@job(discovery.DISCOVER, on_failed=discovery.failed)
def discover(job: JobView, *, now: datetime) -> Step:
    """One page of one place."""
    return discovery.step(job, now=now)


@every_minute
def end_old_approvals(*, now: datetime) -> None:
    """An approval that nobody used in time holds no more, and no clock that is set back revives it."""
    approving.void_expired(now=now)


@every_minute
def begin_approved(*, now: datetime) -> None:
    """Nobody presses a button to erase: what two people have agreed on begins by itself."""
    steps.begin_approved(now=now)


@job(steps.EXECUTE, on_failed=steps.stalled)
def execute(job: JobView, *, now: datetime) -> Step:
    """One batch of an approved erasure."""
    return steps.step(job, now=now)


@scheduled(ending.DAILY, default_cron="40 4 * * *")
@job(ending.DAILY)
def close(job: JobView, *, now: datetime) -> Step:
    """One complete request: closed, if it waits for nothing any more."""
    return ending.step(job, now=now)
