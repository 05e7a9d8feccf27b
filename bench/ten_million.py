"""The goals for ten million memories, measured in one go: what is dear about retention must not grow with the store.

    DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.ten_million [--size 10M] [--reuse] [--keep] [--rounds N] [--json]

Loads the stores of `bench.store_10m` (`--reuse` takes those that are there, `--keep` leaves them), measures on them what only reads, then
evicts on a copy of the large one and drops the copy, and at last does the same on SQLite (`bench.sqlite_1m`). With `--size 1M` all is
smaller, for a try. Candidates take turns; a ratio is the median over the rounds, each compared with itself.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from bench import store_1m, store_10m, ten_million_runs
from bench import ten_million_setup as setup
from bench.ten_million_setup import CROWDED, EVERYONE, run_sql
from bench.timing import Times, ratio, side_by_side, surroundings, table
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.jobs.models import Schedule
from memadmin.lifecycle import large_users, planning
from memadmin.lifecycle.models import RunVictim, Trigger
from memadmin.lifecycle.selection import select
from memadmin.lifecycle.snapshot import one_snapshot
from memadmin.store import configuration, policies
from memadmin.store.lowest import Crowd, by_scan, lowest
from memadmin.store.models import Container, LongTermMemory, Subject
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule

HTMX = {"HX-Request": "true"}
SHOWN = 50
GOALS: Mapping[str, float | None] = {  # at most
    "steady preview, selecting / GROUP BY pass": 0.10,
    "steady preview, selecting, 10M / 1M": 1.3,
    "first run, selecting / GROUP BY pass": 3.0,
    "count rule / exact count": 0.05,
    "lowest scores of all users / scan and sort": 1 / 25,
    "a user's table, 10M / 10k": 1.5,
    "enforcement / one DELETE": 1.8,
    "two workers / one DELETE": 1.3,
    "with the archive / one DELETE": 4.0,
    "longest stall / that of one DELETE": 0.1,
    "p95 of others' pages, beside a run / without": 2.0,
    "p95 of others' touches, beside a run / without": 2.0,
    "peak of a worker, MB": 300.0,
    "SQLite, enforcement / one DELETE": 2.0,
    "steady preview, whole / GROUP BY pass": None,
    "COPY with the indexes of the lowest scores / without": None,
    "touches with them / without": None,
    "5 users of 100,000 each 10 over / GROUP BY pass of their container": None,
    "the same, by ranking all they have / GROUP BY pass": None,
}


@dataclass(frozen=True)
class Store:
    """One loaded size, with the moment that all is measured as of."""

    size: str
    address: str
    now: datetime

    def steady(self) -> RelevanceRule:
        """The rule that 1,000 users of *everyone* are a little over, and under which nothing is too old."""
        return RelevanceRule(ttl_days=self._all_days(), max_records=store_10m.CAP, max_tokens=None)

    def crowded(self) -> RelevanceRule:
        return RelevanceRule(ttl_days=self._all_days(), max_records=store_10m.HEAVY - 10, max_tokens=None)

    def _all_days(self) -> int:
        [[oldest]] = run_sql("SELECT min(created_at) FROM store_longtermmemory")
        age: timedelta = self.now - oldest
        return math.ceil(age / timedelta(days=1)) + 1


def group_by(container: int) -> str:
    return (
        "SELECT count(*), sum(n), sum(tokens) FROM (SELECT subject_id, count(*) AS n, sum(tokens) AS tokens FROM store_longtermmemory "
        f"WHERE container_id = {container} GROUP BY subject_id) AS users"
    )


def in_snapshot(*statements: str) -> None:
    """Run statements in the same sort of transaction as the product's."""
    with one_snapshot():
        for statement in statements:
            run_sql(statement)


def select_victims(containers: Mapping[int, RetentionPolicy], *, now: datetime) -> list[int]:
    """From a policy to the numbers of its victims, with all lookups on the way."""
    found = []
    for container in Container.objects.filter(pk__in=containers):
        with one_snapshot():
            for each in select(container, containers[container.pk], now=now):
                [row] = run_sql(f"SELECT count(*), sum(item_id) FROM ({each.sql}) AS victims")
                found.append(row[0])
    return found


def whole_preview(container: int, policy: RetentionPolicy, *, now: datetime) -> None:
    """Record a preview with its totals, and drop it."""
    run = planning.plan(Container.objects.get(pk=container), policy, now=now, trigger=Trigger.PREVIEW, actor=setup.ACTOR)
    RunVictim.objects.filter(run=run)._raw_delete("default")
    run.delete()


