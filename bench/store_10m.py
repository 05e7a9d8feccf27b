"""A store of ten million: what `bench.ten_million` measures on, in a PostgreSQL database of its own.

    DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.store_10m [10k|1M|10M]

The database is made beside the one that DATABASE_URL names and is called `name_bench_10m` (10M), `name_bench_10m_1m` or
`name_bench_10m_10k`. It has two containers:

*everyone*: all the memories that the size says. At 10M they belong to 100,000 users: 1,000 of them have 121 to 140 memories, the others 70
to 119. A smaller store has as many users over 120, so that a preview has as many victims, and the fewer others.

*crowded*, besides: 5 users of 100,000 memories, 2,000 of 500 at 10M; a tenth of that at 1M, with users of 100,000 all the same.

Users take turns, so that the rows of one lie scattered over the table. One memory in a hundred is pinned, two in five were never recalled.
The rows come by COPY into tables without secondary indexes, which are built afterwards as the migrations describe them.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
from psycopg import sql

from bench import store_1m
from bench.store_1m import COLUMNS, PER_SESSION, SPAN, User, copy_in, new_uid, say

EVERYONE, CROWDED = 1, 2
SIZES = {"10k": 10_000, "1M": 1_000_000, "10M": 10_000_000}
CAP, OVER = 120, 1_000  # memories; users of `everyone` who have more
HEAVY = 100_000
FULL = 500
BATCH = 50_000  # rows a transaction
FACTS = 40_000  # different memories; what differs from row to row is made for each
BUILDING = ("SET maintenance_work_mem = '1GB'", "SET synchronous_commit = off")


@dataclass
class Crowd:
    container: int
    users: list[User]


def address_of(size: str) -> str:
    return store_1m.address_beside("bench_10m" if size == "10M" else f"bench_10m_{size.lower()}")


def ready(size: str, *, reuse: bool = False) -> str:
    """Make and fill the database of this size, with `reuse` take the one that is there, and return its address."""
    address, begun = address_of(size), time.perf_counter()
    if reuse and store_1m.is_loaded(address):
        store_1m.migrate(address)
        return address
    store_1m.recreate(address)
    store_1m.migrate(address)
    with psycopg.connect(address, autocommit=True) as server:
        load(server, crowds(SIZES[size]), now=datetime.now(UTC))
        server.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(*_named(address)))
    say(f"{store_1m.name_of(address)} is loaded after {time.perf_counter() - begun:.0f} s.")
    return address


def crowds(memories: int) -> list[Crowd]:
    dice = random.Random(memories)
    over = [CAP + dice.randint(1, 20) for _ in range(min(OVER, memories // 1_000))]
    others, left = max(1, memories // 100 - len(over)), memories - sum(over)
    if others * 70 > left:  # where the crowded ones leave too little
        others = left // 100
    sizes = [min(CAP - 1, left // others + dice.randint(-25, 20)) for _ in range(others)]
    sizes = _to_sum(sizes, left)
    everyone = [User(size) for size in [*over, *sizes]]
    share = memories / SIZES["10M"]
    heavy = [User(HEAVY) for _ in range(5 if memories >= SIZES["1M"] else 0)]
    return [Crowd(EVERYONE, everyone), Crowd(CROWDED, heavy + [User(FULL) for _ in range(max(2, round(2_000 * share)))])]


def _to_sum(sizes: list[int], total: int) -> list[int]:
    """Spread what is missing or too much over the users."""
    at, missing = 0, total - sum(sizes)
    while missing:
        step = 1 if missing > 0 else -1
        if 1 <= sizes[at] + step < CAP:
            sizes[at], missing = sizes[at] + step, missing - step
        at = (at + 1) % len(sizes)
    return sizes


def load(server: psycopg.Connection, loaded: list[Crowd], *, now: datetime) -> None:
    for statement in BUILDING:
        server.execute(statement)
    made = 0
    for crowd in loaded:
        store_1m.add_container(server, crowd.container, {EVERYONE: "everyone", CROWDED: "crowded"}[crowd.container])
        copy_in(server, store_1m.subjects(crowd.users, container=crowd.container, after=made))
        made += len(crowd.users)
    later = _without_indexes(server, ("store_longtermmemory", "store_provenance", "store_session", "store_pin"))
    for done, lines in batches(loaded, now=now):
        copy_in(server, lines)
        say(f"{done:>12,} memories", flush=True)
    store_1m.count(server, [user for crowd in loaded for user in crowd.users])
    for statement in later:
        begun = time.perf_counter()
        server.execute(statement)
        say(f"{time.perf_counter() - begun:6.1f} s  {statement[:110]}", flush=True)
    server.execute("VACUUM ANALYZE")
    server.execute("CHECKPOINT")


def _without_indexes(server: psycopg.Connection, tables: tuple[str, ...]) -> list[str]:
    """Drop what would be kept up row by row, and return the statements that make it again."""
    again = []
    for table in tables:
        unique = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'u'"
        for name, definition in server.execute(unique, [table]).fetchall():
            server.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
            again.append(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
        plain = "SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass AND NOT indisprimary"
        for name, definition in server.execute(plain, [table]).fetchall():
            server.execute(f"DROP INDEX {name}")
            again.append(definition)
    return again


def batches(loaded: list[Crowd], *, now: datetime) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """Yield lines for COPY, in the order of time, with how many memories there are so far."""
    dice = random.Random(1)
    people = [(user, crowd.container) for crowd in loaded for user in crowd.users]
    turns = [at for at, (user, _) in enumerate(people) for _ in range(user.memories)]
    dice.shuffle(turns)
    facts = [_fact(dice) for _ in range(FACTS)]
    begin, step = now - SPAN, SPAN / len(turns)
    lines: dict[str, list[str]] = {table: [] for table in COLUMNS}
    for done, at in enumerate(turns, start=1):
        user, container = people[at]
        _add(lines, user, at + 1, container, facts[dice.randrange(FACTS)], dice=dice, created=begin + step * done, now=now)
        if done % BATCH == 0 or done == len(turns):
            yield done, lines
            lines = {table: [] for table in COLUMNS}


def _fact(dice: random.Random) -> tuple[str, int]:
    """Return what a memory says up to its importance, and how many tokens that is."""
    length = dice.choice(store_1m.LENGTHS)
    tokens = round(length / store_1m.CHARACTERS_PER_TOKEN)
    text = " ".join(dice.choices(store_1m.WORDS, k=120))[:length]
    return f"1\t{text}\t{dice.choice(store_1m.STRATEGIES)}\t{{}}\t{{}}\t{tokens}\tbench", tokens


def _add(
    lines: dict[str, list[str]],
    user: User,
    subject: int,
    container: int,
    fact: tuple[str, int],
    *,
    dice: random.Random,
    created: datetime,
    now: datetime,
) -> None:
    uid, made = f"{dice.getrandbits(128):032x}", str(created)
    if user.stored % PER_SESSION == 0:
        user.session = new_uid(dice)
        name = f"chat-{user.stored // PER_SESSION}"
        lines["store_session"].append(
            f"{user.session}\t{name}\t{{}}\t{made}\t\t{made}\t1\t{{}}\t{{}}\t{{}}\t{{}}\t{made}\tf\tf\t{container}\t{subject}"
        )
    hits, accessed = 0, r"\N"
    if dice.random() >= store_1m.NEVER_RECALLED:
        hits, accessed = min(int(1 / (1 - dice.random())), 5_000), str(created + (now - created) * dice.random())
    pinned = dice.random() < store_1m.PINNED
    lines["store_longtermmemory"].append(
        f"{uid}\t{{}}\t{made}\t\t{made}\t{fact[0]}\t{dice.random():.4f}\tagent\t{hits}\t{accessed}\t{made}\t{'ft'[pinned]}\tf\t{container}\t{subject}"
    )
    if container == CROWDED:  # whose pages are measured
        lines["store_provenance"].append(f"long-term\t{uid}\tsessions\t{user.session}\t{container}\t{subject}")
    if pinned:
        lines["store_pin"].append(f"long-term\t{uid}\tmeasured\tcommand/bench\t{made}\t{container}\t{subject}")
    user.stored, user.tokens, user.pinned = user.stored + 1, user.tokens + fact[1], user.pinned + pinned


def _named(address: str) -> tuple[sql.Identifier, sql.Literal]:
    return sql.Identifier(store_1m.name_of(address)), sql.Literal(store_1m.LOADED)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("size", choices=SIZES, nargs="?", default="10M")
    print(store_1m.name_of(ready(arguments.parse_args().size)))
