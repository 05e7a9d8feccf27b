"""Locks on what may have no row yet: between those who make users and a fence that must not miss one being made, and between those who
look at other containers before they make one.

On PostgreSQL these are advisory locks until the end of the transaction, of buckets of ids: one of every id would fill the table of locks.
SQLite has one writer at a time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from django.db import connection

BUCKETS = 64
_OURS = 7_301  # the first key of our advisory locks
_CONTAINERS = BUCKETS  # the second one of the lock on containers


def announce(user_ids: Iterable[str]) -> None:
    """Say that rows for these ids are about to be made. Any number of writers may at once."""
    _lock("pg_advisory_xact_lock_shared", user_ids)


def shut_out(user_ids: Iterable[str]) -> None:
    """Wait until nobody is about to make a row for one of these ids, and let nobody begin to."""
    _lock("pg_advisory_xact_lock", user_ids)


def one_at_a_time() -> None:
    """Wait until nobody else is making or changing a container to which others matter."""
    _take("pg_advisory_xact_lock", [_CONTAINERS])


def _lock(function: str, user_ids: Iterable[str]) -> None:
    _take(function, sorted({zlib.crc32(name.encode("utf-8", "surrogatepass")) % BUCKETS for name in user_ids}))


def _take(function: str, keys: Sequence[int]) -> None:
    if keys and connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for key in keys:
                cursor.execute(f"SELECT {function}(%s, %s)", [_OURS, key])
