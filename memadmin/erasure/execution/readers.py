"""Who may still see rows that were deleted: while they may, PostgreSQL keeps these rows and what leads to them, whatever is vacuumed.

SQLite says it by itself: its write-ahead log cannot be cut while somebody reads in it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from memadmin.jobs.registry import Waits

SHORT, PAUSE = 5.0, 0.1  # seconds: for so long a short transaction is waited for here

# All of them are kept from: sessions of this database, standbys (which belong to none), slots, and what was prepared and not committed.
# A VACUUM keeps nobody from anything. Ages, since the numbers of transactions begin anew after four thousand million.
_READERS = """
SELECT a.pid, a.application_name, a.xact_start FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND (a.datname = current_database() OR a.datname IS NULL)
AND a.pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum) AND GREATEST(age(a.backend_xmin), age(a.backend_xid)) > age(%(before)s::xid)
UNION ALL
SELECT s.active_pid, 'slot ' || s.slot_name, NULL FROM pg_replication_slots s WHERE age(s.xmin) > age(%(before)s::xid)
UNION ALL
SELECT NULL, 'prepared transaction', p.prepared FROM pg_prepared_xacts p
WHERE p.database = current_database() AND age(p.transaction) > age(%(before)s::xid)
ORDER BY 3 NULLS FIRST, 1
"""


class NotForgotten(Exception):
    """The database could not be made to forget."""


class HeldOpen(NotForgotten, Waits):
    """Somebody has been reading since before rows went, as a backup does: the database keeps them until that ends, which is waited for."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A connection that may see what was deleted. `pid` and `since` are None where the database does not say."""

    pid: int | None
    name: str
    since: datetime | None


def horizon() -> str:
    """Return the number of the transaction from which on nobody sees what is deleted by now; "" on SQLite. Outside of a transaction."""
    if connection.vendor == "sqlite":
        return ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (pg_snapshot_xmax(pg_current_snapshot())::text::bigint %% 4294967296)::text", [])
        return str(cursor.fetchone()[0])


def readers(before: str) -> list[Reader]:
    """Return who may still see what was deleted before this horizon, the longest first. Nobody is known on SQLite."""
    if not before:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_READERS, {"before": before})
        return [Reader(pid, name or "", since) for pid, name, since in cursor.fetchall()]


def wait_for(before: str) -> None:
    """Wait a moment for those who may see what was deleted before this horizon. Raises HeldOpen where one stays."""
    until = time.monotonic() + SHORT
    while found := readers(before):
        if time.monotonic() >= until:
            raise HeldOpen(f"{in_words(found)} The database keeps what was deleted until that ends.")
        time.sleep(PAUSE)


def in_words(found: list[Reader]) -> str:
    """Say who reads, for people: "Process 4711 (pg_dump) has been reading since 2026-03-01 04:00 UTC."."""
    first = found[0]
    who = f"Process {first.pid}" if first.pid is not None else "Somebody"
    name = f" ({first.name})" if first.name else ""
    since = f" since {first.since:%Y-%m-%d %H:%M} UTC" if first.since else ""
    others = f", and {len(found) - 1:,} more" if len(found) > 1 else ""
    return f"{who}{name} has been reading{since}{others}."
