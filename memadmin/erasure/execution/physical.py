"""Let the database forget what was deleted: pages of the file, the write-ahead log, dead rows in indexes, the planner's statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection, transaction

from memadmin.erasure.execution import readers
from memadmin.erasure.execution.readers import HeldOpen, NotForgotten

LIVE, INDEXES, PAGES = "L1", "L2", "L3"


def promised() -> str:
    """Return how far `forget` reaches on this database."""
    return PAGES if connection.vendor == "sqlite" else INDEXES


def forget(tables: Iterable[str], *, deleted_before: str | None = None) -> str:
    """Clean up after deletions in these tables, outside of any transaction, and return how far that reaches.

    SQLite (L3) overwrites pages as it deletes (secure_delete); its write-ahead log is written back and cut. On PostgreSQL (L2) dead rows
    leave tables and indexes, and the statistics are made anew; pages and the log keep remnants until they are used again.
    `deleted_before` is the `readers.horizon` since which nothing of it was deleted; without one that is now.
    Raises HeldOpen where somebody reads what was before, NotForgotten.
    """
    if connection.vendor == "sqlite":
        _cut_journal()
        return promised()
    readers.wait_for(readers.horizon() if deleted_before is None else deleted_before)
    with connection.cursor() as cursor:
        for table in sorted(set(tables)):
            # Of a table in which few pages have dead rows, VACUUM by itself passes the indexes over, and they keep the ids and words.
            cursor.execute(f"VACUUM (ANALYZE, INDEX_CLEANUP ON) {connection.ops.quote_name(table)}")
            _drop_statistics_of_nothing(cursor, table)
    return promised()


def _drop_statistics_of_nothing(cursor: Any, table: str) -> None:
    """ANALYZE leaves the old values of a table that has no rows any more. Giving a column its own type again drops them.

    The lock that no row may be added under is waited for, not long: then the execution tries again.
    """
    name = connection.ops.quote_name(table)
    with transaction.atomic():
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        cursor.execute(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_stats s ON s.attname = a.attname "
            "WHERE s.schemaname = current_schema() AND s.tablename = %s AND a.attrelid = %s::regclass AND a.atttypid IN "
            "('text'::regtype, 'varchar'::regtype, 'jsonb'::regtype, 'bytea'::regtype) "
            f"AND NOT EXISTS (SELECT 1 FROM {name}) ORDER BY a.attnum",
            [table, name],
        )
        for column, declared in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {name} ALTER COLUMN {connection.ops.quote_name(column)} TYPE {declared}")


def _cut_journal() -> None:
    with connection.cursor() as cursor:
        if not cursor.execute("PRAGMA secure_delete").fetchone()[0]:
            raise NotForgotten("secure_delete is off on this connection.")
        busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise HeldOpen("Somebody reads in the write-ahead log. The database keeps what was deleted until that ends.")
