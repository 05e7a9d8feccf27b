"""Remembering more than fits into memory, for the time of one import: a private SQLite file that is gone when closed."""

import sqlite3
from types import TracebackType
from typing import Self
from uuid import UUID

CACHE_KIB = 16 * 1024


class Scratch:
    """Counts of digests, and uids with the uids that replace them. Memory stays under some 20 MiB at any size."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = OFF",
            f"PRAGMA cache_size = -{CACHE_KIB}",
            "CREATE TABLE seen (digest BLOB PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID",
            "CREATE TABLE renamed (old BLOB PRIMARY KEY, new BLOB NOT NULL) WITHOUT ROWID",
            "BEGIN",
        ):
            self._connection.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    def count(self, digest: bytes) -> int:
        """Return how many times this digest has come by now, 1 for the first."""
        statement = "INSERT INTO seen VALUES (?, 1) ON CONFLICT DO UPDATE SET times = times + 1 RETURNING times"
        times: int = self._connection.execute(statement, (digest,)).fetchone()[0]
        return times

    def rename(self, old: UUID, new: UUID) -> None:
        self._connection.execute("INSERT OR REPLACE INTO renamed VALUES (?, ?)", (old.bytes, new.bytes))

    def renamed(self, old: UUID) -> UUID | None:
        row = self._connection.execute("SELECT new FROM renamed WHERE old = ?", (old.bytes,)).fetchone()
        return UUID(bytes=row[0]) if row else None
