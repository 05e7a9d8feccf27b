"""One row of a place as the person gets it: every column that says something of them, by the column's own name. See docs/access-export.md.

Numbers of rows become names that mean something outside; who among the staff or programs did something becomes what they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.db import models

from memadmin.erasure.access_exports.places import models_by_table
from memadmin.store import quarantine
from memadmin.store.locations import ItemClass, Location
from memadmin.store.models import Container, Outcome, Returned, Session, Subject
from memadmin.store.suppression_keys import KeysUnusable

ACTORS = {"person": "a person who works here", "token": "a program", "job": "a job", "command": "a command", "system": "the system"}
UNREADABLE = "could not be opened: its key is missing"
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Names:
    """What the numbers of users and containers mean outside."""

    users: Mapping[int, str | None]
    containers: Mapping[int, str]

    @classmethod
    def of(cls, subjects: Iterable[int]) -> Names:
        rows = list(Subject.objects.filter(pk__in=list(subjects)).values_list("pk", "user_id", "container_id"))
        containers = Container.objects.filter(pk__in={container for _, _, container in rows})
        return cls({key: user for key, user, _ in rows}, dict(containers.values_list("pk", "name")))


def records_of(place: Location, keys: Sequence[Any], names: Names) -> dict[Any, Record]:
    """Return the rows of a place with these keys, as {key: record}; one that has gone is not there."""
    model = models_by_table()[place.table]
    fields = [field for field in model._meta.concrete_fields if _is_told(place, field)]
    rows = list(model._base_manager.filter(pk__in=list(keys)))
    sessions = _sessions(rows)
    return {row.pk: _record(place, row, fields, names) | _session_of(row, sessions) for row in rows}


def _record(place: Location, row: Any, fields: Sequence[Any], names: Names) -> Record:
    about: Record = {"place": place.name}
    if hasattr(row, "container_id"):
        about["container"] = names.containers.get(row.container_id)
    if hasattr(row, "subject_id"):
        about["user_id"] = names.users.get(row.subject_id)
    said = {field.attname: _value(place, field, row) for field in fields}
    return {**about, **said}


def _is_told(place: Location, field: Any) -> bool:
    """Leave out numbers of rows, and copies that only a machine reads (vectors)."""
    if field.primary_key or isinstance(field, models.ForeignKey):
        return False
    return place.columns.get(field.column) != ItemClass.COPY


def _value(place: Location, field: Any, row: Any) -> Any:
    value = getattr(row, field.attname)
    if isinstance(row, Returned) and field.attname == "payload":
        return _set_aside(row)
    if field.column in place.read:
        return _parsed(place.read[field.column](value)) if value is not None else None
    if field.column in place.waived and isinstance(value, str):
        return _who(value)
    return plain(value)


def _who(value: str) -> str:
    kind, slash, _ = value.partition("/")
    return ACTORS.get(kind, value) if slash else value


def _set_aside(row: Returned) -> Any:
    if row.outcome != Outcome.QUARANTINED:
        return None
    try:
        return plain(asdict(quarantine.content_of(row)))
    except KeysUnusable:
        return UNREADABLE


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def plain(value: Any) -> Any:
    """Return a value as JSON takes it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def _sessions(rows: Sequence[Any]) -> dict[int, UUID]:
    keys = {row.session_id for row in rows if getattr(row, "session_id", None) is not None}
    return dict(Session.objects.filter(pk__in=keys).values_list("pk", "uid")) if keys else {}


def _session_of(row: Any, sessions: Mapping[int, UUID]) -> Record:
    key = getattr(row, "session_id", None)
    return {"session": str(sessions[key])} if key is not None and key in sessions else {}


def line_of(record: Record) -> str:
    """Return a record as one line of JSON, with what the texts really say."""
    return json.dumps(record, ensure_ascii=False)
