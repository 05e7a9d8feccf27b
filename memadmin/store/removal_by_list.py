"""The door out for erasures of thousands: rows that a list in the database names leave by one statement, without passing through here.

Invariant: as in `removal`. What is held, for whatever reason, and what belongs to another user by now, stays for `removal.remove_erased`,
which asks of each why. Counters and pins move in the same transaction, and the users are locked, so that no hold is placed meanwhile.

Comparing a table with a list costs a third of deleting. A list of all that its users had stored by a moment is not compared row by row:
what they had stored by then, between its keys, goes; should more go than it names, all of that is taken back and it is compared after all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, models, transaction

from memadmin.store import counters
from memadmin.store.bulk import id_list, uid_list
from memadmin.store.models import HistoryEntry, ItemType, LongTermMemory, Pin, Session, WorkingMemory
from memadmin.store.staying import may_bind

GAPS = 4  # rows of others for each of a list, up to which a table is gone through; to find one row by its key costs as much as some


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of a table that a list names, of these users and between these keys: `sql` is a SELECT of at most `length` (key, subject_id).

    `stored_by`: all that these users had stored by then is to go, so that the list names every such row between its keys, `length` in all.
    """

    sql: str
    params: Sequence[Any]
    low: int
    high: int
    users: Sequence[int]
    length: int
    stored_by: datetime | None = None

    @property
    def is_dense(self) -> bool:
        """Whether it costs least to go through all of the table between the lowest and the highest key."""
        return self.high - self.low < GAPS * self.length


RemoveListed = Callable[[Listed], int]


