"""The one door out: rows of people's memories leave the store here and nowhere else.

Invariant: a held row is never removed (an erasure looks at holds alone, since a restriction does not keep anything from it), and a pinned
one never by eviction. Every deleting statement tests both again, together with the revision and last access that the row had when it was
chosen; counters and archive copies move in the same transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, models, transaction
from django.db.models import QuerySet

from memadmin.store import counters
from memadmin.store.archive import ArchiveNote, content_at_sql, copies, packed_sql
from memadmin.store.bulk import id_list, insert_rows
from memadmin.store.lost import LOST
from memadmin.store.models import Archived, Container, HistoryEntry, ItemType, LongTermMemory, Pin, Session, Subject, WorkingMemory
from memadmin.store.staying import must_stay

__all__ = [
    "ArchiveNote",
    "ByHand",
    "Chosen",
    "Removed",
    "remove_archived",
    "remove_by_hand",
    "remove_containers",
    "remove_erased",
    "remove_erased_copies",
    "remove_history",
    "remove_long_term",
    "remove_sessions",
    "remove_users",
    "remove_working",
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Rows that were chosen to go: a SELECT of (id, subject_id, revision, last_accessed_at, reason).

    `last_accessed_at` is only looked at for long-term memories, `reason` only for the archive.
    """

    sql: str
    params: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """What has really gone. `working` and `messages` went with their sessions."""

    items: int
    tokens: int = 0
    working: int = 0
    messages: int = 0


@transaction.atomic
def remove_long_term(chosen: Chosen, *, archive: ArchiveNote | None) -> Removed:
    """Remove those of the chosen memories that are as they were when chosen, into the archive unless that is off."""
    if connection.vendor == "postgresql":
        return _remove_long_term_at_once(chosen, archive)
    if archive:
        reasons = _still_chosen(LongTermMemory, chosen)
        rows = LongTermMemory.objects.filter(id__in=reasons).values()
        _archive(copies(rows, ItemType.LONG_TERM, reasons=reasons, note=archive))
        gone = _delete("store_longtermmemory", reasons, returning=("subject_id", "tokens"), exempt=("pinned", "held"))
    else:
        with connection.cursor() as cursor:
            cursor.execute(_SQLITE_AT_ONCE.format(chosen=chosen.sql), chosen.params)
            gone = cursor.fetchall()
    moves = counters.Moves()
    for subject_id, tokens in gone:
        moves.add(subject_id, long_term=-1, tokens=-tokens, archived=int(archive is not None))
    moves.apply()
    return Removed(items=len(gone), tokens=sum(tokens for _, tokens in gone))


@transaction.atomic
def remove_sessions(chosen: Chosen, *, archive: ArchiveNote | None) -> Removed:
    """Remove sessions together with their working memories; one archive row holds a session and all of them."""
    reasons = _still_chosen(Session, chosen)
    if archive:
        working: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
        for row in WorkingMemory.objects.filter(session_id__in=reasons).order_by("sequence", "id").values():
            working[row["session_id"]].append(row)
        rows = Session.objects.filter(id__in=reasons).values()
        _archive(copies(rows, ItemType.SESSION, reasons=reasons, note=archive, working=working))
    gone = _delete("store_session", reasons, returning=("subject_id", "id"), exempt=("pinned", "held"))
    cascade = _delete("store_workingmemory", [key for _, key in gone], returning=("subject_id", "message_count"), column="session_id")
    moves = counters.Moves()
    for subject_id, _ in gone:
        moves.add(subject_id, sessions=-1, archived=int(archive is not None))
    for subject_id, messages in cascade:
        moves.add(subject_id, working=-1, messages=-messages)
    moves.apply()
    return Removed(items=len(gone), working=len(cascade), messages=sum(messages for _, messages in cascade))


@transaction.atomic
def remove_history(chosen: Chosen) -> Removed:
    """Remove history entries. They have no archive: history is itself the copy."""
    reasons = _still_chosen(HistoryEntry, chosen)
    gone = _delete("store_historyentry", reasons, returning=("subject_id", "id"), exempt=("pinned", "held"))
    moves = counters.Moves()
    for subject_id, _ in gone:
        moves.add(subject_id, history=-1)
    moves.apply()
    return Removed(items=len(gone))


