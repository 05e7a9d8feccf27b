"""The job that lets a model read one working memory, strategy by strategy."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from memadmin.jobs import lease, queue
from memadmin.jobs.registry import JobView, Step
from memadmin.lifecycle.inference import extraction, strategies
from memadmin.llm.endpoints import chat_endpoint
from memadmin.store import ingest
from memadmin.store.admission import SHUT
from memadmin.store.intake import IncomingHistory
from memadmin.store.models import ItemType, WorkingMemory

INFER = "infer"


class NoModel(Exception):
    """The installation has no chat endpoint (any more)."""


def request(working: WorkingMemory, *, actor: str, now: datetime) -> None:
    """Queue the inference of a stored working memory, in the transaction that stores it. Raises NoModel."""
    if chat_endpoint() is None:
        raise NoModel
    queue.enqueue(INFER, target=f"{ItemType.WORKING}/{working.uid}", requested_by=actor, now=now)


def infer_step(job: JobView, *, now: datetime) -> Step:
    """One strategy. What it writes and how far the job is are saved together. A memory that has gone or may not be used ends the job."""
    working = _working(job)
    if working is None or working.restricted or working.subject.suppressed in SHUT:
        return Step(finished=True, done=job.done)
    endpoint = chat_endpoint()
    if endpoint is None:
        raise NoModel
    configuration = working.container.configuration
    due = strategies.strategies_for(configuration, working.namespace)
    at = int(job.cursor or 0)
    if at >= len(due):
        return Step(finished=True, cursor=at, done=at, total=len(due))
    found = extraction.ask(working, due[at], endpoint=endpoint, most=strategies.most_facts(configuration))
    step = Step(finished=False, cursor=at + 1, done=at + 1, total=len(due))
    with transaction.atomic():
        extraction.keep(working, due[at], found, user_id=working.subject.user_id, now=now)
        return lease.save(job, step, now=now)


def inference_failed(job: JobView, *, error_code: str, now: datetime) -> None:
    """Leave a history entry that says so; it names the kind of failure, nothing of the text."""
    working = _working(job)
    if working is not None and working.subject.suppressed not in SHUT and working.container.history_enabled:
        failed = IncomingHistory(
            user_id=working.subject.user_id, namespace=working.namespace, error=error_code, actor=extraction.ACTOR, created_at=now
        )
        ingest.write(working.container, [failed], actor=extraction.ACTOR, now=now)


def _working(job: JobView) -> WorkingMemory | None:
    uid = job.target.partition("/")[2]
    return WorkingMemory.objects.filter(uid=uid).select_related("container", "subject").first()
