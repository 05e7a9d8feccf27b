"""What came back although it was erased, and was set aside: sealed, on nobody's read path, until a person
releases it (`releasing`) or drops it (`dropping`).

The content is sealed with a key that lies beside those of the suppressed ids, outside the database. What nobody decides on is dropped
after `quarantine_days`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import configuration, intake
from memadmin.store.bulk import insert_rows
from memadmin.store.intake import Incoming, IncomingArchived
from memadmin.store.models import Archived, Container, ItemType, Outcome, Returned
from memadmin.store.sealed import box as sealed_box
from memadmin.store.sealed import opened
from memadmin.store.suppression import Verdict

PURPOSE = b"memadmin.quarantine"
_SHAPES = {
    shape.__name__: shape
    for shape in (
        intake.IncomingArchived,
        intake.IncomingHistory,
        intake.IncomingMemory,
        intake.IncomingPin,
        intake.IncomingSession,
        intake.IncomingWorking,
        intake.Source,
    )
}
Item = Incoming | IncomingArchived | Archived  # a copy in the archive comes back too; it is marked, never set aside


@dataclass(frozen=True, slots=True)
class Arrived:
    """An item that met a suppression, under its own name."""

    uid: UUID
    subject_id: int
    item: Item
    verdict: Verdict


def set_aside(container: Container, arrived: Sequence[Arrived], *, actor: str, now: datetime) -> None:
    """Keep the items sealed; one that waits already is replaced by its newer form. Inside the transaction of the write."""
    expires_at = now + timedelta(days=configuration.value("quarantine_days"))
    _keep(container, arrived, outcome=Outcome.QUARANTINED, actor=actor, now=now, expires_at=expires_at)
    target, counts = f"containers/{container.uid}", {"items": len(arrived)}
    log.append(Action.ARRIVALS_QUARANTINED, actor=actor, target=target, at=now, counts=counts)


def mark(container: Container, arrived: Sequence[Arrived], *, actor: str, now: datetime) -> None:
    """Note that the items were let in although their text was erased once."""
    _keep(container, arrived, outcome=Outcome.FLAGGED, actor=actor, now=now, expires_at=None)
    target, counts = f"containers/{container.uid}", {"items": len(arrived)}
    log.append(Action.ARRIVALS_FLAGGED, actor=actor, target=target, at=now, counts=counts)


def waiting() -> QuerySet[Returned]:
    """Return what waits for a person."""
    return Returned.objects.filter(outcome=Outcome.QUARANTINED)


def content_of(returned: Returned) -> Incoming | IncomingArchived:
    """Open what was set aside. Raises KeysUnusable where the key that sealed it is gone."""
    item = _read(json.loads(zlib.decompress(opened(PURPOSE, bytes(returned.payload or b"")))))
    if not isinstance(item, Incoming | IncomingArchived):
        raise TypeError(type(item).__name__)
    return item


def _keep(
    container: Container, arrived: Sequence[Arrived], *, outcome: Outcome, actor: str, now: datetime, expires_at: datetime | None
) -> None:
    Returned.objects.filter(uid__in=[each.uid for each in arrived], container=container).delete()
    box = sealed_box(PURPOSE) if outcome is Outcome.QUARANTINED else None
    rows = [
        {
            "uid": each.uid,
            "container_id": container.pk,
            "subject_id": each.subject_id,
            "item_type": _type_of(each.item),
            "outcome": outcome.value,
            "suppression_uid": each.verdict.uid,
            "payload": box.encrypt(zlib.compress(json.dumps(_plain(each.item)).encode())) if box else None,
            "arrived_by": actor,
            "arrived_at": now,
            "expires_at": expires_at,
        }
        for each in arrived
    ]
    insert_rows(Returned, rows)


def _type_of(item: Item) -> str:
    return ItemType(item.item.item_type if isinstance(item, IncomingArchived) else item.item_type).value


def _plain(value: Any) -> Any:
    """Return a value as JSON in which every kind can be told again. Dictionaries are wrapped, so that none looks like one of ours."""
    if type(value).__name__ in _SHAPES and is_dataclass(value):
        return {"shape": type(value).__name__, "fields": {each.name: _plain(getattr(value, each.name)) for each in fields(value)}}
    if isinstance(value, Mapping):
        return {"map": {str(name): _plain(inner) for name, inner in value.items()}}
    if isinstance(value, tuple):
        return {"tuple": [_plain(inner) for inner in value]}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, date):
        return {"day": value.isoformat()}
    if isinstance(value, UUID):
        return {"uid": value.hex}
    if isinstance(value, ItemType):
        return {"type": value.value}
    return value


def _read(stored: Any) -> Any:
    if isinstance(stored, list):
        return [_read(inner) for inner in stored]
    if not isinstance(stored, dict):
        return stored
    if "shape" in stored:
        return _SHAPES[stored["shape"]](**{name: _read(inner) for name, inner in stored["fields"].items()})
    [(kind, inner)] = stored.items()
    readers: dict[str, Callable[[str], Any]] = {"time": datetime.fromisoformat, "day": date.fromisoformat, "uid": UUID, "type": ItemType}
    if kind == "map":
        return {name: _read(each) for name, each in inner.items()}
    return tuple(_read(each) for each in inner) if kind == "tuple" else readers[kind](inner)
