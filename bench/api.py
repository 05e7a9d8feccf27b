"""The API against the least that the same work can cost.

    DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.api [--rounds N] [--json]

*Single messages*: `POST …/memories` with one message of a known session, with token, rate limit, session and counters, against a bare
Django view that inserts one row. Both from one gunicorn process over HTTP, through the same middleware, one after the other.

*Bulk*: 50,000 long-term memories of 500 users by the bulk endpoint, from the request's first byte to the answer's last, against COPY of the
very same rows into the same table, and against Django's `bulk_create` of them. The table has its core indexes, those that reading a
user and retention need; with further ones, of text search or acceleration, it is measured a second time.

*Search*: one memory by its id, among 1,000,000 and among 10,000.

Each in a database of its own beside the one that DATABASE_URL names. Ratios are medians over the rounds, each compared with itself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

from bench import store_1m

from bench import api_databases as databases  # isort: skip  # sets Django up
from django.db import connection
from django.test import Client

from bench.timing import Times, ratio, side_by_side, surroundings, table
from memadmin.access.scopes import Scope
from memadmin.access.tokens import TokenSpec, create_token
from memadmin.store import configuration, ingest
from memadmin.store.models import Container, LongTermMemory, Subject

ACTOR = "command/bench"
MEMORIES, USERS = 50_000, 500
LEFT_ALONE = {"id"}
CORE_INDEXES = {
    "store_longtermmemory_pkey",
    "longterm_uid_once",
    "longterm_by_external_id",
    "longterm_to_embed",
    "longterm_by_subject",
    "longterm_by_update",
    "longterm_by_creation",
    "longterm_held",
}
RATIOS = {
    "single messages: bare view / ours": ("bare view", "one message"),
    "bulk: ours / COPY": ("bulk endpoint", "COPY"),
    "bulk: bulk_create / ours": ("bulk_create", "bulk endpoint"),
    "bulk: ours / COPY, all indexes": ("bulk endpoint, all indexes", "COPY, all indexes"),
    "search by id: 1,000,000 / 10,000": ("search by id, 1,000,000", "search by id, 10,000"),
}
GOALS = {
    "single messages: bare view / ours": ("at least", 0.5),
    "bulk: ours / COPY": ("at most", 5.0),
    "bulk: bulk_create / ours": ("at least", 4.0),
    "search by id: 1,000,000 / 10,000": ("at most", 1.5),
}


class Caller:
    """A client with a token that may everything."""

    def __init__(self) -> None:
        now = datetime.now(UTC)
        spec = TokenSpec(label="bench", owner_name="bench", scopes=tuple(Scope), containers=None, all_access=True)
        self.secret = create_token(spec, actor=ACTOR, now=now)[1]
        configuration.change("api_requests_per_minute", 1_000_000, actor=ACTOR, now=now)
        self.client = Client(SERVER_NAME="localhost")

    def post(self, path: str, body: bytes, kind: str = "application/json") -> None:
        answer = self.client.generic("POST", path, body, content_type=kind, headers={"Authorization": f"Bearer {self.secret}"})
        content = answer.getvalue()
        if answer.status_code >= 300 or (b'"refused": 0' not in content[-200:] and answer.streaming):
            raise SystemExit(f"{path}: {answer.status_code} {content[-500:]!r}")


def measure_single(rounds: int) -> dict[str, Times]:
    databases.use_fresh()
    caller, container = Caller(), ingest.create_container(name="bench", actor=ACTOR, now=datetime.now(UTC))
    message = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Is my order on its way? " * 4}]}]}
    body = json.dumps({**message, "namespace": {"user_id": "ann", "session_id": "s-1"}, "infer": False}).encode()
    address = f"/_plugins/_ml/memory_containers/{container.uid}/memories"
    caller.post(address, body)
    with databases.served() as post:
        send = {"bare view": partial(post, "/bare/", body, caller.secret), "one message": partial(post, address, body, caller.secret)}
        return side_by_side(send, rounds=rounds * 100, warm_up=50)


def measure_bulk(rounds: int) -> dict[str, Times]:
    databases.use_fresh()
    caller, container = Caller(), ingest.create_container(name="bench", actor=ACTOR, now=datetime.now(UTC))
    further = _drop_further_indexes()
    times = _bulk_rounds(caller, container, rounds)
    if further:
        with connection.cursor() as cursor:
            for definition in further:
                cursor.execute(definition)
        times |= {f"{name}, all indexes": taken for name, taken in _bulk_rounds(caller, container, rounds).items()}
    return times


def _drop_further_indexes() -> list[str]:
    """Leave the table its core indexes; return how the others were made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'store_longtermmemory'")
        further = {name: definition for name, definition in cursor.fetchall() if name not in CORE_INDEXES}
        for name in further:
            cursor.execute(f"DROP INDEX {name}")
    return list(further.values())


