"""Other users whose own ids say the erased one: the same id in another container, `Ann` beside `ann`, `ann#2`. What is theirs may say it.

Who has exactly an erased id in its container is no namesake: that is the person come back, and a finding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db import connection

from memadmin.erasure.verification.needles import any_stands_in
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.schema import SUBJECT_COLUMN, Holds, Table

USERS = "store_subject"
AT_ONCE = 500


def theirs(table: Table, keys: Sequence[str], probes: Probes) -> set[str]:
    """Return those of the rows (keys as JSON) that belong to a namesake. Rows of tables without a user belong to nobody."""
    owners = _owners(table, keys)
    namesakes = _namesakes(set(owners.values()), probes)
    return {key for key, owner in owners.items() if owner in namesakes}


def have_rows_in(table: Table, probes: Probes) -> bool:
    """Whether any namesake has rows in a table, so that what its statistics say may be theirs."""
    if table.name != USERS and not table.holding(Holds.SUBJECT):
        return False
    column = "id" if table.name == USERS else SUBJECT_COLUMN
    return any(_rows_of(table, column, part) for part in _parts(sorted(_namesakes(None, probes))))


def _owners(table: Table, keys: Sequence[str]) -> Mapping[str, int]:
    if table.name == USERS:
        return {key: json.loads(key) for key in keys}
    if not table.holding(Holds.SUBJECT) or len(table.key) != 1:
        return {}
    found: dict[str, int] = {}
    name = connection.ops.quote_name(table.key[0])
    for part in _parts(keys):
        marks = ", ".join(["%s"] * len(part))
        values = [json.loads(key) for key in part]
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {name}, {SUBJECT_COLUMN} FROM {table.name} WHERE {name} IN ({marks})", values)
            found |= {json.dumps(key, default=str): subject for key, subject in cursor.fetchall()}
    return found


def _namesakes(among: set[int] | None, probes: Probes) -> set[int]:
    """Return the keys of other users whose id says an erased one. None: among all users."""
    if not probes.words:
        return set()
    found: set[int] = set()
    for condition, values in _asked(among, probes):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT id, container_id, user_id, canonical_id FROM {USERS} WHERE {condition}", values)
            found |= {key for key, container, user, canonical in cursor.fetchall() if _says_it(container, user, canonical, probes)}
    return found - set(probes.subjects)


def _asked(among: set[int] | None, probes: Probes) -> Iterator[tuple[str, Sequence[Any]]]:
    if among is None:
        find = "strpos" if connection.vendor == "postgresql" else "instr"
        tests = [f"{find}({column}, %s) > 0" for column in ("user_id", "canonical_id") for _ in probes.words]
        yield " OR ".join(tests), [*probes.words, *probes.words]
        return
    for part in _parts(sorted(among)):
        yield f"id IN ({', '.join(['%s'] * len(part))})", part


def _says_it(container: int, user: str | None, canonical: str | None, probes: Probes) -> bool:
    if user is None or (container, user) in probes.people:
        return False
    return any(any_stands_in(probes.words, word) for word in (user, canonical) if word)


def _rows_of(table: Table, column: str, subjects: Sequence[int]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {table.name} WHERE {column} IN ({', '.join(['%s'] * len(subjects))}) LIMIT 1", subjects)
        return cursor.fetchone() is not None


def _parts(values: Iterable[Any]) -> Iterator[list[Any]]:
    every = iter(values)
    while part := list(islice(every, AT_ONCE)):
        yield part
