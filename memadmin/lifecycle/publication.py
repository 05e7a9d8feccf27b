"""Scheduled policies come into force: the tick finds those whose time has come, and a job publishes each, once."""

from __future__ import annotations

from datetime import datetime

from memadmin.jobs import queue
from memadmin.jobs.registry import JobView, Step
from memadmin.store import drafts

PUBLISH = "publish-policy"
ACTOR = f"job/{PUBLISH}"


def start_due(*, now: datetime) -> None:
    """Queue a job for each version whose time has come."""
    for version in drafts.due(now):
        queue.enqueue(PUBLISH, target=f"policy-versions/{version.pk}", requested_by=ACTOR, now=now)


def publish_step(job: JobView, *, now: datetime) -> Step:
    """Publish one version. It may run twice: the second finds that there is nothing to do."""
    published = drafts.publish_due(int(job.target.removeprefix("policy-versions/")), actor=ACTOR, now=now)
    return Step(finished=True, done=int(published))
