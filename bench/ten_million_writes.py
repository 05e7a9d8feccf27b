"""What the indexes for the lowest scores cost those who write: COPY of new memories and touches, with them and without.

On a copy of the store, which loses the indexes: the rounds without them come last, so that the two do not take turns.
"""

from __future__ import annotations

import statistics
import time
from random import Random

from django.db import connection

from bench.ten_million_setup import EVERYONE, run_sql

INDEXES = (
    "longterm_container_read",
    "longterm_container_static",
    "longterm_subject_read",
    "longterm_subject_unread",
    "longterm_subject_static",
)
ROWS, TOUCHED, ROUNDS = 20_000, 1_000, 5
COLUMNS = (
    "namespace, created_at, time_note, stored_at, revision, text, strategy_type, tags, metadata, tokens, tokens_method, importance, "
    "importance_source, hits, last_accessed_at, last_updated_at, pinned, held, container_id, subject_id"
)


def measure() -> dict[str, float]:
    """Return how many times as long COPY and touches take with the indexes as without."""
    lines, dice = _lines(), Random(3)
    with_them = _taken(lines, dice)
    run_sql(f"DROP INDEX {', '.join(INDEXES)}")
    without = _taken(lines, dice)
    return {name: with_them[name] / without[name] for name in with_them}


def _lines() -> bytes:
    some = f"SELECT gen_random_uuid(), {COLUMNS} FROM store_longtermmemory WHERE container_id = {EVERYONE} ORDER BY id DESC LIMIT {ROWS}"
    with connection.cursor() as cursor, cursor.copy(f"COPY ({some}) TO STDOUT") as copy:
        return b"".join(bytes(part) for part in copy)


def _taken(lines: bytes, dice: Random) -> dict[str, float]:
    [[highest]] = run_sql("SELECT max(id) FROM store_longtermmemory")
    copies, touches = [], []
    run_sql("CHECKPOINT")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        with connection.cursor() as cursor, cursor.copy(f"COPY store_longtermmemory (uid, {COLUMNS}) FROM STDIN") as copy:
            copy.write(lines)
        copies.append(time.perf_counter() - begun)
        run_sql(f"DELETE FROM store_longtermmemory WHERE id > {highest}")
        ids = ", ".join(str(dice.randrange(highest)) for _ in range(TOUCHED))
        begun = time.perf_counter()
        run_sql(f"UPDATE store_longtermmemory SET hits = hits + 1, last_accessed_at = now() WHERE id IN ({ids})")
        touches.append(time.perf_counter() - begun)
    return {"COPY": statistics.median(copies), "touch": statistics.median(touches)}