def reading(store: Store, *, rounds: int) -> dict[str, Times]:
    """Measure what changes no memory."""
    setup.use(store.address)
    now, everyone = store.now, Container.objects.get(pk=EVERYONE)
    steady, crowded = RetentionPolicy({}, store.steady()), RetentionPolicy({}, store.crowded())
    of_type = LongTermMemory.objects.of_container(everyone).exposed().count()
    counting = RetentionPolicy({MemoryType.LONG_TERM: RetentionRule(retention_days=None, max_count=of_type * 3 // 5)})
    exact = f"SELECT count(*) FROM store_longtermmemory WHERE container_id = {EVERYONE} AND NOT pinned AND NOT held"
    passes = partial(in_snapshot, group_by(EVERYONE), group_by(CROWDED))
    first = dict.fromkeys((EVERYONE, CROWDED), RetentionPolicy({}, RelevanceRule()))
    candidates: dict[str, Callable[[], object]] = {
        "GROUP BY pass": partial(in_snapshot, group_by(EVERYONE)),
        "steady preview, selecting": partial(select_victims, {EVERYONE: steady}, now=now),
        "steady preview, whole": partial(whole_preview, EVERYONE, steady, now=now),
        "GROUP BY pass of both": passes,
        "first run, selecting": partial(select_victims, first, now=now),
        "exact count": partial(in_snapshot, exact),
        "count rule": partial(select_victims, {EVERYONE: counting}, now=now),
        "lowest scores": partial(lowest, everyone, RelevanceRule(), now=now, count=SHOWN),
        "scan and sort": partial(by_scan, Crowd(everyone), RelevanceRule(), now=now, count=SHOWN),
        "GROUP BY pass of the crowded": partial(in_snapshot, group_by(CROWDED)),
        "large users, selecting": partial(select_victims, {CROWDED: crowded}, now=now),
        "large users, ranking": partial(ranking, {CROWDED: crowded}, now=now),
    }
    if lowest(everyone, RelevanceRule(), now=now, count=SHOWN) != by_scan(Crowd(everyone), RelevanceRule(), now=now, count=SHOWN):
        raise SystemExit("The threshold algorithm and the scan name different memories.")
    store_1m.say(f"{store.size}: victims, steady {select_victims({EVERYONE: steady}, now=now)}, first run {select_victims(first, now=now)}")
    return side_by_side(candidates, rounds=rounds, warm_up=1)


def ranking(containers: Mapping[int, RetentionPolicy], *, now: datetime) -> list[int]:
    """Like `select_victims`, without what spares large users their ranking."""
    large, large_users.LARGE = large_users.LARGE, 2**40
    try:
        return select_victims(containers, now=now)
    finally:
        large_users.LARGE = large


def steady_of(store: Store) -> Callable[[], object]:
    setup.use(store.address)
    return partial(select_victims, {EVERYONE: RetentionPolicy({}, store.steady())}, now=store.now)


def in_turns(acts: Mapping[str, tuple[Store, Callable[[], object]]], *, rounds: int) -> dict[str, Times]:
    """Measure the same on several stores. The first time after each change of the database is not counted."""
    times = {name: Times() for name in acts}
    for _ in range(rounds):
        for name, (store, act) in acts.items():
            setup.use(store.address)
            act()
            begun = time.perf_counter()
            act()
            times[name].seconds.append(time.perf_counter() - begun)
    return times


def page_of(store: Store) -> Callable[[], object]:
    setup.use(store.address)
    now = timezone.now()
    if not configuration.value("retention_enabled"):
        configuration.change("retention_enabled", True, actor=setup.ACTOR, now=now)
    Schedule.objects.update_or_create(kind="nightly", defaults={"cron": "0 3 * * *", "next_run_at": now})
    for container in Container.objects.all():
        govern(container, RetentionPolicy({}, RelevanceRule()), now=now)
    person, _ = Person.objects.get_or_create(login="bench", defaults={"roles": [Role.SUPPORT]})
    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    subject = Subject.objects.filter(container=CROWDED, long_term=store_10m.FULL).order_by("id")[0]
    return partial(fetch, client, reverse("pages:user-memories", args=[subject.uid]))


def fetch(client: Client, address: str) -> None:
    if client.get(address, secure=True, headers=HTMX).status_code != 200:
        raise SystemExit(f"{address} did not answer.")


def govern(container: Container, policy: RetentionPolicy, *, now: datetime) -> None:
    standing = policies.published(container)
    if standing is None or policies.parse(standing) != policy:
        policies.publish(container, policy, actor=setup.ACTOR, now=now, base=standing.number if standing else None)


def ratio_of(times: Mapping[str, Times], one: str, other: str) -> float:
    return ratio(times[one], times[other])


def figures(
    read: Mapping[str, Times], turns: Mapping[str, Times], evicted: Mapping[str, Any], sqlite: Mapping[str, Any]
) -> dict[str, float]:
    """Return the ratios that the goals speak of, and what stands beside them."""
    seconds = {name: Times(taken) for name, taken in evicted["seconds"].items()}
    return {
        "steady preview, selecting / GROUP BY pass": ratio_of(read, "steady preview, selecting", "GROUP BY pass"),
        "steady preview, selecting, 10M / 1M": ratio_of(turns, "steady, large", "steady, 1M"),
        "first run, selecting / GROUP BY pass": ratio_of(read, "first run, selecting", "GROUP BY pass of both"),
        "count rule / exact count": ratio_of(read, "count rule", "exact count"),
        "lowest scores of all users / scan and sort": ratio_of(read, "lowest scores", "scan and sort"),
        "a user's table, 10M / 10k": ratio_of(turns, "table, large", "table, 10k"),
        "enforcement / one DELETE": ratio_of(seconds, "enforcement", "one delete"),
        "two workers / one DELETE": ratio_of(seconds, "two workers", "one delete"),
        "with the archive / one DELETE": ratio_of(seconds, "with the archive", "one delete"),
        "longest stall / that of one DELETE": evicted["stall"]["run"] / evicted["stall"]["delete"],
        "p95 of others' pages, beside a run / without": evicted["beside a run"]["page"] / evicted["idle"]["page"],
        "p95 of others' touches, beside a run / without": evicted["beside a run"]["touch"] / evicted["idle"]["touch"],
        "peak of a worker, MB": evicted["peak_mb"],
        **({"SQLite, enforcement / one DELETE": sqlite["ratio"]} if sqlite else {}),
        "steady preview, whole / GROUP BY pass": ratio_of(read, "steady preview, whole", "GROUP BY pass"),
        "COPY with the indexes of the lowest scores / without": evicted["writes"]["COPY"],
        "touches with them / without": evicted["writes"]["touch"],
        "5 users of 100,000 each 10 over / GROUP BY pass of their container": ratio_of(
            read, "large users, selecting", "GROUP BY pass of the crowded"
        ),
        "the same, by ranking all they have / GROUP BY pass": ratio_of(read, "large users, ranking", "GROUP BY pass of the crowded"),
    }


def verdict(name: str, figure: float) -> tuple[str, str]:
    goal = GOALS[name]
    return ("", "") if goal is None else (f"at most {goal:g}", "met" if figure <= goal else "MISSED")


def report(read: Mapping[str, Times], turns: Mapping[str, Times], evicted: Mapping[str, Any], found: Mapping[str, float]) -> str:
    seconds = {f"{name} of {evicted['length']:,}": Times(taken) for name, taken in evicted["seconds"].items()}
    rows = [(name, f"{taken.ms:,.1f}", f"{taken.best_ms:,.1f}", len(taken.seconds)) for name, taken in {**read, **turns, **seconds}.items()]
    rows += [(f"longest stall beside the {name}", f"{1000 * each:,.1f}", "", 1) for name, each in evicted["stall"].items()]
    rows += [
        (f"p95 of others' {name}, {when}", f"{1000 * each:,.1f}", "", 1)
        for when in ("idle", "beside a run")
        for name, each in evicted[when].items()
    ]
    rows.append((f"first preview of {evicted['plan']['planned']:,} victims", f"{1000 * evicted['plan']['seconds']:,.0f}", "", 1))
    verdicts = [(name, f"{figure:.3g}", *verdict(name, figure)) for name, figure in found.items()]
    return f"{table(('ms', 'median', 'best', 'rounds'), rows)}\n\n{table(('figure', 'measured', 'goal', ''), verdicts)}"


def on_sqlite(size: int, *, reuse: bool, keep: bool) -> dict[str, Any]:
    """Run the measurement on SQLite in a process of its own, which has a database of its own."""
    if not size:
        return {}
    command = [sys.executable, "-m", "bench.sqlite_1m", "--memories", str(size), "--json"]
    command += ["--reuse"] * reuse + ["--keep"] * keep
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "DATABASE_URL": ""}).stdout
    found: dict[str, Any] = json.loads(answer)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=["1M", "10M"], default="10M")
    parser.add_argument("--reuse", action="store_true", help="take the stores that an earlier measurement kept")
    parser.add_argument("--keep", action="store_true", help="leave the stores there")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sqlite", type=int, default=1_000_000, help="memories of the SQLite store; 0 leaves it out")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    begun, now = time.perf_counter(), datetime.now(UTC)
    call_command("collectstatic", verbosity=0, interactive=False)
    stores = {size: Store(size, store_10m.ready(size, reuse=given.reuse), now) for size in {"10k": 0, "1M": 0, given.size: 0}}
    large, million, small = stores[given.size], stores["1M"], stores["10k"]
    turns = in_turns(
        {
            "table, large": (large, page_of(large)),
            "table, 10k": (small, page_of(small)),
            "steady, large": (large, steady_of(large)),
            "steady, 1M": (million, steady_of(million)),
        },
        rounds=2 * given.rounds,
    )
    read = reading(large, rounds=given.rounds)
    where = surroundings()
    for name, taken in {**turns, **read}.items():
        store_1m.say(f"{name}: {taken.ms:,.1f} ms")
    connection.close()
    evicted = ten_million_runs.measure(large.address, memories=store_10m.SIZES[given.size], rounds=given.rounds)
    connection.close()
    store_1m.drop(setup.COPY)
    sqlite = on_sqlite(given.sqlite, reuse=given.reuse, keep=given.keep)
    for store in stores.values() if not given.keep else ():
        store_1m.drop(store.address)
    found = figures(read, turns, evicted, sqlite)
    if given.json:
        raw = {name: [1000 * each for each in taken.seconds] for name, taken in {**read, **turns}.items()}
        print(json.dumps({"surroundings": where, "ms": raw, "evicted": evicted, "sqlite": sqlite, "figures": found}))
    else:
        print(f"{where}\n\n{report(read, turns, evicted, found)}\n\n{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
