"""Erase some items of one place of a manifest.

Invariant: one transaction per batch holds the deleting statements, the counts, and where the execution is. A held row is never erased: the
deleting statement asks again, and what it spared is withheld in the manifest, so that the verification expects it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db.models import F

from memadmin.audit import log
from memadmin.erasure.execution.redacting import redact
from memadmin.erasure.manifests import HELD
from memadmin.erasure.models import ErasureRequest, ManifestItem, PlaceOutcome
from memadmin.store import locations, removal
from memadmin.store.locations import Act, Location
from memadmin.store.models import (
    Archived,
    Feedback,
    HistoryEntry,
    Hold,
    ItemType,
    LongTermMemory,
    Pin,
    Provenance,
    RecallEvent,
    Session,
    WorkingMemory,
)
from memadmin.store.staying import with_stays

OF_PLACE: dict[str, tuple[ItemType, Any]] = {
    "store.sessions": (ItemType.SESSION, Session),
    "store.working": (ItemType.WORKING, WorkingMemory),
    "store.long_term": (ItemType.LONG_TERM, LongTermMemory),
    "store.history": (ItemType.HISTORY, HistoryEntry),
}
MAY_SPARE: dict[str, Any] = {  # the other places whose `delete` keeps what must stay
    "store.archive": Archived,
    "store.holds": Hold,
    "store.pins": Pin,
    "store.recalls": RecallEvent,
    "store.feedback": Feedback,
    "store.provenance": Provenance,
}
REASON = "erasure"
BY_USERS = "store.subjects"  # see `users`


class NoWayToErase(Exception):
    """A place holds items that are to be erased, and nobody has said how: the execution stalls, and nothing is called complete."""


def erase(request: ErasureRequest, location: Location, items: Sequence[ManifestItem], *, actor: str, now: Any) -> None:
    """Do with each item what was approved. The caller has the transaction. Raises NoWayToErase."""
    by_act: dict[str, list[ManifestItem]] = {}
    for item in items:
        by_act.setdefault(item.act, []).append(item)
    for act, part in by_act.items():
        if act == Act.DELETE:
            _delete(request, location, part, actor=actor, now=now)
        elif act in (Act.REDACT, Act.REDERIVE):
            _redact(request, location, part, act=Act(act), actor=actor, now=now)
        elif act == Act.WITHHOLD:
            count(request, location, withheld=len(part))


def _delete(request: ErasureRequest, location: Location, items: Sequence[ManifestItem], *, actor: str, now: Any) -> None:
    keys = [json.loads(item.row_key) for item in items]
    if location.name in OF_PLACE:
        item_type, model = OF_PLACE[location.name]
        gone = removal.remove_erased(item_type, keys)
        kept = _staying(model, keys)
        _withhold(items, kept)
        count(request, location, erased=gone, absent=len(keys) - gone - len(kept), withheld=len(kept))
        return
    end = location.delete
    if end is None:
        raise NoWayToErase(location.name)
    gone = end(keys)
    spares = MAY_SPARE.get(location.name)
    kept = _staying(spares, keys) if spares else set()
    _withhold(items, kept)
    count(request, location, erased=gone, absent=len(keys) - gone - len(kept), withheld=len(kept))


def _staying(model: Any, keys: Sequence[int]) -> set[int]:
    """Return which rows are there still because a hold binds them; others that are there were not erased, and are a residue."""
    rows = model.objects.filter(pk__in=keys)
    staying = rows if model is Hold else with_stays(rows).filter(stays=True)  # a restriction stays on what a hold keeps
    return set(staying.values_list("pk", flat=True))


def _redact(request: ErasureRequest, location: Location, items: Sequence[ManifestItem], *, act: Act, actor: str, now: Any) -> None:
    keys = [json.loads(item.row_key) for item in items]
    if location.name == "store.audit_payloads":
        gone = log.redact_payload([tuple(key) for key in keys], actor=actor, at=now, reason_code=REASON, request_id=str(request.uid))
        count(request, location, redacted=gone, absent=len(keys) - gone)
        return
    changed, kept = redact(request, location, items, act=act)
    if kept:
        _withhold(items, kept)
    name = "rederived" if act == Act.REDERIVE else "redacted"
    count(request, location, **{name: changed}, absent=len(keys) - changed - len(kept), withheld=len(kept))


def _withhold(items: Sequence[ManifestItem], kept: set[int]) -> None:
    """Note what came under a hold after the approval."""
    if kept:
        meant = [item.pk for item in items if json.loads(item.row_key) in kept]
        ManifestItem.objects.filter(pk__in=meant).update(act=Act.WITHHOLD, reason_code=HELD)


def count(request: ErasureRequest, location: Location, **amounts: int) -> None:
    """Add to what became of a place: erased, redacted, rederived, absent, withheld."""
    PlaceOutcome.objects.get_or_create(request=request, location=location.name)
    changes = {name: F(name) + amount for name, amount in amounts.items() if amount}
    if changes:
        PlaceOutcome.objects.filter(request=request, location=location.name).update(**changes)


def places_in_order(names: Sequence[str]) -> list[Location]:
    """Return the places of a manifest in the order of an execution."""
    return [location for location in locations.in_order() if location.name in set(names) and location.name != BY_USERS]
