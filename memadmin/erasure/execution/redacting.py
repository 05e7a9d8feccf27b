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

from django.apps import apps
from django.db import models

from memadmin.erasure import mentions
from memadmin.erasure.models import ErasureRequest, ManifestItem
from memadmin.erasure.scope import identifier_pattern, scope_of
from memadmin.store.counters import Moves, lock
from memadmin.store.embeddings import missing
from memadmin.store.holding import with_stays
from memadmin.store.locations import Act, Location
from memadmin.store.models import LongTermMemory
from memadmin.store.tokens import METHOD, estimate

IN_PLACE = "[erased]"
PENDING = "rederivation"  # the key in a row's metadata by which who summarises finds it
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*", re.UNICODE)
_EMPTY: dict[str, Any] = {"text": "", "parts": None, "summary": None, "tags": {}, "before": None, "after": None, "error": None}

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
    columns = [name for name in (location.searched or tuple(location.columns)) if name not in location.read]
    values = {name: _walked(getattr(row, name), take) for name in columns}
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


def _walked(value: Any, take: Take) -> Any:
    if isinstance(value, str):
        return take(value)
    if isinstance(value, dict):
        return {take(key): _walked(each, take) for key, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, take) for each in value]
    return value
