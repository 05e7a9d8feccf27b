"""Rows of one table by its key, some at a time. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from memadmin.erasure.verification.schema import Table

ROWS_AT_ONCE = 200_000  # that one statement goes through
UNFOLDED_AT_ONCE = 10_000  # of rows whose values all come here, to be unfolded
FETCHED_AT_ONCE = 500

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of a table by key: above `after`, and up to `upto`. None: no bound."""

    after: Key | None = None
    upto: Key | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One row that has what was looked for, and in which column."""

    table: str
    column: str
    key: Key


def next_stretch(table: Table, after: Key | None) -> Stretch:
    """Return the next rows to look through. `upto` None: they are the last."""
    where, values = bounds(table, Stretch(after))
    columns = quoted(*table.key)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {quoted(table.name)}{where} ORDER BY {columns} LIMIT 1 OFFSET {_at_once(table) - 1}", values)
        row = cursor.fetchone()
    return Stretch(after, tuple(row) if row else None)


def filled_ones(tables: Sequence[Table]) -> set[str]:
    """Return the names of those tables that have any row."""
    return _those(tables, lambda table: f"EXISTS (SELECT 1 FROM {quoted(table.name)})")


def long_ones(tables: Sequence[Table]) -> set[str]:
    """Return the names of those tables that are more than one stretch."""
    return _those(tables, _is_long)


def _is_long(table: Table) -> str:
    name, key, most = quoted(table.name), quoted(*table.key), _at_once(table)
    is_long = f"EXISTS (SELECT 1 FROM {name} ORDER BY {key} LIMIT 1 OFFSET {most})"  # by the key: else rows are read, not their index
    if not table.is_counted:
        return is_long
    first, last = (f"(SELECT {key} FROM {name} ORDER BY {key}{order} LIMIT 1)" for order in ("", " DESC"))
    return f"{last} - {first} >= {most} AND {is_long}"  # between keys that are nearer there cannot be so many: nothing is counted


def _those(tables: Sequence[Table], test: Callable[[Table], str]) -> set[str]:
    parts = [f"SELECT {place} WHERE {test(table)}" for place, table in enumerate(tables)]
    if not parts:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts))
        return {tables[place].name for (place,) in cursor.fetchall()}


def behind_last(tables: Sequence[Table]) -> dict[str, Stretch]:
    """Return by table a stretch for what is added to it from now on, where keys only grow, so that this can be told; else all of it."""
    counted = [table for table in tables if table.is_counted]
    parts = [(quoted(*table.key), quoted(table.name)) for table in counted]
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"(SELECT {key} FROM {name} ORDER BY {key} DESC LIMIT 1)" for key, name in parts))
        last = dict(zip((table.name for table in counted), cursor.fetchone(), strict=True))
    return {table.name: Stretch(None if last.get(table.name) is None else (last[table.name],)) for table in tables}


def rows_in(table: Table, stretch: Stretch, said: Sequence[str], *, tests: Sequence[str], values: Sequence[Any] = ()) -> Iterator[Key]:
    """Yield the key of each row that passes the tests, and what else of it is asked for in SQL."""
    where, own = bounds(table, stretch, *tests)
    names = ", ".join([quoted(*table.key), *said])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {names} FROM {quoted(table.name)}{where}", [*own, *values])
        while rows := cursor.fetchmany(FETCHED_AT_ONCE):
            for row in rows:
                yield tuple(row)


def rows_of(table: Table, keys: Sequence[Key], said: Sequence[str]) -> Iterator[Key]:
    """Yield the key of each of these rows and what else of it is asked for in SQL, so that of any number few are in memory at once."""
    marks = f"({', '.join(['%s'] * len(table.key))})"
    for at in range(0, len(keys), FETCHED_AT_ONCE):
        part = keys[at : at + FETCHED_AT_ONCE]
        named = f"({quoted(*table.key)}) IN ({', '.join([marks] * len(part))})"
        yield from rows_in(table, Stretch(), said, tests=[named], values=[value for key in part for value in key])


def bounds(table: Table, stretch: Stretch, *tests: str) -> tuple[str, list[Any]]:
    """Return a WHERE for the rows of a stretch that pass the tests, and the values for the bounds, which come first."""
    key = f"({quoted(*table.key)})"
    marks = f"({', '.join(['%s'] * len(table.key))})"
    within = [f"{key} {sign} {marks}" for sign, at in ((">", stretch.after), ("<=", stretch.upto)) if at is not None]
    values = [part for at in (stretch.after, stretch.upto) if at is not None for part in at]
    every = [*within, *tests]
    return (f" WHERE {' AND '.join(every)}" if every else ""), values


def _at_once(table: Table) -> int:
    return UNFOLDED_AT_ONCE if table.is_technical else ROWS_AT_ONCE


def quoted(*words: str) -> str:
    return ", ".join(map(connection.ops.quote_name, words))
