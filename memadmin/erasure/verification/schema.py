"""The tables of the database as the database itself describes them: by which key a row is known, and what its columns could hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from django.db import connection

# SQLite has no types of its own for these: the declared ones are what Django writes.
_SQLITE_NAMES = re.compile(r"^(char\(32\)|uuid)$", re.IGNORECASE)
_NUMBERS = re.compile(r"^(big|small)?(int|serial)|^(integer|bool|real|double|float|numeric|decimal|time|date|interval|oid)", re.IGNORECASE)
_COUNTED = re.compile(r"^(big|small)?int(eger)?\b", re.IGNORECASE)
_BYTES = re.compile(r"^(bytea|blob)", re.IGNORECASE)
SUBJECT_COLUMN = "subject_id"


class Holds(StrEnum):
    """What a column could say of a person."""

    TEXT = "text"
    BYTES = "bytes"
    NAME = "name"  # a UUID
    SUBJECT = "subject"  # the key of a user


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    holds: Holds


@dataclass(frozen=True, slots=True)
class Table:
    """One table. Columns of numbers and times are left out: without a text beside them they say nothing of anybody."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    is_counted: bool = False  # its key is one number, so that later rows have higher ones

    def holding(self, *kinds: Holds) -> list[str]:
        return [column.name for column in self.columns if column.holds in kinds]

    @property
    def is_technical(self) -> bool:
        """Whether its rows belong to no user, so that texts in it may be packed by some engine."""
        return not self.holding(Holds.SUBJECT)


def tables() -> list[Table]:
    """Return every table that has any column to look at, by name."""
    found = []
    for name, columns in sorted((_of_postgres() if connection.vendor == "postgresql" else _of_sqlite()).items()):
        held = tuple(Column(column, kind) for column, declared, _ in columns if (kind := _holds(column, declared)))
        keys = sorted((place, column, declared) for column, declared, place in columns if place)
        key = tuple(column for _, column, _ in keys) or (_ROW_OF[connection.vendor],)
        if held:
            found.append(Table(name, key, held, is_counted=len(keys) == 1 and bool(_COUNTED.match(keys[0][2]))))
    return found


_ROW_OF = {"sqlite": "rowid", "postgresql": "ctid"}  # of a table without a primary key


def _holds(column: str, declared: str) -> Holds | None:
    if column == SUBJECT_COLUMN:
        return Holds.SUBJECT
    if _SQLITE_NAMES.match(declared):
        return Holds.NAME
    if _NUMBERS.match(declared):
        return None
    return Holds.BYTES if _BYTES.match(declared) else Holds.TEXT


Described = dict[str, list[tuple[str, str, int]]]  # by table: columns with their declared type and place in the primary key, 0 for none


def _of_postgres() -> Described:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), "
            "coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) "  # indkey counts from 0
            "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
            "LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary "
            "WHERE c.relkind IN ('r', 'm') AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname, a.attnum"
        )
        return _grouped(cursor.fetchall())


def _of_sqlite() -> Described:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.name, c.name, c.type, c.pk FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c "
            "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.cid"
        )
        return _grouped(cursor.fetchall())


def _grouped(rows: list[tuple[str, str, str, int]]) -> Described:
    found: Described = {}
    for table, column, declared, place in rows:
        found.setdefault(table, []).append((column, declared, place))
    return found
