"""A short summary for a session that was begun without one, by a model. What somebody has written meanwhile stays."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from memadmin.jobs import queue
from memadmin.jobs.registry import JobView, Step
from memadmin.lifecycle.inference import prompts
from memadmin.llm.client import BadAnswer, chat
from memadmin.llm.endpoints import chat_endpoint
from memadmin.store import arrivals, counters, editing
from memadmin.store.models import ItemType, Session, WorkingMemory
from memadmin.store.opening import Suppressed
from memadmin.store.text import clean

SUMMARISE = "summarise"
ACTOR = "job/summarise"
LONGEST = 1_000  # characters
READ = 50  # the newest payloads


def request(session: Session, *, actor: str, now: datetime) -> None:
    """Queue the summary, in the transaction that stores the session, where there is an endpoint. A summary is worth having, not needed."""
    if chat_endpoint() is not None:
        queue.enqueue(SUMMARISE, target=f"{ItemType.SESSION}/{session.uid}", requested_by=actor, now=now)


def summarise_step(job: JobView, *, now: datetime) -> Step:
    """Ask for the summary and store it, unless the session has one by now, or has gone."""
    session = Session.objects.filter(uid=job.target.partition("/")[2]).select_related("container", "subject").first()
    endpoint = chat_endpoint()
    if session is not None and endpoint is not None and not session.summary and not session.restricted:
        said = [message for payload in _newest(session) for message in payload.messages]
        text = clean(chat(endpoint, prompts.summary(said), max_tokens=LONGEST // 2)).strip()
        if not text:
            raise BadAnswer("an empty summary")
        _keep(session, text[:LONGEST], now=now)
    return Step(finished=True, done=1, total=1)


def _newest(session: Session) -> list[WorkingMemory]:
    return list(WorkingMemory.objects.of_session(session).order_by("-sequence", "-id")[:READ])[::-1]


@transaction.atomic
def _keep(session: Session, text: str, *, now: datetime) -> None:
    counters.lock([session.subject_id])
    same = Session.objects.filter(pk=session.pk, summary__isnull=True, restricted=False, subject__epoch=session.subject.epoch)
    if same.exists():
        try:
            editing.edit_session(session, {"summary": text}, actor=ACTOR, now=now)
        except Suppressed:  # the model said again what was erased: the session stays without a summary
            arrivals.note_refused(session.container, arrivals.Way.MODEL, 1, actor=ACTOR, now=now)
