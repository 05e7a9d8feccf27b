"""How a transaction waits for SQLite's one write lock: in short turns, so that all who wait have the same chance.

SQLite itself asks ever more rarely, in the end ten times a second. Whoever writes one transaction after the other then nearly always has
the lock again before those who wait ask next: of eight such writers some got nothing for the whole of their patience, and their act failed.
"""

import sqlite3
import time

from django.db import OperationalError
from django.db.backends.sqlite3 import base

TURN_MS = 150  # after which SQLite's pauses, which have grown to 25 ms by then, begin again at 1 ms


class DatabaseWrapper(base.DatabaseWrapper):
    def _start_transaction_under_autocommit(self) -> None:
        """Begin, and wait for no longer than the connection's `busy_timeout`. Raises OperationalError."""
        patience = int(self.connection.execute("PRAGMA busy_timeout").fetchone()[0])
        until = time.monotonic() + patience / 1000
        try:
            while not self._has_begun(left=round((until - time.monotonic()) * 1000)):
                pass
        finally:
            self._wait_for(patience)

    def _has_begun(self, *, left: int) -> bool:
        """Ask for one turn, and say whether it has begun. `left`: milliseconds of patience. Raises OperationalError after the last turn."""
        self._wait_for(max(min(TURN_MS, left), 0))
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # which the stubs do not have
        except OperationalError as error:
            if left <= TURN_MS or not _is_taken(error):
                raise
            return False
        return True

    def _wait_for(self, milliseconds: int) -> None:
        self.connection.execute(f"PRAGMA busy_timeout = {milliseconds:d}")


def _is_taken(error: OperationalError) -> bool:
    return getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