def _bulk_rounds(caller: Caller, container: Container, rounds: int) -> dict[str, Times]:
    times = {name: Times() for name in ("COPY", "bulk endpoint", "bulk_create")}
    for number in range(rounds + 1):  # the first only makes users and fills caches
        salt = f"r{number}"
        lines = "".join(json.dumps(memory) + "\n" for memory in memories(salt)).encode()
        taken = {"bulk endpoint": _timed(partial(caller.post, f"/api/v1/containers/{container.uid}/bulk", lines, "application/x-ndjson"))}
        rows = _rows_of(salt)
        _forget(salt)
        taken["COPY"] = _timed(partial(_copy, *rows))
        _forget(salt)
        objects = list(_objects(container, salt))
        taken["bulk_create"] = _timed(partial(LongTermMemory.objects.bulk_create, objects, batch_size=1_000))
        _forget(salt)
        for name, seconds in taken.items() if number else ():
            times[name].seconds.append(seconds)
    return times


def measure_search(rounds: int, *, reuse: bool) -> dict[str, Times]:
    times = {}
    for size, share in ((10_000, 0.01), (1_000_000, 1.0)):
        databases.use_loaded(share, reuse=reuse)
        caller, uid = Caller(), str(LongTermMemory.objects.order_by("id").values_list("uid", flat=True)[size // 2])
        address = f"/_plugins/_ml/memory_containers/{Container.objects.get().uid}/memories/long-term/_search"
        body = json.dumps({"query": {"ids": {"values": [uid]}}}).encode()
        name = f"search by id, {size:,}"
        times[name] = side_by_side({name: partial(caller.post, address, body)}, rounds=rounds * 20)[name]
        connection.close()
    return times


def memories(salt: str) -> Iterator[dict[str, Any]]:
    dice, now = Random(1), datetime.now(UTC)
    for number in range(MEMORIES):
        yield {
            "type": "long-term",
            "external_id": f"{salt}-{number}",
            "user_id": f"user-{number % USERS}",
            "text": " ".join(dice.choices(store_1m.WORDS, k=65)),
            "created_at": (now - timedelta(minutes=number)).isoformat(),
            "namespace": {"user_id": f"user-{number % USERS}"},
            "tags": {"topic": "delivery"},
        }


def _timed(act: Callable[[], object]) -> float:
    return side_by_side({"": act}, rounds=1, warm_up=0)[""].seconds[0]


def _columns() -> str:
    return ", ".join(str(field.column) for field in LongTermMemory._meta.concrete_fields if field.name not in LEFT_ALONE)


def _rows_of(salt: str) -> tuple[bytes, str]:
    names = _columns()
    with connection.cursor() as cursor:
        question = f"COPY (SELECT {names} FROM store_longtermmemory WHERE external_id LIKE '{salt}-%') TO STDOUT"
        with cursor.copy(question) as copy:
            return b"".join(bytes(piece) for piece in copy), names


def _copy(rows: bytes, names: str) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY store_longtermmemory ({names}) FROM STDIN") as copy:
        copy.write(rows)


def _objects(container: Container, salt: str) -> Iterator[LongTermMemory]:
    subjects = dict(Subject.objects.filter(container=container).values_list("user_id", "id"))
    now = datetime.now(UTC)
    for memory in memories(salt):
        created = datetime.fromisoformat(memory["created_at"])
        yield LongTermMemory(
            container=container,
            subject_id=subjects[memory["user_id"]],
            external_id=memory["external_id"],
            text=memory["text"],
            namespace=memory["namespace"],
            tags=memory["tags"],
            tokens=100,
            created_at=created,
            last_updated_at=created,
            stored_at=now,
        )


def _forget(salt: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM store_longtermmemory WHERE external_id LIKE %s", [f"{salt}-%"])
        cursor.execute("VACUUM store_longtermmemory")


def figures(times: dict[str, Times]) -> dict[str, float]:
    found = {}
    for name, (one, other) in RATIOS.items():
        if one in times and other in times:
            found[name] = ratio(times[one], times[other])
    return found


def report(times: dict[str, Times]) -> str:
    rows = [(name, f"{taken.ms:,.1f}", f"{taken.best_ms:,.1f}", len(taken.seconds)) for name, taken in times.items()]
    verdicts = []
    for name, found in figures(times).items():
        sense, goal = GOALS.get(name, ("", None))
        met = goal is None or (found >= goal if sense == "at least" else found <= goal)
        verdicts.append((name, f"{found:.2f}", f"{sense} {goal}" if goal else "", ("met" if met else "MISSED") if goal else ""))
    return f"{table(('ms', 'median', 'best', 'times'), rows)}\n\n{table(('ratio', 'measured', 'goal', ''), verdicts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["single", "bulk", "search"], help="measure one of the three")
    parser.add_argument("--reuse", action="store_true", help="take the loaded million that an earlier measurement kept")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    measures: dict[str, Callable[[int], dict[str, Times]]] = {
        "single": measure_single,
        "bulk": measure_bulk,
        "search": partial(measure_search, reuse=given.reuse),
    }
    times: dict[str, Times] = {}
    for name, measure in measures.items():
        if given.only in {None, name}:
            times |= measure(given.rounds)
    where = surroundings()
    databases.drop_fresh()
    if given.json:
        print(json.dumps({"figures": figures(times), "ms": {name: taken.ms for name, taken in times.items()}}))
    else:
        print(f"{where}\n\n{report(times)}")


if __name__ == "__main__":
    main()
