"""Many rows at once: COPY on PostgreSQL, one prepared statement on SQLite. Five times faster than `bulk_create`."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, models

Row = Mapping[str, Any]


def insert_rows(model: type[models.Model], rows: Sequence[Row]) -> None:
    """Insert rows given as {attribute: value}; every row names the same attributes. The caller has the transaction."""
    if not rows:
        return
    names = list(rows[0])
    fields = [_field(model, name) for name in names]
    values = _prepared(rows, names, [_preparer(field) for field in fields])
    columns = column_list(fields)
    table = connection.ops.quote_name(model._meta.db_table)
    if connection.vendor == "postgresql":
        _copy(f"COPY {table} ({columns}) FROM STDIN", values)
    else:
        marks = ", ".join(["%s"] * len(fields))
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", list(values))


def insert_row(model: type[models.Model], row: Row) -> int:
    """Insert one row, given like those of `insert_rows`, and return its key."""
    statement, _ = _one(model, tuple(row), connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(statement, prepared(model, row))
        key: int = cursor.fetchone()[0]
    return key


@functools.lru_cache(maxsize=50)
def _one(model: type[models.Model], names: tuple[str, ...], vendor: str) -> tuple[str, list[Callable[[Any], Any] | None]]:
    fields = [_field(model, name) for name in names]
    marks = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {connection.ops.quote_name(model._meta.db_table)} ({column_list(fields)}) VALUES ({marks}) RETURNING id"
    return statement, [_preparer(field) for field in fields]


def column_list(fields: Iterable[models.Field[Any, Any]]) -> str:
    return ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)


@functools.lru_cache(maxsize=50)
def typed_marks(model: type[models.Model], names: tuple[str, ...]) -> tuple[str, str]:
    """Return column names, and marks for their values in a SELECT of PostgreSQL, where a value has to say its type."""
    fields = [_field(model, name) for name in names]
    return column_list(fields), ", ".join(f"%s::{field.cast_db_type(connection)}" for field in fields)


def prepared(model: type[models.Model], row: Row) -> list[Any]:
    """Return the values of a row as the database takes them."""
    _, preparers = _one(model, tuple(row), connection.vendor)
    [values] = _prepared([row], list(row), preparers)
    return values


def _copy(statement: str, values: Iterable[Sequence[Any]]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in values:
            copy.write_row(row)


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    return next(field for field in model._meta.concrete_fields if field.attname == name)


def _prepared(rows: Iterable[Row], names: Sequence[str], preparers: Sequence[Callable[[Any], Any] | None]) -> Iterator[list[Any]]:
    needed = [(place, prepare) for place, prepare in enumerate(preparers) if prepare]
    for row in rows:
        values = [row[name] for name in names]
        for place, prepare in needed:
            values[place] = prepare(values[place])
        yield values


def _preparer(field: models.Field[Any, Any]) -> Callable[[Any], Any] | None:
    """Return what turns a Python value into a database one, or None for what needs nothing: plain numbers and texts."""
    if isinstance(field, models.JSONField) and not field.null:
        # A source may say `null` where an object is usual: that is JSON's null, not an absent value.
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


def _plain_json(value: Any) -> str | None:
    """Return the JSON of what most columns hold, none or an empty object or list, without the cost of an encoder."""
    if value is None:
        return "null"
    if value or not isinstance(value, dict | list):
        return None
    return "{}" if isinstance(value, dict) else "[]"


def pair_table(pairs: Iterable[tuple[int, str | None]]) -> tuple[str, list[Any]]:
    """Return SQL for a table of any number of pairs, with the columns `number` and `text`, and its parameters."""
    found = list(pairs)
    if connection.vendor == "postgresql":
        sql = "SELECT number, text FROM unnest(%s::bigint[], %s::text[]) AS pairs (number, text)"
        return sql, [[number for number, _ in found], [text for _, text in found]]
    return "SELECT json_extract(value, '$[0]') AS number, json_extract(value, '$[1]') AS text FROM json_each(%s)", [json.dumps(found)]


def id_list(column: str, ids: Sequence[int]) -> tuple[str, list[Any]]:
    """Return SQL that tests `column` against any number of ids, and its parameters."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s)", [list(ids)]
    return f"{column} IN (SELECT value FROM json_each(%s))", ["[" + ",".join(map(str, ids)) + "]"]


def uid_list(column: str, uids: Iterable[UUID]) -> tuple[str, list[Any]]:
    """Return SQL that tests `column` against any number of uids, and its parameter: one text, however many there are."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s::uuid[])", ["{" + ",".join(uid.hex for uid in uids) + "}"]
    return f"{column} IN (SELECT value FROM json_each(%s))", [json.dumps([uid.hex for uid in uids])]
