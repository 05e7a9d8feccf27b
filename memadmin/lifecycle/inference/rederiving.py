"""Summaries that lost what they said with an erased person are written anew from the sources that survive.

An erasure leaves a mark in the metadata of such a row. Invariant: nothing is written from a source that is restricted, or whose user was
fenced or erased while the model was thinking; what is pinned or held is left as it is. Without a model the mark stays, and pages say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memadmin.jobs.registry import JobView, Step
from memadmin.lifecycle.inference import answers, prompts
from memadmin.llm.client import BadAnswer, Refused, Unreachable, chat
from memadmin.llm.endpoints import chat_endpoint
from memadmin.store import arrivals, counters, deleting, editing
from memadmin.store.admission import SHUT
from memadmin.store.models import ItemType, LongTermMemory, Provenance, Session, Subject, WorkingMemory
from memadmin.store.opening import Suppressed
from memadmin.store.said import texts_of

REDERIVE = "rederive"
ACTOR = "job/rederive"
PENDING = "pending"
FEWEST = 2  # sources: of one alone a summary is a copy, and of none it is made up
MOST_WORDS = 120
MOST_TOKENS = 400
LONGEST = 1_000  # characters, of a session's summary
_SOURCES: dict[str, Any] = {ItemType.SESSION: Session, ItemType.WORKING: WorkingMemory, ItemType.LONG_TERM: LongTermMemory}


@dataclass(frozen=True, slots=True)
class Survivors:
    """What is left of the sources of a summary: their names, what they say, and the epochs of the users whose they are."""

    uids: frozenset[UUID]
    texts: Sequence[str]
    epochs: dict[int, int]
    may_be_used: bool


def rederive_step(job: JobView, *, now: datetime) -> Step:
    """One memory or session that waits. What cannot be done now keeps its mark for the next time."""
    at: dict[str, int] = dict(job.cursor or {"memory": 0, "session": 0})
    memory = LongTermMemory.objects.filter(pk__gt=at["memory"], text="", metadata__rederivation=PENDING).order_by("pk").first()
    if memory is not None:
        _rederive_memory(memory, now=now)
        return Step(finished=False, cursor={**at, "memory": memory.pk}, done=job.done + 1)
    session = Session.objects.filter(pk__gt=at["session"], summary=None, metadata__rederivation=PENDING).order_by("pk").first()
    if session is not None:
        _rederive_session(session, now=now)
        return Step(finished=False, cursor={**at, "session": session.pk}, done=job.done + 1)
    return Step(finished=True, cursor=at, done=job.done)


@contextmanager
def _noting_the_erased(item: LongTermMemory | Session, *, now: datetime) -> Iterator[None]:
    """The model may say again what was erased: that is refused, and the mark stays."""
    try:
        yield
    except Suppressed:
        arrivals.note_refused(item.container, arrivals.Way.MODEL, 1, actor=ACTOR, now=now)


def _rederive_memory(memory: LongTermMemory, *, now: datetime) -> None:
    left = _survivors(memory)
    if memory.pinned or memory.held or not left.may_be_used:
        return
    text = _answer(left.texts) if len(left.uids) >= FEWEST else ""
    if text or len(left.uids) < FEWEST:
        with _noting_the_erased(memory, now=now):
            _write_memory(memory, left, text, now=now)


@transaction.atomic
def _write_memory(memory: LongTermMemory, left: Survivors, text: str, *, now: datetime) -> None:
    """Write, or delete where too few sources survive, if everything still is as it was when the model was asked."""
    counters.lock([memory.subject_id, *left.epochs])
    same = LongTermMemory.objects.filter(pk=memory.pk, revision=memory.revision, pinned=False, held=False)
    if not same.exists() or _survivors(memory) != left:
        return
    if not text:
        deleting.delete_item(ItemType.LONG_TERM, memory, actor=ACTOR, now=now)
        return
    editing.edit_memory(memory, {"text": text}, actor=ACTOR, now=now)
    LongTermMemory.objects.filter(pk=memory.pk).update(metadata=_without_mark(memory.metadata))


def _rederive_session(session: Session, *, now: datetime) -> None:
    """A session with two messages or more is summed up again; one with fewer needs no summary. The session itself stays."""
    messages = WorkingMemory.objects.filter(session=session).order_by("sequence", "id")
    said = [message for payload in messages for message in payload.messages or []]
    epochs = _epochs({session.subject_id, *messages.values_list("subject_id", flat=True)})
    if session.pinned or session.held or session.restricted or messages.filter(restricted=True).exists() or None in epochs.values():
        return
    text = _asked(prompts.summary(said))[:LONGEST] if len(said) >= FEWEST else ""
    if text or len(said) < FEWEST:
        with _noting_the_erased(session, now=now):
            _write_session(session, text, epochs, now=now)


@transaction.atomic
def _write_session(session: Session, text: str, epochs: dict[int, int | None], *, now: datetime) -> None:
    counters.lock(list(epochs))
    same = Session.objects.filter(pk=session.pk, summary=None, revision=session.revision, pinned=False, held=False, restricted=False)
    if same.exists() and _epochs(epochs) == epochs:
        changes = {"metadata": _without_mark(session.metadata), **({"summary": text} if text else {})}
        editing.edit_session(session, changes, actor=ACTOR, now=now)


def _survivors(memory: LongTermMemory) -> Survivors:
    rows: list[Any] = []
    links = Provenance.objects.filter(derived_uid=memory.uid).order_by("id").values_list("source_type", "source_uid")
    for item_type, model in _SOURCES.items():
        uids = [uid for kind, uid in links if kind == item_type]
        rows += model.objects.filter(uid__in=uids).order_by("pk") if uids else []
    epochs = _epochs({memory.subject_id, *(row.subject_id for row in rows)})
    usable = not memory.restricted and not any(row.restricted for row in rows) and None not in epochs.values()
    known = {subject: epoch for subject, epoch in epochs.items() if epoch is not None}
    return Survivors(frozenset(row.uid for row in rows), [_said(row) for row in rows], known, usable)


def _epochs(subject_ids: Any) -> dict[int, int | None]:
    """Return the epoch of each user, None for one about whom nothing may be written."""
    found = Subject.objects.filter(pk__in=list(subject_ids)).values_list("pk", "epoch", "suppressed", "restricted")
    epochs: dict[int, int | None] = dict.fromkeys(subject_ids)
    return epochs | {pk: None if suppressed in SHUT or restricted else epoch for pk, epoch, suppressed, restricted in found}


def _said(row: Any) -> str:
    if isinstance(row, LongTermMemory):
        return row.text
    return (row.summary or "") if isinstance(row, Session) else " ".join(texts_of(row.messages))


def _answer(texts: Sequence[str]) -> str:
    """Return a text that covers all sources and says nothing else, "" where there is none (yet)."""
    said = [text for text in texts if text.strip()]
    if len(said) < FEWEST:
        return ""
    answer = _asked(prompts.merged(said, most_words=MOST_WORDS))
    try:
        return answers.read_merged(answer, said) if answer else ""
    except BadAnswer:
        return ""


def _asked(messages: Any) -> str:
    endpoint = chat_endpoint()
    if endpoint is None:
        return ""
    try:
        return chat(endpoint, messages, max_tokens=MOST_TOKENS).strip()
    except (Unreachable, Refused, BadAnswer):
        return ""  # the mark stays, and it is tried again


def _without_mark(metadata: Any) -> dict[str, Any]:
    return {name: value for name, value in (metadata or {}).items() if name != "rederivation"}
