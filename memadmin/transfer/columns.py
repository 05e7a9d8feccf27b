"""Does an item fit its table? Asked once, for every format, so that no database is the first to object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from django.db import models

from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.ingest import Arrival
from memadmin.store.intake import (
    Incoming,
    IncomingArchived,
    IncomingHistory,
    IncomingMemory,
    IncomingPin,
    IncomingSession,
    IncomingWorking,
)
from memadmin.store.models import HistoryEntry, LongTermMemory, Session, WorkingMemory
from memadmin.transfer.problems import Refused

MODELS: dict[type[Incoming], type[models.Model]] = {
    IncomingSession: Session,
    IncomingWorking: WorkingMemory,
    IncomingMemory: LongTermMemory,
    IncomingHistory: HistoryEntry,
}
LONGEST_ACTOR = 100
LONGEST_REASON = 32  # of an eviction
INTEGERS = {
    "PositiveIntegerField": (0, 2**31 - 1),
    "IntegerField": (-(2**31), 2**31 - 1),
    "BigIntegerField": (-(2**63), 2**63 - 1),
}

Check = Callable[[Any, str], None]


def check(item: Arrival) -> None:
    """Raise Refused with the first field of the item that its column cannot hold."""
    check_text(item.user_id, "user_id", longest=MAX_ID_LENGTH)
    if isinstance(item, IncomingArchived):
        _check_archived(item)
    elif isinstance(item, Incoming):
        _check_item(item)


def _check_archived(copy: IncomingArchived) -> None:
    check_text(copy.reason, "reason", longest=LONGEST_REASON)
    if copy.run_number is not None:
        _check_integer(copy.run_number, "run_number", low=0, high=2**63 - 1)
    for item in (copy.item, *copy.working):
        check(item)


def _check_item(item: Incoming) -> None:
    if isinstance(item, IncomingSession) and not item.external_id:
        raise Refused("missing", "a session needs an id", field="external_id")
    values_of, checks = _CHECKS[type(item)]
    for value, (name, usual, nullable, check_value) in zip(values_of(item), checks, strict=True):
        if value is usual:
            continue
        if value is not None:
            check_value(value, name)
        elif not nullable:
            raise Refused("missing", "a value is needed here", field=name)
    if isinstance(item, IncomingSession | IncomingMemory) and item.pin:
        _check_pin(item.pin)


def check_text(value: object, name: str, *, longest: int | None) -> None:
    """Raise Refused unless the value is None or a text of at most so many characters."""
    if value is None:
        return
    if not isinstance(value, str):
        raise Refused("not_text", f"text is needed here, not {_kind(value)}", field=name)
    if longest is not None and len(value) > longest:
        raise Refused("text_too_long", f"{len(value)} characters, at most {longest}", field=name)


def _checks(kind: type[Incoming]) -> tuple[Callable[[Incoming], tuple[Any, ...]], list[tuple[str, Any, bool, Check]]]:
    """Return what fetches the values of an item that have to be looked at, and for each its name, its usual value and its check."""
    columns = {column.attname: column for column in MODELS[kind]._meta.concrete_fields}
    found = []
    for given in fields(kind):
        column = columns.get(given.name)
        check_value = _check_for(column) if column is not None else None
        if column is not None and check_value:
            found.append((given.name, given.default, column.null or given.default is None, check_value))
    return attrgetter(*[name for name, *_ in found]), found


def _check_for(column: models.Field[Any, Any]) -> Check | None:
    if column.name == "messages":
        return _check_messages
    if column.choices:
        return functools.partial(_check_choice, known=[value for value, _ in column.choices])
    if isinstance(column, models.CharField | models.TextField):
        return functools.partial(check_text, longest=column.max_length)
    if isinstance(column, models.FloatField):
        return _check_share
    if isinstance(column, models.BooleanField):
        return _check_flag
    if column.get_internal_type() in INTEGERS:
        low, high = INTEGERS[column.get_internal_type()]
        return functools.partial(_check_integer, low=low, high=high)
    return None


def _check_choice(value: object, name: str, *, known: list[str]) -> None:
    if value not in known:
        raise Refused("not_a_choice", f"one of {', '.join(word for word in known if word)} is needed here", field=name)


def _check_share(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused("not_a_number", f"a number from 0 to 1 is needed here, not {_kind(value)}", field=name)
    if not 0 <= value <= 1:
        raise Refused("out_of_range", "a number from 0 to 1 is needed here", field=name)


def _check_flag(value: object, name: str) -> None:
    if not isinstance(value, bool):
        raise Refused("not_a_flag", f"true or false is needed here, not {_kind(value)}", field=name)


def _check_integer(value: object, name: str, *, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused("not_a_number", f"a whole number is needed here, not {_kind(value)}", field=name)
    if not low <= value <= high:
        raise Refused("out_of_range", f"a whole number from {low} to {high} is needed here", field=name)


def _check_messages(value: object, name: str) -> None:
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise Refused("not_messages", "a list of objects is needed here", field=name)


def _check_pin(pin: IncomingPin) -> None:
    check_text(pin.reason, "pin.reason", longest=None)
    check_text(pin.actor, "pin.actor", longest=LONGEST_ACTOR)
    check_text(pin.reviewed_by, "pin.reviewed_by", longest=LONGEST_ACTOR)
    if not pin.reason:
        raise Refused("missing", "a pin needs a reason", field="pin.reason")


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number with a fraction", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


_CHECKS = {kind: _checks(kind) for kind in MODELS}
