"""When the database says that a transaction is done: once it is on the disk, unless losing it in a crash of the machine loses nothing."""

from __future__ import annotations

from django.db import connection


def lose_at_worst() -> None:
    """Let the caller's transaction end before its log is on the disk.

    It is for batches that are saved with where the job is, and done again, and for notes of which nobody misses one.
    Whatever is committed after it reaches the disk after it. SQLite writes ahead without waiting for each transaction anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")
