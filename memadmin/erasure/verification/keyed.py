"""What is looked for by key: users by their number, things by their name. Nothing is written.

All columns of all tables are asked at once in which of them anything stands. There may be hundreds of thousands of names, and to go
through them costs more than all else of a look: so it is done once, and not again for each of sixty columns. Rows are asked for where
something stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import connection

from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.rows import Hit, Stretch, bounds, quoted, rows_in
from memadmin.erasure.verification.schema import Holds, Table


def columns_with(stretches: Mapping[Table, Stretch], probes: Probes) -> dict[str, list[str]]:
    """Return for every table the columns in which these rows of it have a user or a name that is looked for."""
    found: dict[str, list[str]] = {table.name: [] for table in stretches}
    for holds, ask in ((Holds.SUBJECT, _asking_for_subjects), (Holds.NAME, _asking_for_names)):
        columns = [(table, column) for table in stretches for column in table.holding(holds)]
        wanted = probes.subjects if holds == Holds.SUBJECT else probes.names
        if columns and wanted:
            for number in _answered(*ask(columns, stretches, probes)):
                found[columns[number][0].name].append(columns[number][1])
    return found


def rows_with(table: Table, column: str, probes: Probes, stretch: Stretch) -> Iterator[Hit]:
    """Yield the rows that have a user or a name that is looked for in this column."""
    wanted = _subjects(probes) if column in table.holding(Holds.SUBJECT) else probes.names
    for row in rows_in(table, stretch, (), tests=[f"{quoted(column)} IN ({wanted})"]):
        yield Hit(table.name, column, row)


_Columns = list[tuple[Table, str]]


def _asking_for_subjects(columns: _Columns, stretches: Mapping[Table, Stretch], probes: Probes) -> tuple[str, list[Any]]:
    parts, values = [], []
    for place, (table, column) in enumerate(columns):
        where, own = bounds(table, stretches[table], f"{quoted(column)} IN ({_subjects(probes)})")
        parts.append(f"SELECT {place} WHERE EXISTS (SELECT 1 FROM {quoted(table.name)}{where})")
        values += own
    return " UNION ALL ".join(parts), values


def _asking_for_names(columns: _Columns, stretches: Mapping[Table, Stretch], probes: Probes) -> tuple[str, list[Any]]:
    parts, values = [], []
    for place, (table, column) in enumerate(columns):
        where, own = bounds(table, stretches[table], f"{quoted(column)} IS NOT NULL")
        parts.append(f"SELECT {place} AS place, {quoted(column)} AS name FROM {quoted(table.name)}{where}")
        values += own
    return _NAMED.format(names=probes.names, said=" UNION ALL ".join(parts)), values


# CROSS JOIN: SQLite keeps to this order, and so looks each column's value up among the names by their index. PostgreSQL chooses for itself.
_NAMED = "WITH sought (name) AS ({names}) SELECT DISTINCT place FROM ({said}) AS said CROSS JOIN sought WHERE sought.name = said.name"


def _answered(statement: str, values: list[Any]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return sorted(place for (place,) in cursor.fetchall())


def _subjects(probes: Probes) -> str:
    return ", ".join(map(str, probes.subjects))