@transaction.atomic
def remove_working(chosen: Chosen) -> Removed:
    """Remove working memories whose session is not in the store, if they are as they were when chosen. They have no archive.

    Held ones stay.
    """
    if connection.vendor == "postgresql":
        _lock_subjects(chosen)
        with connection.cursor() as cursor:
            cursor.execute(_WORKING_AT_ONCE.format(chosen=chosen.sql, lost=LOST), chosen.params)
            items, messages = cursor.fetchone()
        return Removed(items=int(items), messages=int(messages))
    gone = _delete("store_workingmemory", _still_chosen(WorkingMemory, chosen), returning=("subject_id", "message_count"), exempt=("held",))
    moves = counters.Moves()
    for subject_id, messages in gone:
        moves.add(subject_id, working=-1, messages=-messages)
    moves.apply()
    return Removed(items=len(gone), messages=sum(messages for _, messages in gone))


@transaction.atomic
def remove_archived(archived_ids: Sequence[int]) -> int:
    """Remove archived copies for good, but held ones, and return how many went."""
    return _remove_copies(archived_ids, exempt=("held",))


@transaction.atomic
def remove_erased_copies(archived_ids: Sequence[int]) -> int:
    """Remove archived copies because their user is erased, but those that a hold (not a restriction) binds; return how many went."""
    return _remove_copies(_may_be_erased(Archived, archived_ids))


def _remove_copies(archived_ids: Sequence[int], *, exempt: tuple[str, ...] = ()) -> int:
    counters.lock(Archived.objects.filter(id__in=archived_ids).values_list("subject_id", flat=True))
    gone = _delete("store_archived", archived_ids, returning=("subject_id", "id"), exempt=exempt)
    moves = counters.Moves()
    for subject_id, _ in gone:
        moves.add(subject_id, archived=-1)
    moves.apply()
    return len(gone)


@dataclass(frozen=True, slots=True)
class ByHand:
    """What went because somebody asked for it: how many, and how many of them were pinned."""

    items: int
    pinned: int = 0


_COUNTED: dict[ItemType, tuple[type[models.Model], dict[str, str]]] = {  # by counter: the column that it adds up; "" counts rows
    ItemType.SESSION: (Session, {"sessions": "", "pinned_sessions": "pinned"}),
    ItemType.WORKING: (WorkingMemory, {"working": "", "messages": "message_count"}),
    ItemType.LONG_TERM: (LongTermMemory, {"long_term": "", "tokens": "tokens", "pinned_long_term": "pinned"}),
    ItemType.HISTORY: (HistoryEntry, {"history": ""}),
}


@transaction.atomic
def remove_by_hand(item_type: ItemType, ids: Sequence[int]) -> ByHand:
    """Remove rows because somebody asked for them: pinned ones too, held ones never, and without a copy in the archive.

    The messages of a session stay, with the session's id; so do history and provenance.
    """
    return _remove_asked_for(item_type, _COUNTED[item_type][0]._default_manager.filter(id__in=ids, held=False))


@transaction.atomic
def remove_erased(item_type: ItemType, ids: Sequence[int]) -> int:
    """Remove rows because their user, or they themselves, are erased, but those that a hold binds; return how many went.

    A restriction does not keep them: who asked not to be used any more may still ask to be erased.
    """
    model, _ = _COUNTED[item_type]
    return _remove_asked_for(item_type, model._default_manager.filter(id__in=_may_be_erased(model, ids))).items


def _may_be_erased(model: type[models.Model], ids: Sequence[int]) -> list[int]:
    """Return the ids but those of rows that must stay. The subjects are locked, so that no hold is placed meanwhile."""
    rows = model._default_manager.filter(id__in=ids)
    counters.lock(rows.values_list("subject_id", flat=True))
    staying = set(rows.filter(must_stay(model)).values_list("id", flat=True))
    return [key for key in ids if key not in staying]


