"""The jobs of this app."""

from __future__ import annotations

from datetime import datetime

from memadmin.erasure import discovery
from memadmin.jobs.registry import JobView, Step, job


@job(discovery.DISCOVER, on_failed=discovery.failed)
def discover(job: JobView, *, now: datetime) -> Step:
    """One page of one place."""
    return discovery.step(job, now=now)
