"""Values as the databases take them in bulk: the text format of COPY on PostgreSQL, parameters on SQLite."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, models

NULL = "\\N"

Encode = Callable[[Any], str]
Prepare = Callable[[Any], Any]


def copied(field: models.Field[Any, Any], values: Sequence[Any]) -> list[str]:
    """Return the values of a column as COPY reads them, in its text format."""
    encode = _encoder(field)
    if is_document(field):
        return [encode(value) for value in values]
    return [NULL if value is None else encode(value) for value in values]


def _encoder(field: models.Field[Any, Any]) -> Encode:
    if is_document(field):
        return lambda value: _plain_json(value) or _escaped(json.dumps(value))
    if isinstance(field, models.JSONField):
        return lambda value: _escaped(json.dumps(value))
    if isinstance(field, models.DateField):  # the fields of moments are of this class too
        return lambda value: value.isoformat()
    if isinstance(field, models.UUIDField):
        return lambda uid: uid.hex
    if isinstance(field, models.BinaryField):
        return lambda value: "\\\\x" + bytes(value).hex()
    return _escaped if isinstance(field, models.CharField | models.TextField) else str


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def preparer(field: models.Field[Any, Any]) -> Prepare | None:
    """Return what turns a Python value into a parameter, or None for what needs nothing: plain numbers and texts."""
    if is_document(field):
        return lambda value: _plain_json(value) or json.dumps(value)
    if isinstance(field, models.DateTimeField):
        return functools.lru_cache(maxsize=1_000)(connection.ops.adapt_datetimefield_value)  # most rows of a batch share their times
    if isinstance(field, models.UUIDField):
        return None if connection.features.has_native_uuid_field else lambda uid: uid and uid.hex
    if isinstance(field, models.JSONField):
        return lambda value: None if value is None else json.dumps(value)
    if isinstance(field, models.BinaryField):
        return lambda value: None if value is None else field.get_db_prep_save(value, connection)
    return None


def is_document(field: models.Field[Any, Any]) -> bool:
    """True for JSON that is always there. A source may say `null` where an object is usual: that is JSON's null, not an absent value."""
    return isinstance(field, models.JSONField) and not field.null


def _plain_json(value: Any) -> str | None:
    """Return the JSON of what most columns hold, none or an empty object or list, without the cost of an encoder."""
    if value is None:
        return "null"
    if value or not isinstance(value, dict | list):
        return None
    return "{}" if isinstance(value, dict) else "[]"
