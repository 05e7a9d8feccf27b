"""The verbs of change: fields of one row get other values, its revision moves, counters and history follow.

`last_updated_at` moves with content only, so that a tag or a pin does not make a memory young again. Words that were erased on request
are not taken by a change either: each verb raises Suppressed for them, and Restricted for a row that is kept as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.db.models import F

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import admission, counters, embeddings, ingest, tokens
from memadmin.store.held_copies import Restricted
from memadmin.store.intake import IncomingHistory
from memadmin.store.models import Container, HistoryAction, ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.models.memories import Item
from memadmin.store.said import texts_of

SESSION_FIELDS = ("summary", "metadata", "agents", "additional_info")
WORKING_FIELDS = ("messages", "binary_data", "structured_data", "structured_data_blob", "metadata", "tags")
MEMORY_FIELDS = ("text", "tags")
CONTAINER_FIELDS = ("name", "description", "backend_roles", "configuration")
CONTENT = {"summary", "messages", "binary_data", "structured_data", "structured_data_blob", "text"}

Changes = Mapping[str, Any]


class Gone(Exception):
    """The row is not in the store any more."""


@transaction.atomic
def edit_session(session: Session, changes: Changes, *, actor: str, now: datetime) -> None:
    """Change the named fields of a session. Raises Gone."""
    counters.lock([session.subject_id])
    _write(session, _known(changes, SESSION_FIELDS), now=now)
    _note(session, ItemType.SESSION, changes, actor=actor, now=now)


@transaction.atomic
def edit_working(memory: WorkingMemory, changes: Changes, *, actor: str, now: datetime) -> None:
    """Change the named fields of a working memory; the user's count of messages follows. Raises Gone."""
    before = _locked(memory, "message_count")
    values = _known(changes, WORKING_FIELDS)
    if "messages" in values:
        values["message_count"] = len(values["messages"])
        _move(memory, messages=values["message_count"] - before["message_count"])
    _write(memory, values, now=now)
    _note(memory, ItemType.WORKING, changes, actor=actor, now=now)


@transaction.atomic
def edit_memory(memory: LongTermMemory, changes: Changes, *, actor: str, now: datetime) -> None:
    """Change the named fields of a long-term memory. Another text is counted anew and leaves an entry in the history. Raises Gone."""
    before = _locked(memory, "text", "tokens")
    values = _known(changes, MEMORY_FIELDS)
    changed = "text" in values and values["text"] != before["text"]
    if changed:
        values |= {"tokens": tokens.estimate(values["text"]), "tokens_method": tokens.METHOD, **embeddings.missing()}
        _move(memory, tokens=values["tokens"] - before["tokens"])
    _write(memory, values, now=now)
    if changed and memory.container.history_enabled:
        remember(memory, before["text"], actor=actor, now=now)
    _note(memory, ItemType.LONG_TERM, changes, actor=actor, now=now)


def remember(memory: LongTermMemory, before: str, *, actor: str, now: datetime) -> None:
    """Leave an entry in the history: the memory says something else than `before` now. Inside the caller's transaction."""
    entry = IncomingHistory(
        user_id=memory.subject.user_id,
        owner=memory.owner,
        memory_uid=memory.uid,
        memory_ref=memory.external_id,
        action=HistoryAction.UPDATE,
        before={"memory": before},
        after={"memory": memory.text},
        actor=actor,
        created_at=now,
        namespace=memory.namespace,
        tags=memory.tags,
    )
    ingest.write(memory.container, [entry], actor=actor, now=now)


@transaction.atomic
def edit_container(container: Container, changes: Changes, *, actor: str, now: datetime) -> None:
    """Change the named fields of a container. Raises Gone."""
    values = _known(changes, CONTAINER_FIELDS)
    _write(container, values, now=now, always_young=True)
    log.append(
        Action.CONTAINER_CHANGED,
        actor=actor,
        target=f"containers/{container.uid}",
        at=now,
        counts={"fields": len(values)},
        payload={"fields": sorted(values)},
    )


def _known(changes: Changes, names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in changes.items() if name in names}


def _locked(item: Item, *names: str) -> dict[str, Any]:
    """Return the named columns as they stand now that nobody else moves them. Raises Gone."""
    counters.lock([item.subject_id])
    row = type(item)._default_manager.filter(pk=item.pk, subject_id=item.subject_id).values(*names).first()
    if row is None:
        raise Gone("This is not in the store any more.")
    return dict(row)


def _write(row: models.Model, values: dict[str, Any], *, now: datetime, always_young: bool = False) -> None:
    if always_young or CONTENT & values.keys():
        values = {**values, "last_updated_at": now}
    rows = type(row)._default_manager.filter(pk=row.pk)
    if isinstance(row, Item) and (words := _words(values)):
        admission.check_words(row.container, words, now=now)
    open_rows = rows.filter(restricted=False) if isinstance(row, Item) else rows
    if not open_rows.update(**values, revision=F("revision") + 1):
        if rows.exists():
            raise Restricted("This is restricted: it is kept as it is until the restriction is lifted.")
        raise Gone("This is not in the store any more.")
    row.refresh_from_db(fields=[*values, "revision"])


def _words(values: Changes) -> list[str]:
    said = [values[name] for name in ("text", "summary") if values.get(name)]
    return said + (list(texts_of(values["messages"])) if "messages" in values else [])


def _move(item: Item, **amounts: int) -> None:
    moves = counters.Moves()
    moves.add(item.subject_id, **amounts)
    moves.apply()


def _note(item: Item, item_type: ItemType, changes: Changes, *, actor: str, now: datetime) -> None:
    names = sorted(changes)
    log.append(Action.ITEM_CHANGED, actor=actor, target=f"{item_type}/{item.uid}", at=now, payload={"fields": names})
