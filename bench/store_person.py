"""A store with one person of 100,000 memories and 500,000 history entries among others: what `bench.erasure` erases.

The database is made beside the one that DATABASE_URL names and is called `name_bench_person`. The person's user is number 1; 2,000
others have 25 memories each, with one entry of history. Users take turns, so that the rows of one lie scattered over the tables.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import psycopg
from psycopg import sql

from bench import store_1m
from bench.store_1m import User, say

SUFFIX = "bench_person"
MEMORIES, OTHERS, OF_OTHERS = 100_000, 2_000, 25
HISTORY, HISTORY_OF_OTHERS = 5, 1  # entries for each memory
PERSON = 1  # the key of their user


def ready(address: str, *, reuse: bool = False, share: float = 1.0) -> None:
    """Make and fill the database at this address; with `reuse` take the one that is there."""
    if reuse and store_1m.is_loaded(address):
        store_1m.migrate(address)
        return
    begun = time.perf_counter()
    store_1m.recreate(address)
    store_1m.migrate(address)
    with psycopg.connect(address, autocommit=True) as server:
        fill(server, users_of(share), now=datetime.now(UTC))
        server.execute("VACUUM ANALYZE")
        server.execute("CHECKPOINT")
        named = sql.Identifier(store_1m.name_of(address)), sql.Literal(store_1m.LOADED)
        server.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(*named))
    say(f"{store_1m.name_of(address)} is loaded after {time.perf_counter() - begun:.0f} s.")


def users_of(share: float) -> list[User]:
    return [User(round(MEMORIES * share)), *(User(OF_OTHERS) for _ in range(round(OTHERS * share)))]


def fill(server: psycopg.Connection, users: Sequence[User], *, now: datetime) -> None:
    store_1m.fill(server, users, now=now, texts=own_words)
    server.execute(_HISTORY, {"person": PERSON, "of_person": HISTORY, "of_others": HISTORY_OF_OTHERS})
    server.execute(
        "UPDATE store_subject AS s SET history = h.n "
        "FROM (SELECT subject_id, count(*) AS n FROM store_historyentry GROUP BY subject_id) AS h WHERE h.subject_id = s.id"
    )


def own_words(dice: random.Random) -> Iterator[str]:
    """Say what nobody else says five words of: else the memories of others are full of copies, which a person has to decide on."""
    while True:
        words = dice.choices(store_1m.WORDS, k=90)
        words[::3] = map(str, dice.choices(range(10**6), k=30))
        yield " ".join(words)


_HISTORY = """
INSERT INTO store_historyentry (uid, namespace, created_at, time_note, stored_at, revision, memory_uid, action, before, after, actor, tags,
    pinned, held, container_id, subject_id)
SELECT gen_random_uuid(), '{}', m.created_at, '', m.stored_at, 1, m.uid, CASE WHEN n = 1 THEN 'ADD' ELSE 'UPDATE' END,
    CASE WHEN n > 1 THEN jsonb_build_object('memory', m.text) END, jsonb_build_object('memory', m.text), 'command/bench', '{}',
    false, false, m.container_id, m.subject_id
FROM store_longtermmemory AS m
CROSS JOIN LATERAL generate_series(1, CASE WHEN m.subject_id = %(person)s THEN %(of_person)s ELSE %(of_others)s END) AS n
ORDER BY m.id
"""