def _remove_asked_for(item_type: ItemType, rows: QuerySet[Any]) -> ByHand:
    model, counted = _COUNTED[item_type]
    counters.lock(rows.values_list("subject_id", flat=True))
    columns = [column for column in counted.values() if column]
    going = list(rows.order_by("id").select_for_update().values("id", "uid", "subject_id", *columns))
    if item_type == ItemType.SESSION:
        WorkingMemory.objects.filter(session_id__in=[row["id"] for row in going]).update(session_id=None)
    _delete(model._meta.db_table, [row["id"] for row in going], returning=("subject_id", "id"))
    pinned = [row for row in going if row.get("pinned")]
    Pin.objects.filter(target_uid__in=[row["uid"] for row in pinned])._raw_delete(connection.alias)
    moves = counters.Moves()
    for row in going:
        moves.add(row["subject_id"], **{name: -int(row[column]) if column else -1 for name, column in counted.items()})
    moves.apply()
    return ByHand(items=len(going), pinned=len(pinned))


@transaction.atomic
def remove_users(subject_ids: Sequence[int]) -> int:
    """Remove users on whom nothing hangs any more, and return how many. Those of whom anything is left stay."""
    counters.lock(subject_ids)
    wanted = set(Subject.objects.filter(id__in=subject_ids).values_list("id", flat=True))
    for relation in Subject._meta.get_fields(include_hidden=True):
        model: Any = relation.related_model
        if relation.auto_created and relation.one_to_many and wanted:
            rows = model._default_manager.filter(subject_id__in=wanted)
            wanted -= set(rows.order_by().values_list("subject_id", flat=True).distinct())
    return len(_delete("store_subject", sorted(wanted), returning=("id", "id")))


@transaction.atomic
def remove_containers(container_ids: Sequence[int]) -> int:
    """Remove containers on which nothing hangs any more, as those of drills; return how many went. Others are hidden instead."""
    wanted = set(Container.objects.filter(id__in=container_ids).values_list("id", flat=True))
    links: list[Any] = [link for link in Container._meta.get_fields(include_hidden=True) if link.auto_created and link.one_to_many]
    for column in [link.field for link in links if link.field.db_constraint]:
        rows = column.model._default_manager.filter(**{f"{column.attname}__in": wanted})
        wanted -= set(rows.order_by().values_list(column.attname, flat=True).distinct())
    return len(_delete("store_container", sorted(wanted), returning=("id", "id")))


# In the order of the key, as everybody locks them: others who write several rows meanwhile wait instead of meeting the batch half-way.
_AT_ONCE = """
WITH chosen AS MATERIALIZED (SELECT * FROM ({chosen}) AS unordered ORDER BY id),
gone AS (
    DELETE FROM store_longtermmemory AS m USING chosen AS c
    WHERE m.id = c.id AND NOT m.pinned AND NOT m.held
      AND m.revision = c.revision AND m.last_accessed_at IS NOT DISTINCT FROM c.last_accessed_at
    RETURNING {columns}
),
{copies}
sums AS (SELECT subject_id, count(*) AS n, sum(tokens) AS tokens FROM gone GROUP BY subject_id),
moved AS (
    UPDATE store_subject AS s SET long_term = s.long_term - sums.n, tokens = s.tokens - sums.tokens{archived}
    FROM sums{new_copies} WHERE s.id = sums.subject_id
)
SELECT coalesce(sum(n), 0), coalesce(sum(tokens), 0) FROM sums
"""
_COPIES = """
copies AS (
    INSERT INTO store_archived AS a
        (uid, container_id, subject_id, item_type, owner, payload, content_at, reason, run_number, archived_at, expires_at)
    SELECT uid, container_id, subject_id, 'long-term', owner, payload, content_at, reason, %s, %s, %s FROM gone
    ON CONFLICT (uid, subject_id) DO UPDATE SET owner = excluded.owner, payload = excluded.payload, content_at = excluded.content_at,
        reason = excluded.reason, run_number = excluded.run_number, archived_at = excluded.archived_at, expires_at = excluded.expires_at
    RETURNING subject_id, (xmax = 0)::integer AS is_new
),
added AS (SELECT subject_id, sum(is_new) AS n FROM copies GROUP BY subject_id),
"""
_SQLITE_AT_ONCE = """
WITH chosen AS MATERIALIZED ({chosen})
DELETE FROM store_longtermmemory WHERE id IN (
    SELECT m.id FROM chosen AS c CROSS JOIN store_longtermmemory AS m ON m.id = c.id
    WHERE NOT m.pinned AND NOT m.held AND m.revision = c.revision AND m.last_accessed_at IS c.last_accessed_at
) RETURNING subject_id, tokens
"""


