"""Take a person's words out of what belongs to others: their ids wherever they stand as words, and passages that were copied from them.

A row keeps its name, owner and times. A summary of several people loses all that it says, since nobody can tell whose words are whose; what
is left is marked, to be derived anew from the sources that survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import models

from memadmin.erasure import mentions
from memadmin.erasure.models import ErasureRequest, ManifestItem
from memadmin.erasure.scope import identifier_pattern, scope_of
from memadmin.store.counters import Moves, lock
from memadmin.store.embeddings import missing
from memadmin.store.locations import Act, Location
from memadmin.store.models import HistoryEntry, LongTermMemory, Session, WorkingMemory
from memadmin.store.staying import with_stays
from memadmin.store.tokens import METHOD, estimate

IN_PLACE = "[erased]"
PENDING = "rederivation"  # the key in a row's metadata by which who summarises finds it
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*", re.UNICODE)
_EMPTY: dict[str, Any] = {"text": "", "parts": None, "summary": None, "tags": {}, "before": None, "after": None, "error": None}

ITEMS = (LongTermMemory, Session, WorkingMemory, HistoryEntry)
NO_NAME = UUID(int=0)

Take = Callable[[str], str]


def redact(request: ErasureRequest, location: Location, items: Sequence[ManifestItem], *, act: Act) -> tuple[int, set[int]]:
    """Change the rows, and return how many were changed and which of them stay as they are for a hold. The caller has the transaction."""
    model = next(each for each in apps.get_models() if each._meta.db_table == location.table)
    keys = [json.loads(item.row_key) for item in items]
    rows = list(model._default_manager.select_for_update().filter(pk__in=keys))
    kept = set(with_stays(model._default_manager.filter(pk__in=keys)).filter(stays=True).values_list("pk", flat=True))
    take = _taker(request, items[0])
    for row in rows:
        if row.pk not in kept:
            _change(row, location, take, act=act)
    return len(rows) - len(kept), kept


def taken_out(text: str, *, pattern: re.Pattern[str] | None, is_copied: Callable[[str], bool]) -> str:
    """Return a text without the ids that the pattern finds, and without the sentences that hold a copied passage."""
    if is_copied(text):
        parts = _SENTENCE.findall(text)
        text = "".join(IN_PLACE + " " if is_copied(part) else part for part in parts) if len(parts) > 1 else IN_PLACE
        text = IN_PLACE if is_copied(text) else text  # a passage that runs over several sentences
    return pattern.sub(IN_PLACE, text) if pattern else text


def _taker(request: ErasureRequest, item: ManifestItem) -> Take:
    searcher = mentions.searcher_of(item.manifest)
    pattern = identifier_pattern(scope_of(item.manifest).identifiers)
    return partial(taken_out, pattern=pattern, is_copied=searcher.copied)


def _change(row: models.Model, location: Location, take: Take, *, act: Act) -> None:
    columns = [name for name in (location.searched or tuple(location.columns)) if name not in location.read or name in location.change]
    change = partial(_changed, take=take, model=type(row))
    uid = getattr(row, "uid", NO_NAME)
    values = {
        name: location.change[name](getattr(row, name), change) if name in location.change else change(name, getattr(row, name), uid)
        for name in columns
    }
    if act == Act.REDERIVE:
        values |= {name: empty for name, empty in _EMPTY.items() if name in columns}
        if "metadata" in columns:
            values["metadata"] = {PENDING: "pending"}
    if isinstance(row, LongTermMemory):
        values |= _after_text(row, values)
    if hasattr(row, "revision"):
        values["revision"] = row.revision + 1
    type(row)._default_manager.filter(pk=row.pk).update(**values)


def _after_text(row: LongTermMemory, values: dict[str, Any]) -> dict[str, Any]:
    """Return what follows from another text: its size, and no vector until it is computed anew."""
    tokens = estimate(str(values["text"]))
    lock([row.subject_id])
    moves = Moves()
    moves.add(row.subject_id, tokens=tokens - row.tokens)
    moves.apply()
    return {"tokens": tokens, "tokens_method": METHOD, **missing()}


def _changed(column: str, value: Any, uid: UUID, *, take: Take, model: Any) -> Any:
    """Return what a column says without the person's words. A name from outside stays one of its own, and fits as it did."""
    walked = _walked(value, take)
    if column == "external_id" and walked != value:
        return f"{IN_PLACE} {uid}"
    return walked[: _longest(model, column)] if isinstance(walked, str) else walked


def _longest(model: Any, column: str) -> int | None:
    """Return how long a text of a column may be; None: of any length. An archive copy has the columns of what it copies."""
    fields = (field for each in (model, *ITEMS) for field in each._meta.concrete_fields if field.name == column)
    return next((field.max_length for field in fields), None)


def _walked(value: Any, take: Take) -> Any:
    if isinstance(value, str):
        return take(value)
    if isinstance(value, dict):
        return {take(key): _walked(each, take) for key, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, take) for each in value]
    return value
