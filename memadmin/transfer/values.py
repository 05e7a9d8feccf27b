"""Single values out of a foreign record, where several systems write the same thing in several ways."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from memadmin.transfer.problems import Refused
from memadmin.transfer.times import ReadTime, read_time

Record = Mapping[str, Any]


def identifier(record: Record, *names: str) -> str | None:
    """Return the first of the named ids that is there, exactly as written; a whole number becomes its digits."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None:
            raise Refused("not_an_id", "an id is text or a whole number", field=name)
    return None


def uid_in(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def time(record: Record, *names: str) -> ReadTime | None:
    """Return the first of the named times that the record gives."""
    for name in names:
        if found := read_time(record.get(name), field=name):
            return found
    return None


def leftover(record: Record, known: Collection[str]) -> dict[str, Any]:
    """Return the fields that have no place of their own. Those named `…_at` must be times all the same."""
    rest = {name: value for name, value in record.items() if name not in known}
    for name, value in rest.items():
        if name.endswith("_at"):
            read_time(value, field=name)
    return rest


def with_extras(metadata: Any, *, extra: Mapping[str, Any], **more: Any) -> Any:
    """Return the metadata with what has no column: `extra` under its name, `more` beside it. The source's own keys win."""
    added = {name: value for name, value in more.items() if value is not None}
    if extra:
        added["extra"] = dict(extra)
    if not added:
        return metadata
    own = metadata if isinstance(metadata, dict) else {} if metadata is None else {"value": metadata}
    return {**added, **own} if "extra" not in own else {**added, **own, "extra_fields": dict(extra)}
