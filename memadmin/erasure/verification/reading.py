"""How the look reads on PostgreSQL: the database itself refuses it to write, and uses all its processors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def reading_only() -> Iterator[None]:
    """Nothing is written inside. On SQLite a transaction would keep writers waiting, so there is none.

    The planner takes it that of three rows one has what is looked for, and that many are dear to hand over from one process to another.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0")
        yield