class _NotOnList(Exception):
    """More went than a list names that was said to be of all rows."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """The counters of a type: of its rows, of those that are pinned, and (counter, column) of one that adds up a column."""

    model: type[models.Model]
    rows: str
    pinned: str | None = None
    sum_of: tuple[str, str] | None = None


_COUNTED = {
    ItemType.SESSION: _Counted(Session, "sessions", pinned="pinned_sessions"),
    ItemType.WORKING: _Counted(WorkingMemory, "working", sum_of=("messages", "message_count")),
    ItemType.LONG_TERM: _Counted(LongTermMemory, "long_term", pinned="pinned_long_term", sum_of=("tokens", "tokens")),
    ItemType.HISTORY: _Counted(HistoryEntry, "history"),
}


@dataclass(frozen=True, slots=True)
class _Gone:
    """What went of one user: rows, pinned ones among them, the sum of a column, and the uids of pinned ones if the user has pins at all."""

    user: int
    rows: int
    pinned: int = 0
    added: int = 0
    uids: Sequence[UUID] = ()


def remover_of(item_type: ItemType) -> RemoveListed:
    """Return what removes listed memories or sessions because they are erased, and says how many went.

    The messages of a session are no part of it here: what is left of them stays, without it.
    """
    return partial(_compared_if_need_be, partial(_remove, item_type))


def remover_of_links(model: type[models.Model]) -> RemoveListed:
    """Return what removes listed rows that hang on memories and that nothing counts, such as links between them.

    Where a hold may bind one of them all are spared here, to be asked for one by one.
    """

    def remove(listed: Listed) -> int:
        counters.lock(listed.users)
        if may_bind(listed.users):
            return 0
        named = f"id BETWEEN %s AND %s AND id IN (SELECT key FROM ({listed.sql}) AS l)"
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE {named}", [listed.low, listed.high, *listed.params])
            return int(cursor.rowcount)

    return remove


def _compared_if_need_be(remove: RemoveListed, listed: Listed) -> int:
    try:
        return remove(listed)
    except _NotOnList:
        return remove(replace(listed, stored_by=None))


@transaction.atomic
def _remove(item_type: ItemType, listed: Listed) -> int:
    counted, moves = _COUNTED[item_type], counters.Moves()
    counters.lock(listed.users)
    if item_type == ItemType.SESSION:
        _let_messages_stay(listed)
    gone = list(_deleted(counted, listed))
    for part in gone:
        moves.add(part.user, **{counted.rows: -part.rows})
        if counted.pinned:
            moves.add(part.user, **{counted.pinned: -part.pinned})
        if counted.sum_of:
            moves.add(part.user, **{counted.sum_of[0]: -part.added})
    moves.apply()
    _remove_pins([uid for part in gone for uid in part.uids])
    number = sum(part.rows for part in gone)
    if listed.stored_by is not None and number > listed.length:
        raise _NotOnList
    return number


def _let_messages_stay(listed: Listed) -> None:
    going = f"SELECT s.id FROM store_session AS s JOIN ({listed.sql}) AS l ON s.id = l.key AND s.subject_id = l.subject_id WHERE NOT s.held"
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE store_workingmemory SET session_id = NULL WHERE session_id IN ({going})", listed.params)


def _deleted(counted: _Counted, listed: Listed) -> Iterable[_Gone]:
    """Delete, and return by user what went. To give out rows costs as much as to delete them: where their number is enough, none are."""
    has_pins = counted.pinned is not None and Pin.objects.filter(subject_id__in=listed.users).exists()
    if len(listed.users) == 1 and not (counted.pinned or counted.sum_of):
        with connection.cursor() as cursor:
            cursor.execute(*_deletion(counted, listed, returning=""))
            return [_Gone(listed.users[0], int(cursor.rowcount))]
    pinned = "pinned" if any(field.name == "pinned" for field in counted.model._meta.fields) else "false"
    added = counted.sum_of[1] if counted.sum_of else "0"
    given = f"RETURNING m.subject_id, {pinned} AS pinned, {added} AS added, {'uid' if has_pins else 'NULL'} AS uid"
    statement, parameters = _deletion(counted, listed, returning=given)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_SUMMED.format(deletion=statement), parameters)
            return [_Gone(*row) for row in cursor.fetchall()]
        cursor.execute(statement.replace("RETURNING m.", "RETURNING "), parameters)
        return list(_summed(cursor.fetchall()))


def _deletion(counted: _Counted, listed: Listed, *, returning: str) -> tuple[str, list[Any]]:
    """Return the statement. Whose users are one need not be compared row by row, and a list without gaps is gone through with the table."""
    table, (of_users, users) = counted.model._meta.db_table, id_list("m.subject_id", listed.users)
    within, bounds = f"m.id BETWEEN %s AND %s AND {of_users} AND NOT m.held", [listed.low, listed.high, *users]
    if listed.stored_by is not None:
        stored_by = connection.ops.adapt_datetimefield_value(listed.stored_by)
        return f"DELETE FROM {table} AS m WHERE {within} AND m.stored_at <= %s {returning}", [*bounds, stored_by]
    key, of_list = ("m.id", "key") if len(listed.users) == 1 else ("(m.id, m.subject_id)", "key, subject_id")
    named = f"{key} IN (SELECT {of_list} FROM ({listed.sql}) AS l)"
    if listed.is_dense:
        named = f"({named}) IS TRUE"  # PostgreSQL does not join by this, but looks each row up in a table of hashes
    return f"DELETE FROM {table} AS m WHERE {within} AND {named} {returning}", [*bounds, *listed.params]


_SUMMED = """
WITH gone AS ({deletion})
SELECT subject_id, count(*), count(*) FILTER (WHERE pinned), coalesce(sum(added), 0)::bigint,
    coalesce(array_agg(uid::uuid) FILTER (WHERE pinned AND uid IS NOT NULL), '{{}}')
FROM gone GROUP BY subject_id
"""


def _summed(rows: Iterable[tuple[int, bool, int, str | None]]) -> Iterator[_Gone]:
    by_user: dict[int, list[tuple[bool, int, str | None]]] = {}
    for user, pinned, added, uid in rows:
        by_user.setdefault(user, []).append((pinned, added, uid))
    for user, gone in by_user.items():
        uids = [UUID(uid) for pinned, _, uid in gone if pinned and uid]
        yield _Gone(user, len(gone), sum(bool(pinned) for pinned, *_ in gone), sum(added for _, added, _ in gone), uids)


def _remove_pins(uids: Sequence[UUID]) -> None:
    if not uids:
        return
    condition, parameters = uid_list("target_uid", uids)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM store_pin WHERE {condition}", parameters)
