"""A store to measure on: 1,000,000 long-term memories of 20,000 users of one container, in a PostgreSQL database of its own.

    DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.store_1m

The database is made beside the one that DATABASE_URL names and is called `name_bench_1m`. Three users have 100,000 memories,
400 have 500, the others about 25. Users take turns, so that the rows of one lie scattered over the table, and the indexes have
grown row by row, as those of a store in use. Every memory has a session as its source; one in a hundred is pinned.
Other measurements call `ready`, and `clone` where they change the store.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent
SUFFIX = "bench_1m"
LOADED = "memadmin bench: loaded"
CONTAINER = 1
BATCH = 20_000  # rows a transaction
PER_SESSION = 25  # memories drawn out of one session
SPAN = timedelta(days=500)
NEVER_RECALLED, PINNED = 0.4, 0.01  # shares
LENGTHS = range(230, 632)  # characters; 430 on average
CHARACTERS_PER_TOKEN = 5.5
STRATEGIES = ("SEMANTIC", "USER_PREFERENCE", "SUMMARY")
WORDS = re.findall(
    r"\w+",
    "asked about the delivery of an order and prefers the evening after six because of work at the pharmacy near the station "
    "repeat prescription insurance card refund allergy penicillin tablets dosage package courier neighbour invoice address",
)
COLUMNS = {
    "store_session": "uid, external_id, namespace, created_at, time_note, stored_at, revision, state, metadata, agents, additional_info, "
    "last_updated_at, pinned, held, container_id, subject_id",
    "store_longtermmemory": "uid, namespace, created_at, time_note, stored_at, revision, text, strategy_type, tags, metadata, tokens, "
    "tokens_method, importance, importance_source, hits, last_accessed_at, last_updated_at, pinned, held, container_id, subject_id",
    "store_pin": "target_type, target_uid, reason, actor, created_at, container_id, subject_id",
    "store_provenance": "derived_type, derived_uid, source_type, source_uid, container_id, subject_id",
    "store_subject": "uid, user_id, canonical_id, sessions, pinned_sessions, working, messages, long_term, pinned_long_term, tokens, "
    "history, archived, container_id",
}
Texts = Callable[[random.Random], Iterator[str]]


@dataclass
class User:
    """What the counters of a subject will say."""

    memories: int
    stored: int = 0
    pinned: int = 0
    tokens: int = 0
    session: str = ""  # uid of the latest one

    def counters(self) -> tuple[int, int, int, int]:
        """Return the sessions, memories, pinned ones and tokens."""
        return -(-self.stored // PER_SESSION), self.stored, self.pinned, self.tokens


@dataclass
class Batch:
    """Lines for COPY, by table."""

    lines: dict[str, list[str]] = field(default_factory=lambda: {table: [] for table in COLUMNS})

    def add(self, table: str, *values: object) -> None:
        self.lines[table].append("\t".join(map(str, values)))


def ready(address: str, *, reuse: bool = False, share: float = 1.0) -> None:
    """Make and fill the database at this address; with `reuse` take the one that is there."""
    if reuse and is_loaded(address):
        migrate(address)
        return
    begun = time.perf_counter()
    recreate(address)
    migrate(address)
    with psycopg.connect(address, autocommit=True) as server:
        fill(server, users_of(share), now=datetime.now(UTC))
        server.execute("VACUUM ANALYZE")
        server.execute("CHECKPOINT")
        server.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name_of(address)), sql.Literal(LOADED)))
    say(f"{name_of(address)} is loaded after {time.perf_counter() - begun:.0f} s.")


def clone(address: str, copy: str) -> None:
    """Copy a database, file by file, to another address. Nobody may be connected to it."""
    recreate(copy, template=name_of(address))


def drop(address: str) -> None:
    run_beside(address, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name_of(address))))


def recreate(address: str, *, template: str = "template0") -> None:
    drop(address)
    names = map(sql.Identifier, (name_of(address), template))
    run_beside(address, sql.SQL("CREATE DATABASE {} TEMPLATE {}" + _by_files(address)).format(*names))


def _by_files(address: str) -> str:
    """Return how to ask for a copy of the files: since version 15 the default writes all of a large database into the log as well."""
    with psycopg.connect(urlsplit(address)._replace(path="/postgres").geturl()) as server:
        return " STRATEGY FILE_COPY" if server.info.server_version >= 150_000 else ""


def address_beside(suffix: str) -> str:
    """Return DATABASE_URL with `_suffix` at the end of the database's name."""
    given = urlsplit(os.environ.get("DATABASE_URL", ""))
    if given.scheme not in {"postgres", "postgresql"} or len(given.path) < 2:
        sys.exit("Set DATABASE_URL to a PostgreSQL database, such as postgres://user@127.0.0.1:5432/memadmin; new ones are made beside it.")
    return given._replace(path=f"{given.path}_{suffix}").geturl()


