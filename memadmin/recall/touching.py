"""Notes that agents have recalled memories: one hit, and one event, for each memory and invocation, or request where none is named.

A note may be lost, as it is only worth something beside many others; a read is never slower or refused because of one. So rows that
somebody else holds are passed over, a database that refuses is only mentioned in the log, and nobody waits until a note is on the disk:
beside a run that deletes, that is most of what a read would wait for.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DatabaseError, connection, transaction

from memadmin.store.bulk import id_list
from memadmin.store.durability import lose_at_worst

WAIT_MS = 250  # for SQLite's one write lock
MOST_HITS = 2**31 - 1

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Occasion:
    """During what an agent recalled: its own names of the session and of the invocation (its turn). None where it does not say."""

    session: str | None = None
    invocation: str | None = None


NOT_SAID = Occasion()


def touch(memory_ids: Iterable[int], *, now: datetime, occasion: Occasion = NOT_SAID) -> int:
    """Count one recall of each of the memories and return how many were noted. Never fails, and waits for nobody.

    A memory that this invocation has recalled before is not counted again.
    """
    ids = sorted(set(memory_ids))
    if not ids:
        return 0
    is_alone = not connection.in_atomic_block  # else what the caller writes would be lost with it
    try:
        with _impatient(), transaction.atomic():
            if is_alone:
                lose_at_worst()
            return _noted(ids, now=now, occasion=occasion)
    except DatabaseError as error:
        logger.warning("recalls of %s memories were not noted: %s", len(ids), type(error).__name__)
        return 0


# A request that took long must not turn back the time of a later one.
_EVENT = "INSERT INTO store_recallevent (container_id, subject_id, memory_uid, fact_key, session_ref, invocation_id, at)"
_POSTGRESQL = f"""
WITH free AS (
    SELECT id, uid, container_id, subject_id, fact_key FROM store_longtermmemory
    WHERE {{those}} AND hits < {MOST_HITS} FOR UPDATE SKIP LOCKED
),
noted AS (
    {_EVENT} SELECT container_id, subject_id, uid, fact_key, %s::text, %s::text, %s::timestamptz FROM free
    ON CONFLICT DO NOTHING RETURNING memory_uid, subject_id
)
UPDATE store_longtermmemory AS m
SET hits = m.hits + 1, last_accessed_at = GREATEST(COALESCE(m.last_accessed_at, %s::timestamptz), %s::timestamptz)
FROM free JOIN noted ON noted.memory_uid = free.uid AND noted.subject_id = free.subject_id WHERE m.id = free.id
"""
_SQLITE_EVENT = f"{_EVENT} SELECT container_id, subject_id, uid, fact_key, %s, %s, %s FROM store_longtermmemory WHERE {{those}}"
_SQLITE_HIT = "UPDATE store_longtermmemory SET hits = hits + 1, last_accessed_at = MAX(COALESCE(last_accessed_at, %s), %s) WHERE {those}"
_COUNTED_ALREADY = "SELECT 1 FROM store_recallevent e WHERE e.memory_uid = m.uid AND e.invocation_id = %s AND e.subject_id = m.subject_id"


def _noted(ids: Sequence[int], *, now: datetime, occasion: Occasion) -> int:
    """Write the events and count the hits that they stand for, in one statement where the database can."""
    at = connection.ops.adapt_datetimefield_value(now)
    those, parameters = id_list("id", ids)
    if connection.vendor == "postgresql":
        return _run(_POSTGRESQL.format(those=those), [*parameters, occasion.session, occasion.invocation, at, at, at])
    those, parameters = id_list("id", _countable(ids, occasion))
    _run(_SQLITE_EVENT.format(those=those), [occasion.session, occasion.invocation, at, *parameters])
    return _run(_SQLITE_HIT.format(those=those), [at, at, *parameters])


def _countable(ids: Sequence[int], occasion: Occasion) -> list[int]:
    """Leave out what is full or counted already. Nobody writes meanwhile: SQLite's transaction has the only write lock."""
    those, parameters = id_list("m.id", ids)
    fresh = "" if occasion.invocation is None else f" AND NOT EXISTS ({_COUNTED_ALREADY})"
    named = [] if occasion.invocation is None else [occasion.invocation]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT m.id FROM store_longtermmemory m WHERE {those} AND m.hits < {MOST_HITS}{fresh}", [*parameters, *named])
        return [key for (key,) in cursor.fetchall()]


def _run(sql: str, parameters: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return int(cursor.rowcount)


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """On SQLite, wait for other writers a moment only."""
    if connection.vendor != "sqlite":
        yield
        return
    patience = _busy_timeout()
    _set_busy_timeout(WAIT_MS)
    try:
        yield
    finally:
        _set_busy_timeout(patience)


def _busy_timeout() -> int:
    with connection.cursor() as cursor:
        return int(cursor.execute("PRAGMA busy_timeout").fetchone()[0])


def _set_busy_timeout(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {milliseconds:d}")
