"""One moment of the database for statements that must agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

# Compiling a statement costs more than it saves; the sorts of a large user fit into this memory; one core is enough for housekeeping.
TUNING = ("SET LOCAL jit = off", "SET LOCAL work_mem = '64MB'", "SET LOCAL max_parallel_workers_per_gather = 0")


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Let every statement inside see the store as at the first of them.

    SQLite's write transaction does so by itself. Inside a transaction that has begun already it is that one's view.
    """
    begins_here = not connection.in_atomic_block
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                if begins_here:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                for statement in TUNING:
                    cursor.execute(statement)
        yield
