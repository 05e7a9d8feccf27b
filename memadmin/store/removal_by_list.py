"""The door out for erasures of thousands: rows that a list in the database names leave by one statement, without passing through here.

Invariant: as in `removal`. What is held, for whatever reason, and what belongs to another user by now, stays for `removal.remove_erased`,
which asks of each why. Counters and pins move in the same transaction, and the users are locked, so that no hold is placed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, models, transaction

from memadmin.store import counters
from memadmin.store.bulk import uid_list
from memadmin.store.models import HistoryEntry, ItemType, LongTermMemory, WorkingMemory


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of a table that a list names: a SELECT of (key, subject_id)."""

    sql: str
    params: Sequence[Any]


RemoveListed = Callable[[Listed], int]

_COUNTED: dict[ItemType, tuple[type[models.Model], str, tuple[str, str] | None]] = {  # its counter, and one that adds up a column
    ItemType.WORKING: (WorkingMemory, "working", ("messages", "message_count")),
    ItemType.LONG_TERM: (LongTermMemory, "long_term", ("tokens", "tokens")),
    ItemType.HISTORY: (HistoryEntry, "history", None),
}


def remover_of(item_type: ItemType) -> RemoveListed:
    """Return what removes listed memories of a type because they are erased, and says how many went."""
    return partial(_remove, item_type)


def remover_of_links(model: type[models.Model]) -> RemoveListed:
    """Return what removes listed rows that hang on memories and that nothing counts, such as links between them."""

    def remove(listed: Listed) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE id IN (SELECT key FROM ({listed.sql}) AS l)", listed.params)
            return int(cursor.rowcount)

    return remove


@transaction.atomic
def _remove(item_type: ItemType, listed: Listed) -> int:
    model, counter, sums = _COUNTED[item_type]
    _lock_users(listed)
    gone, moves = list(_gone(model, listed, added=sums[1] if sums else "0")), counters.Moves()
    for subject, rows, added, pinned in gone:
        moves.add(subject, **{counter: -rows}, **({sums[0]: -added} if sums else {}))
        if item_type == ItemType.LONG_TERM:
            moves.add(subject, pinned_long_term=-len(pinned))
    moves.apply()
    _remove_pins([uid for *_, pinned in gone for uid in pinned])
    return sum(rows for _, rows, *_ in gone)


def _lock_users(listed: Listed) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT 1 FROM store_subject WHERE id IN (SELECT subject_id FROM ({listed.sql}) AS l) ORDER BY id FOR UPDATE",
                listed.params,
            )


def _gone(model: type[models.Model], listed: Listed, *, added: str) -> Iterable[tuple[int, int, int, list[UUID]]]:
    """Delete, and return for each user: how many went, the sum of a column over them, and the uids of those that were pinned."""
    pinned = "pinned" if any(field.name == "pinned" for field in model._meta.fields) else "false"
    statement = _POSTGRESQL if connection.vendor == "postgresql" else _SQLITE
    with connection.cursor() as cursor:
        cursor.execute(statement.format(table=model._meta.db_table, listed=listed.sql, pinned=pinned, added=added), listed.params)
        rows: list[Any] = cursor.fetchall()
    return rows if connection.vendor == "postgresql" else _summed(rows)


def _summed(rows: Iterable[tuple[int, str, int, bool]]) -> Iterator[tuple[int, int, int, list[UUID]]]:
    by_user: dict[int, list[tuple[str, int, bool]]] = {}
    for subject, uid, added, pinned in rows:
        by_user.setdefault(subject, []).append((uid, added, pinned))
    for subject, gone in by_user.items():
        yield subject, len(gone), sum(added for _, added, _ in gone), [UUID(uid) for uid, _, pinned in gone if pinned]


def _remove_pins(uids: Sequence[UUID]) -> None:
    if not uids:
        return
    condition, parameters = uid_list("target_uid", uids)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM store_pin WHERE {condition}", parameters)


_POSTGRESQL = """
WITH gone AS (
    DELETE FROM {table} AS m USING ({listed}) AS l WHERE m.id = l.key AND m.subject_id = l.subject_id AND NOT m.held
    RETURNING m.subject_id, m.uid, {added} AS added, {pinned} AS pinned
)
SELECT subject_id, count(*), coalesce(sum(added), 0)::bigint, coalesce(array_agg(uid) FILTER (WHERE pinned), '{{}}')
FROM gone GROUP BY subject_id
"""
_SQLITE = "DELETE FROM {table} WHERE id IN (SELECT key FROM ({listed}) AS l) AND NOT held RETURNING subject_id, uid, {added}, {pinned}"
