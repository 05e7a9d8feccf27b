"""Our own format, one JSON object a line: what a row looks like in a file, and back. See docs/transfer.md.

A field that has its usual value is left out; what is absent when read has its usual value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from datetime import MINYEAR, UTC, date, datetime
from typing import Any
from uuid import UUID

from memadmin.store.hard_limits import InvalidLimit, checked
from memadmin.store.intake import (
    Incoming,
    IncomingArchived,
    IncomingHistory,
    IncomingMemory,
    IncomingPin,
    IncomingSession,
    IncomingWorking,
    Source,
)
from memadmin.store.models import Container, ItemType, Pin, PolicyStatus, PolicyVersion, Provenance
from memadmin.transfer.columns import check_text
from memadmin.transfer.outcomes import FoundContainer, FoundPolicy
from memadmin.transfer.problems import Refused
from memadmin.transfer.times import ReadTime, read_time
from memadmin.transfer.values import Record, identifier

VERSION = 1
KINDS: dict[str, type[Incoming]] = {
    "session": IncomingSession,
    "working": IncomingWorking,
    "long-term": IncomingMemory,
    "history": IncomingHistory,
}
KIND_OF = {ItemType.SESSION: "session", ItemType.WORKING: "working", ItemType.LONG_TERM: "long-term", ItemType.HISTORY: "history"}
UIDS = {"uid", "memory_uid", "superseded_by"}
TIMES = {column.name for kind in KINDS.values() for column in fields(kind) if column.name.endswith("_at")}
APART = {"user_id", "pin", "sources"}  # not columns of the row itself
CONTAINER_TEXTS = ("description", "tenant")
CONTAINER_JSON = ("owner", "backend_roles", "configuration")
CONTAINER_FLAGS = ("sessions_enabled", "history_enabled")
CONTAINER_NUMBERS = ("archive_days", "summarise_from", "hard_limit_days")
CONTAINER_TIMES = ("orphan_baseline_at", "created_at", "last_updated_at")
LONGEST_KEEPING = 2**31 - 1

Rename = Callable[[UUID], UUID]


def write_time(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def container_record(container: Container) -> dict[str, Any]:
    names = ("name", "external_id", *CONTAINER_TEXTS, *CONTAINER_JSON, *CONTAINER_FLAGS, *CONTAINER_NUMBERS, "policy_state")
    times = {name: write_time(getattr(container, name)) for name in CONTAINER_TIMES}
    return {"type": "container", "uid": str(container.uid), **{name: getattr(container, name) for name in names}, **times}


def policy_record(version: PolicyVersion, document: Mapping[str, Any]) -> dict[str, Any]:
    names = ("number", "status", "note", "author", "published_by")
    times = {name: write_time(getattr(version, name)) for name in ("created_at", "published_at")}
    return {"type": "policy", "document": document, **{name: getattr(version, name) for name in names}, **times}


def item_record(kind: str, row: Mapping[str, Any], *, pin: Pin | None = None, sources: Iterable[Provenance] = ()) -> dict[str, Any]:
    """Return the record of a row given as {column: value}. Times and uids may be text already, as in the archive."""
    record = {
        column.name: _plain(column.name, row[column.name])
        for column in fields(KINDS[kind])
        if column.name not in APART and column.name in row and row[column.name] != _usual(column)
    }
    record["type"] = kind
    if kind == "working" and row.get("session_ref") and row.get("session_id") is None:
        record["session_gone"] = True
    if pin:
        record["pin"] = {
            "reason": pin.reason,
            "actor": pin.actor,
            "created_at": write_time(pin.created_at),
            "review_on": pin.review_on.isoformat() if pin.review_on else None,
            **({"reviewed_at": write_time(pin.reviewed_at), "reviewed_by": pin.reviewed_by} if pin.reviewed_at else {}),
        }
    if found := [{"type": KIND_OF[ItemType(source.source_type)], "uid": str(source.source_uid)} for source in sources]:
        record["sources"] = found
    return record


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if name.endswith("_at") and isinstance(value, str):
        value = datetime.fromisoformat(value)
    return write_time(value) if isinstance(value, datetime) else value


def _usual(column: Field[Any]) -> Any:
    if column.default is not MISSING:
        return column.default
    return column.default_factory() if column.default_factory is not MISSING else MISSING


def read_container(record: Record) -> FoundContainer:
    """Return the container that a record describes. Raises Refused."""
    for name in ("name", "external_id", *CONTAINER_TEXTS):
        check_text(record.get(name), name, longest=None if name == "description" else 512)
    details: dict[str, Any] = {name: record[name] for name in (*CONTAINER_TEXTS, *CONTAINER_JSON, *CONTAINER_FLAGS) if name in record}
    for name in CONTAINER_FLAGS:
        if not isinstance(details.get(name, True), bool):
            raise Refused("not_a_flag", "true or false is needed here", field=name)
    if "archive_days" in record:
        details["archive_days"] = _number(record["archive_days"], "archive_days", least=1, most=LONGEST_KEEPING)
    if "summarise_from" in record:
        details["summarise_from"] = _number(record["summarise_from"], "summarise_from", least=2, most=12)
    if "hard_limit_days" in record:
        details["hard_limit_days"] = _hard_limit(record["hard_limit_days"])
    for name in CONTAINER_TIMES:
        if read := _time(record.get(name), field=name):
            details[name] = read.at
    if not record.get("name"):
        raise Refused("missing", "a container needs a name", field="name")
    return FoundContainer(name=record["name"], uid=read_uid(record, "uid"), external_id=record.get("external_id"), details=details)


def _number(value: object, field: str, *, least: int, most: int) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most):
        raise Refused("out_of_range", f"null or a number from {least} to {most} is needed here", field=field)
    return value


def _hard_limit(days: object) -> int | None:
    try:
        return checked(days)
    except InvalidLimit as error:
        raise Refused("out_of_range", str(error), field="hard_limit_days") from None


def read_policy(record: Record) -> FoundPolicy | None:
    """Return the policy of a record, or None for one that was superseded or dropped. Raises Refused."""
    if record.get("status") in {PolicyStatus.SUPERSEDED, PolicyStatus.DROPPED}:
        return None
    document = record.get("document")
    if not isinstance(document, dict):
        raise Refused("not_an_object", "an object is needed here", field="document")
    return FoundPolicy(document=document, field="document", note=identifier(record, "note") or "From the imported file")


def read_item(record: Record, kind: str, *, rename: Rename) -> Incoming:
    """Return the item of a record, its own uid and those that it names sent through `rename`. Raises Refused."""
    return KINDS[kind](**read_values(record, kind, rename=rename))


def read_values(record: Record, kind: str, *, rename: Rename) -> dict[str, Any]:
    """Return the values of which `read_item` makes an item. Raises Refused."""
    names = _names(kind)
    values: dict[str, Any] = {name: value for name, value in record.items() if name in names}
    for name in TIMES & values.keys():
        read = _time(record[name], field=name)
        values[name] = read.at if read else None
        if name == "created_at" and read:
            values.setdefault("time_note", read.note)
    for name in UIDS & values.keys():
        if uid := read_uid(record, name):
            values[name] = rename(uid)
    if not isinstance(values.get("session_gone", False), bool):
        raise Refused("not_a_flag", "true or false is needed here", field="session_gone")
    if record.get("pin") is not None:
        values["pin"] = _pin(record["pin"])
    if record.get("sources") is not None:
        values["sources"] = _sources(record["sources"], rename)
    values["user_id"] = identifier(record, "user_id")
    return values


@functools.cache
def _names(kind: str) -> frozenset[str]:
    return frozenset(column.name for column in fields(KINDS[kind]) if column.name not in APART)


@functools.cache
def _known(kind: str) -> frozenset[str]:
    return frozenset({"type", "user_id", "pin", "sources", *_names(kind)})


def unknown_fields(record: Record, kind: str) -> list[str]:
    """Return the fields of a record that this version does not know."""
    known = _known(kind)
    return [] if record.keys() <= known else sorted(record.keys() - known)


def read_archived(record: Record, *, rename: Rename) -> IncomingArchived:
    """Return an evicted item with its messages. Raises Refused."""
    item, working = record.get("item"), record.get("working", [])
    if not isinstance(item, dict) or item.get("type") not in ("session", "long-term"):
        raise Refused("unknown_shape", "a session or a long-term memory is needed here", field="item")
    if not isinstance(working, list) or not all(isinstance(memory, dict) for memory in working):
        raise Refused("not_messages", "a list of working memories is needed here", field="working")
    user = {"user_id": record.get("user_id")}
    archived, expires = (_time(record.get(name), field=name) for name in ("archived_at", "expires_at"))
    if archived is None:
        raise Refused("missing", "the time of the eviction is needed here", field="archived_at")
    return IncomingArchived(
        user_id=identifier(record, "user_id"),
        item=read_item({**item, **user}, item["type"], rename=rename),  # type: ignore[arg-type]
        working=tuple(read_item({**memory, **user}, "working", rename=rename) for memory in working),  # type: ignore[misc]
        reason=identifier(record, "reason") or "",
        run_number=record.get("run_number"),
        archived_at=archived.at,
        expires_at=expires.at if expires else None,
    )


def _time(value: object, *, field: str) -> ReadTime | None:
    """Read a time that we wrote: whatever year the store had comes back."""
    return read_time(value, field=field, earliest=MINYEAR)


def read_uid(record: Record, name: str) -> UUID | None:
    """Return the uid under a name, or None. Raises Refused."""
    value = record.get(name)
    if value is None:
        return None
    try:
        return UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise Refused("not_a_uid", "a UUID is needed here", field=name) from None


def _pin(pin: Any) -> IncomingPin:
    if not isinstance(pin, dict):
        raise Refused("not_an_object", "an object is needed here", field="pin")
    created = _time(pin.get("created_at"), field="pin.created_at")
    if created is None:
        raise Refused("missing", "the time of the pin is needed here", field="pin.created_at")
    try:
        review = date.fromisoformat(pin["review_on"]) if pin.get("review_on") else None
    except (ValueError, TypeError):
        raise Refused("not_a_date", "a date such as 2026-03-01 is needed here", field="pin.review_on") from None
    reviewed = _time(pin.get("reviewed_at"), field="pin.reviewed_at")
    return IncomingPin(
        reason=pin.get("reason", ""),
        actor=pin.get("actor", ""),
        created_at=created.at,
        review_on=review,
        reviewed_at=reviewed.at if reviewed else None,
        reviewed_by=pin.get("reviewed_by", ""),
    )


def _sources(sources: Any, rename: Rename) -> tuple[Source, ...]:
    found = []
    for index, source in enumerate(sources if isinstance(sources, list) else [None]):
        kind = KINDS.get(source.get("type", "")) if isinstance(source, dict) else None
        uid = read_uid(source, "uid") if kind else None
        if kind is None or uid is None:
            raise Refused("not_a_source", "an object with type and uid is needed here", field=f"sources[{index}]")
        found.append(Source(item_type=kind.item_type, uid=rename(uid)))
    return tuple(found)
