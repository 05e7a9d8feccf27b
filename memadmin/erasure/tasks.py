"""The jobs of this app."""

from __future__ import annotations

from datetime import datetime

from memadmin.erasure import approving, discovery
from memadmin.jobs.registry import JobView, Step, every_minute, job


@job(discovery.DISCOVER, on_failed=discovery.failed)
def discover(job: JobView, *, now: datetime) -> Step:
    """One page of one place."""
    return discovery.step(job, now=now)


@every_minute
def end_old_approvals(*, now: datetime) -> None:
    """An approval that nobody used in time holds no more, and no clock that is set back revives it."""
    approving.void_expired(now=now)
