"""The live counters of subjects. They move in the transaction that moves the rows, once per subject and batch.

Whoever changes rows locks their subjects first, in the order of the key: so no two writers wait for each other,
and no counter is read before it is final.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import repeat

from django.db import connection

from memadmin.store.bulk import Column, Same, id_list
from memadmin.store.models.subjects import COUNTERS

_COLUMNS = ", ".join(f"{name} = {name} + moves.d_{name}" for name in COUNTERS)
_POSTGRESQL = (
    f"UPDATE store_subject SET {_COLUMNS} FROM (SELECT * FROM unnest(%s::bigint[], "
    + ", ".join(["%s::bigint[]"] * len(COUNTERS))
    + ") AS moves (id, "
    + ", ".join(f"d_{name}" for name in COUNTERS)
    + ")) AS moves WHERE store_subject.id = moves.id"
)
_SQLITE = "UPDATE store_subject SET " + ", ".join(f"{name} = {name} + %s" for name in COUNTERS) + " WHERE id = %s"


def lock(subject_ids: Iterable[int]) -> None:
    """Lock subjects until the transaction ends. SQLite's write transaction has locked everything already."""
    ids = sorted(set(subject_ids))
    if ids and connection.vendor == "postgresql":
        condition, parameters = id_list("id", ids)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM store_subject WHERE {condition} ORDER BY id FOR UPDATE", parameters)


class Moves:
    """What a transaction adds to the counters, subject by subject."""

    def __init__(self) -> None:
        self._by_subject: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, subject_id: int, **amounts: int) -> None:
        """Add amounts, which may be negative, to named counters."""
        self._by_subject[subject_id].update(amounts)

    def add_each(self, subject_ids: Sequence[int], **amounts: int | Column) -> None:
        """Add to named counters for many items, each with its subject: the same amount for all, or one for each."""
        for name, given in amounts.items():
            alike = given.value if isinstance(given, Same) else given
            for key, amount in zip(subject_ids, repeat(alike) if isinstance(alike, int) else alike, strict=False):
                self._by_subject[key][name] += amount

    def apply(self) -> None:
        """Write the sums. The subjects must be locked."""
        moved = {key: sums for key, sums in sorted(self._by_subject.items()) if any(sums.values())}
        if not moved:
            return
        with connection.cursor() as cursor:
            if len(moved) == 1:
                [(key, sums)] = moved.items()
                moving = {name: number for name, number in sums.items() if number}
                cursor.execute(_one_subject(tuple(moving)), [*moving.values(), key])
            elif connection.vendor == "postgresql":
                columns = [[sums[name] for sums in moved.values()] for name in COUNTERS]
                cursor.execute(_POSTGRESQL, [list(moved), *columns])
            else:
                cursor.executemany(_SQLITE, [[*(sums[name] for name in COUNTERS), key] for key, sums in moved.items()])


@functools.cache
def _one_subject(names: tuple[str, ...]) -> str:
    """Return the UPDATE of one subject: most of what agents write is of one user."""
    unknown = set(names) - set(COUNTERS)
    if unknown:
        raise ValueError(f"no such counters: {unknown}")
    return f"UPDATE store_subject SET {', '.join(f'{name} = {name} + %s' for name in names)} WHERE id = %s"