_WORKING_AT_ONCE = """
WITH chosen AS MATERIALIZED ({chosen}),
gone AS (
    DELETE FROM store_workingmemory AS m USING chosen AS c WHERE m.id = c.id AND m.revision = c.revision AND NOT m.held AND {lost}
    RETURNING m.subject_id, m.message_count
),
sums AS (SELECT subject_id, count(*) AS n, sum(message_count) AS messages FROM gone GROUP BY subject_id),
moved AS (
    UPDATE store_subject AS s SET working = s.working - sums.n, messages = s.messages - sums.messages
    FROM sums WHERE s.id = sums.subject_id
)
SELECT coalesce(sum(n), 0), coalesce(sum(messages), 0) FROM sums
"""


def _remove_long_term_at_once(chosen: Chosen, archive: ArchiveNote | None) -> Removed:
    """The path of large runs: one statement copies and deletes the batch and moves the counters, no row passes through Python."""
    _lock_subjects(chosen)
    columns, how, parameters = "m.subject_id, m.tokens", {"copies": "", "archived": "", "new_copies": ""}, [*chosen.params]
    if archive is not None:
        columns += ", m.uid, m.container_id, m.owner, c.reason"
        columns += f", {packed_sql(LongTermMemory, 'm')} AS payload, {content_at_sql('m')} AS content_at"
        joined = " JOIN added ON added.subject_id = sums.subject_id"
        how = {"copies": _COPIES, "archived": ", archived = s.archived + added.n", "new_copies": joined}
        parameters += [archive.now, archive.run_number, archive.now, archive.expires_at]
    with connection.cursor() as cursor:
        cursor.execute(_AT_ONCE.format(chosen=chosen.sql, columns=columns, **how), parameters)
        items, tokens = cursor.fetchone()
    return Removed(items=int(items), tokens=int(tokens))


def _lock_subjects(chosen: Chosen) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT 1 FROM store_subject WHERE id IN (SELECT subject_id FROM ({chosen.sql}) AS c) ORDER BY id FOR UPDATE",
                chosen.params,
            )


def _still_chosen(model: type[models.Model], chosen: Chosen) -> dict[int, str]:
    """Lock the subjects and those rows that are still exposed and unchanged; return their ids with the reason."""
    _lock_subjects(chosen)
    same = "IS NOT DISTINCT FROM" if connection.vendor == "postgresql" else "IS"
    tests = ["m.revision = c.revision", "NOT m.held", LOST if model is WorkingMemory else "NOT m.pinned"]
    if model is LongTermMemory:
        tests.append(f"m.last_accessed_at {same} c.last_accessed_at")
    lock = " FOR UPDATE OF m" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT m.id, c.reason FROM ({chosen.sql}) AS c JOIN {model._meta.db_table} AS m ON m.id = c.id "
            f"WHERE {' AND '.join(tests)} ORDER BY m.id{lock}",
            chosen.params,
        )
        return dict(cursor.fetchall())


def _archive(rows: Sequence[Mapping[str, Any]]) -> None:
    """Add archive copies. An older copy of the same item gives way: its uid stands for one thing."""
    stale = list(Archived.objects.filter(uid__in=[row["uid"] for row in rows]).values_list("id", flat=True))
    if stale:
        remove_archived(stale)
    insert_rows(Archived, rows)


def _delete(
    table: str, ids: Iterable[int], *, returning: tuple[str, str], column: str = "id", exempt: tuple[str, ...] = ()
) -> list[tuple[int, int]]:
    condition, parameters = id_list(column, list(ids))
    tests = "".join(f" AND NOT {name}" for name in exempt)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table} WHERE {condition}{tests} RETURNING {', '.join(returning)}", parameters)
        rows: list[tuple[int, int]] = cursor.fetchall()
    return rows
