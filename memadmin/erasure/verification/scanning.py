"""Look through one table for what must not be there, some rows at a time.

Texts are asked in the database whether they contain a form of an identifier anywhere; of the rows that do, the words decide here, as a
condition in SQL could not tell `user1` from `user10` in JSON. Packed values have to be unfolded one by one. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from memadmin.erasure.verification.needles import any_stands_in
from memadmin.erasure.verification.packed import unfolded
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.schema import Holds, Table

ROWS_AT_ONCE = 50_000  # that one look goes through
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


def next_stretch(table: Table, after: Key | None, *, rows: int = ROWS_AT_ONCE) -> Stretch:
    """Return the next rows to look through. `upto` None: they are the last."""
    where, values = _bounds(table, Stretch(after))
    columns = _names(table.key)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {_name(table.name)}{where} ORDER BY {columns} LIMIT 1 OFFSET {rows - 1}", values)
        row = cursor.fetchone()
    return Stretch(after, tuple(row) if row else None)


def last_key(table: Table) -> Key | None:
    """Return the key of a table's last row, where keys are numbers that only grow, so that later rows can be told. Else None."""
    if len(table.key) != 1:
        return None
    name = _name(table.key[0])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {name} FROM {_name(table.name)} ORDER BY {name} DESC LIMIT 1")
        row = cursor.fetchone()
    return tuple(row) if row and isinstance(row[0], int) else None


def scan(table: Table, probes: Probes, stretch: Stretch) -> Iterator[Hit]:
    """Yield what is found in these rows, a row once for each column that has it."""
    yield from _by_key(table, probes, stretch)
    yield from _by_text(table, probes, stretch)
    yield from _by_bytes(table, probes, stretch)


def _by_key(table: Table, probes: Probes, stretch: Stretch) -> Iterator[Hit]:
    for column in table.columns:
        if column.holds == Holds.SUBJECT and probes.subjects:
            test = f"{_name(column.name)} IN ({', '.join(map(str, probes.subjects))})"
        elif column.holds == Holds.NAME and probes.names:
            test = f"{_name(column.name)} IN ({probes.names})"
        else:
            continue
        for row in _rows(table, (), stretch, [test], []):
            yield Hit(table.name, column.name, row)


def _by_text(table: Table, probes: Probes, stretch: Stretch) -> Iterator[Hit]:
    columns = table.holding(Holds.TEXT)
    if not columns or not probes.needles:
        return
    packed = table.is_technical
    tests = [] if packed else [_contains(_said(columns), len(probes.needles))]
    values = [] if packed else probes.needles
    for row in _rows(table, [_as_text(column) for column in columns], stretch, tests, values):
        key, said = row[: len(table.key)], row[len(table.key) :]
        for column, value in zip(columns, said, strict=True):
            if any_stands_in(probes.words, value) or (packed and isinstance(value, str) and _stands_inside(probes, value)):
                yield Hit(table.name, column, key)


def _by_bytes(table: Table, probes: Probes, stretch: Stretch) -> Iterator[Hit]:
    columns = table.holding(Holds.BYTES)
    if not columns or not probes.needles:
        return
    some = " OR ".join(f"{_name(column)} IS NOT NULL" for column in columns)
    for row in _rows(table, [_name(column) for column in columns], stretch, [f"({some})"], []):
        key, said = row[: len(table.key)], row[len(table.key) :]
        for column, value in zip(columns, said, strict=True):
            if value is not None and _stands_inside(probes, value):
                yield Hit(table.name, column, key)


def _stands_inside(probes: Probes, value: bytes | str) -> bool:
    """Whether packed bytes have an identifier. Text in them is judged by its words; what is no text has no words, and any match counts."""
    for raw in unfolded(value):
        if not any(needle in raw for needle in probes.raw_needles):
            continue
        try:
            text = raw.decode("utf8")
        except UnicodeDecodeError:
            return True
        if any_stands_in(probes.words, text):
            return True
    return False


def _rows(table: Table, said: Sequence[str], stretch: Stretch, tests: Sequence[str], values: Sequence[Any]) -> Iterator[Key]:
    """Yield the key of each row that passes the tests, and what else of it is asked for in SQL."""
    where, bounds = _bounds(table, stretch)
    asked = f"{where} AND {' AND '.join(tests)}" if where and tests else f" WHERE {' AND '.join(tests)}" if tests else where
    names = ", ".join([*map(_name, table.key), *said])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {names} FROM {_name(table.name)}{asked}", [*bounds, *values])
        while rows := cursor.fetchmany(FETCHED_AT_ONCE):
            for row in rows:
                yield tuple(row)


def _bounds(table: Table, stretch: Stretch) -> tuple[str, list[Any]]:
    key = f"({_names(table.key)})"
    marks = f"({', '.join(['%s'] * len(table.key))})"
    tests = [f"{key} {sign} {marks}" for sign, at in ((">", stretch.after), ("<=", stretch.upto)) if at is not None]
    values = [part for at in (stretch.after, stretch.upto) if at is not None for part in at]
    return (f" WHERE {' AND '.join(tests)}" if tests else ""), values


def _said(columns: Sequence[str]) -> str:
    """Return SQL for everything that a row says, as one text."""
    if connection.vendor == "postgresql":
        return f"concat_ws(E'\\n', {', '.join(map(_as_text, columns))})"
    return " || char(10) || ".join(f"coalesce({_name(column)}, '')" for column in columns)


def _contains(said: str, needles: int) -> str:
    find = "strpos" if connection.vendor == "postgresql" else "instr"
    if needles == 1:
        return f"{find}({said}, %s) > 0"
    tests = " OR ".join([f"{find}(said, %s) > 0"] * needles)
    return f"EXISTS (SELECT 1 FROM (SELECT {said} AS said LIMIT 1 OFFSET 0) AS row WHERE {tests})"  # put together once for all of them


def _as_text(column: str) -> str:
    """Return SQL for a column as the text that it is stored as: JSON would else arrive parsed."""
    return f"{_name(column)}::text" if connection.vendor == "postgresql" else _name(column)


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(_name, columns))


def _name(word: str) -> str:
    return connection.ops.quote_name(word)