def name_of(address: str) -> str:
    return urlsplit(address).path[1:]


def run_beside(address: str, statement: sql.Composed) -> None:
    with psycopg.connect(urlsplit(address)._replace(path="/postgres").geturl(), autocommit=True) as server:
        server.execute(statement)


def is_loaded(address: str) -> bool:
    question = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
    with psycopg.connect(urlsplit(address)._replace(path="/postgres").geturl()) as server:
        return server.execute(question, [name_of(address)]).fetchone() == (LOADED,)


def migrate(address: str) -> None:
    command = [sys.executable, str(ROOT / "manage.py"), "migrate", "--verbosity", "0"]
    subprocess.run(command, env={**os.environ, "DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "memadmin.settings"}, check=True)


def users_of(share: float) -> list[User]:
    """Return the users with how many memories each will have; a `share` below 1 makes a smaller store, for a try."""
    heavy = [round(100_000 * share)] * 3
    middle = [500] * round(400 * share)
    others = round(20_000 * share) - len(heavy) - len(middle)
    left = round(1_000_000 * share) - sum(heavy) - sum(middle)
    return [User(size) for size in [*heavy, *middle, *(left // others + (at < left % others) for at in range(others))]]


def fill(server: psycopg.Connection, users: Sequence[User], *, now: datetime, texts: Texts | None = None) -> None:
    server.execute("SET synchronous_commit = off")
    add_container(server, CONTAINER, "bench")
    copy_in(server, subjects(users, container=CONTAINER))  # nothing is written for a subject that is not there
    for done, batch in batches(users, now=now, texts=texts or phrases):
        copy_in(server, batch.lines)
        if sys.stderr.isatty():
            say(f"\r{done:>12,} memories", end="", flush=True)
    say()
    count(server, users)


def add_container(server: psycopg.Connection, number: int, name: str) -> None:
    server.execute(
        "INSERT INTO store_container (id, uid, name, description, backend_roles, configuration, sessions_enabled, history_enabled, "
        "policy_state, archive_days, removes_unattributed, revision, created_at, last_updated_at) "
        "VALUES (%s, gen_random_uuid(), %s, '', '[]', '{}', true, true, 'never_set', 30, false, 1, now(), now())",
        [number, name],
    )
    server.execute("SELECT setval(pg_get_serial_sequence('store_container', 'id'), max(id)) FROM store_container")


def phrases(dice: random.Random) -> Iterator[str]:
    """Say one of 500 things, again and again."""
    said = [" ".join(dice.choices(WORDS, k=120)) for _ in range(500)]
    while True:
        yield dice.choice(said)


def batches(users: Sequence[User], *, now: datetime, texts: Texts) -> Iterator[tuple[int, Batch]]:
    dice = random.Random(1)
    turns = [at for at, user in enumerate(users) for _ in range(user.memories)]
    dice.shuffle(turns)
    batch, said = Batch(), texts(dice)
    for done, at in enumerate(turns, start=1):
        created = now - SPAN * (1 - done / len(turns))
        add_memory(batch, at + 1, users[at], next(said), dice=dice, created=created, now=now)
        if done % BATCH == 0 or done == len(turns):
            yield done, batch
            batch = Batch()


def add_memory(batch: Batch, subject: int, user: User, phrase: str, *, dice: random.Random, created: datetime, now: datetime) -> None:
    if user.stored % PER_SESSION == 0:
        user.session = new_uid(dice)
        name = f"chat-{user.stored // PER_SESSION}"
        batch.add("store_session", user.session, name, "{}", created, "", created, 1, *["{}"] * 4, created, "f", "f", CONTAINER, subject)
    uid, pinned = new_uid(dice), dice.random() < PINNED
    length = dice.choice(LENGTHS)
    tokens = round(length / CHARACTERS_PER_TOKEN)
    recalled = dice.random() >= NEVER_RECALLED
    hits, accessed = (int(dice.paretovariate(1)), created + (now - created) * dice.random()) if recalled else (0, r"\N")
    batch.add(
        "store_longtermmemory", uid, "{}", created, "", created, 1, phrase[:length], dice.choice(STRATEGIES), "{}", "{}", tokens,
        "bench", round(dice.random(), 2), "agent", min(hits, 5000), accessed, created, "ft"[pinned], "f", CONTAINER, subject,
    )  # fmt: skip
    batch.add("store_provenance", "long-term", uid, "sessions", user.session, CONTAINER, subject)
    if pinned:
        batch.add("store_pin", "long-term", uid, "measured", "command/bench", created, CONTAINER, subject)
    user.stored, user.tokens, user.pinned = user.stored + 1, user.tokens + tokens, user.pinned + pinned


def subjects(users: Sequence[User], *, container: int, after: int = 0) -> dict[str, list[str]]:
    """Return the subjects, uncounted. They get the numbers behind `after`, in this order, because their table is new."""
    dice, none = random.Random(2 + after), "\t".join("0" * 9)
    names = [f"user-{at:06}" for at in range(after, after + len(users))]
    return {"store_subject": [f"{new_uid(dice)}\t{name}\t{name}\t{none}\t{container}" for name in names]}


def count(server: psycopg.Connection, users: Sequence[User]) -> None:
    """Write down what the users have, once all of it is there. Their subjects are numbered from 1 on."""
    names = "sessions, long_term, pinned_long_term, tokens"
    server.execute("CREATE TEMPORARY TABLE counted (id bigint, sessions bigint, long_term bigint, pinned_long_term bigint, tokens bigint)")
    with server.cursor() as cursor, cursor.copy(f"COPY counted (id, {names}) FROM STDIN") as copy:
        for number, user in enumerate(users, start=1):
            copy.write_row((number, *user.counters()))
    server.execute(
        f"UPDATE store_subject s SET ({names}) = (c.sessions, c.long_term, c.pinned_long_term, c.tokens) FROM counted c WHERE c.id = s.id"
    )


def new_uid(dice: random.Random) -> str:
    return f"{dice.getrandbits(128):032x}"


def copy_in(server: psycopg.Connection, lines: Mapping[str, Sequence[str]]) -> None:
    with server.transaction(), server.cursor() as cursor:
        for table, rows in lines.items():
            if rows:
                with cursor.copy(f"COPY {table} ({COLUMNS[table]}) FROM STDIN") as copy:
                    copy.write("\n".join(rows) + "\n")


def say(text: str = "", **how: object) -> None:
    """Speak beside the results, which may be read by a program."""
    print(text, file=sys.stderr, **how)  # type: ignore[call-overload]


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--share", type=float, default=1.0, help="0.01 for a store of a hundredth of the size, for a try")
    store = address_beside(SUFFIX)
    ready(store, share=arguments.parse_args().share)
    print(name_of(store))
