"""Correct what is wrong about a person, so that the wrong words are nowhere afterwards.

The item says the right thing, and what it said before is taken out of its history, of copies of it, and of what was made from it. Unlike an
edit this leaves nothing to go back to. A hold forbids it, since the wrong words may be what has to be kept; a restriction does not: it
is often there because the words are contested.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import admission, counters, editing, embeddings, removal, tokens
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Provenance, Session, WorkingMemory
from memadmin.store.said import texts_of
from memadmin.store.staying import must_stay

CORRECTED = "[corrected]"
PENDING = {"rederivation": "pending"}  # in a row's metadata: who summarises finds it by that
AT_ONCE = 500


class Held(Exception):
    """A hold binds the item, its history or something derived from it: the wrong words may be what has to be kept."""


class Unchanged(Exception):
    """It says this already."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """How many entries of history lost what they said, how many copies went, how many derived items wait to be derived anew.

    `before` is what was said, for whoever has to know it again: it goes into no log.
    """

    history: int
    copies: int
    derived: int
    before: tuple[str, ...] = field(default=(), repr=False)


@transaction.atomic
def correct_memory(memory: LongTermMemory, text: str, *, actor: str, now: datetime) -> Corrected:
    """Let a long-term memory say something else. Raises Held, Unchanged, editing.Gone, Suppressed."""
    before = _locked(memory, "text")
    if before["text"] == text:
        raise Unchanged("It says this already.")
    admission.check_words(memory.container, [text], now=now)
    others = _derived_from({memory.uid}) - {memory.superseded_by}
    _check_holds({memory.uid} | others)
    done = _take_out({memory.uid} | others, others)
    _rewrite(memory, text, last_updated_at=now)
    if memory.container.history_enabled:
        editing.remember(memory, CORRECTED, actor=actor, now=now)
    _note(ItemType.LONG_TERM, memory.uid, "text", done, actor=actor, now=now)
    return replace(done, before=(str(before["text"]),))


@transaction.atomic
def correct_message(working: WorkingMemory, place: int, text: str, *, actor: str, now: datetime) -> Corrected:
    """Let one message of an entry say something else; `place` counts from 0.

    The summary of its session goes, and so do summaries that were made from the entry, to be derived anew. Facts that were made from it
    stay: each is right or wrong by itself. Raises Held, Unchanged, editing.Gone, Suppressed, IndexError.
    """
    messages = list(_locked(working, "messages")["messages"])
    message = dict(messages[place])
    if message.get("content") == text:
        raise Unchanged("It says this already.")
    admission.check_words(working.container, [text], now=now)
    summaries = LongTermMemory.objects.filter(uid__in=_derived_from({working.uid}), strategy_type__iexact="SUMMARY")
    others = set(summaries.values_list("uid", flat=True))
    _check_holds({working.uid} | others)
    said = tuple(texts_of(message))
    message.pop("content_text", None)
    messages[place] = {**message, "content": text}
    done = _take_out(others, others)
    WorkingMemory.objects.filter(pk=working.pk).update(messages=messages, event=None, revision=F("revision") + 1, last_updated_at=now)
    Session.objects.filter(pk__in=[working.session_id]).update(summary=None)
    working.refresh_from_db()
    _note(ItemType.WORKING, working.uid, "messages", done, actor=actor, now=now)
    return replace(done, before=said)


@transaction.atomic
def take_out_copy(row: HistoryEntry | Archived | Session) -> bool:
    """Take the words out of an entry of history, a copy in the archive or the summary of a session; return False where it has gone.

    Raises Held.
    """
    model = type(row)
    counters.lock([row.subject_id])
    mine: QuerySet[Any] = model._default_manager.filter(pk=row.pk)
    if mine.filter(must_stay(model)).exists():
        raise Held("A hold binds this. Release the hold first.")
    if isinstance(row, Archived):
        return bool(removal.remove_erased_copies([row.pk]))
    if isinstance(row, Session):
        return bool(mine.update(summary=None))
    emptied = mine.exclude(before=None).update(before={"memory": CORRECTED})
    return bool(max(emptied, mine.exclude(after=None).update(after={"memory": CORRECTED})))


def _locked(item: Any, *names: str) -> dict[str, Any]:
    counters.lock([item.subject_id])
    row = type(item).objects.filter(pk=item.pk, subject_id=item.subject_id).values(*names).first()
    if row is None:
        raise editing.Gone("This is not in the store any more.")
    return dict(row)


def _derived_from(uids: Collection[UUID]) -> set[UUID]:
    """Return all that was derived from these items, through any number of derivations, each once: a circle ends."""
    found: set[UUID] = set()
    fresh = set(uids)
    while fresh:
        batch = sorted(fresh)[:AT_ONCE]
        derived = set(Provenance.objects.filter(source_uid__in=batch).values_list("derived_uid", flat=True))
        fresh = (fresh - set(batch)) | (derived - found - set(uids))
        found |= derived - set(uids)
    return found


def _check_holds(uids: Collection[UUID]) -> None:
    for model, name in ((LongTermMemory, "uid"), (WorkingMemory, "uid"), (Session, "uid"), (HistoryEntry, "memory_uid"), (Archived, "uid")):
        rows: QuerySet[Any] = model._default_manager.filter(**{f"{name}__in": uids})
        if rows.filter(must_stay(model)).exists():
            raise Held("A hold binds this, or something that was made from it. Release the hold first, or refuse the request.")


def _take_out(uids: Collection[UUID], others: Collection[UUID]) -> Corrected:
    """Empty the history of these items, drop their copies in the archive, and empty what was derived."""
    said = HistoryEntry.objects.filter(memory_uid__in=uids)
    emptied = said.exclude(before=None).update(before={"memory": CORRECTED})
    emptied = max(emptied, said.exclude(after=None).update(after={"memory": CORRECTED}))
    copies = removal.remove_erased_copies(list(Archived.objects.filter(uid__in=uids).values_list("pk", flat=True)))
    derived = list(LongTermMemory.objects.filter(uid__in=others))
    counters.lock({row.subject_id for row in derived})
    for row in derived:
        _rewrite(row, "", metadata=PENDING, tags={})
    sessions = Session.objects.filter(uid__in=others).update(summary=None)
    return Corrected(history=emptied, copies=copies, derived=len(derived) + sessions)


def _rewrite(memory: LongTermMemory, text: str, **values: Any) -> None:
    size = tokens.estimate(text)
    moves = counters.Moves()
    moves.add(memory.subject_id, tokens=size - memory.tokens)
    moves.apply()
    columns = {"text": text, "parts": None, "tokens": size, "tokens_method": tokens.METHOD, **embeddings.missing(), **values}
    LongTermMemory.objects.filter(pk=memory.pk).update(**columns, revision=F("revision") + 1)
    memory.refresh_from_db()


def _note(item_type: ItemType, uid: UUID, field: str, done: Corrected, *, actor: str, now: datetime) -> None:
    counts = {"history": done.history, "copies": done.copies, "derived": done.derived}
    log.append(Action.ITEM_CORRECTED, actor=actor, target=f"{item_type}/{uid}", at=now, counts=counts, payload={"fields": [field]})
