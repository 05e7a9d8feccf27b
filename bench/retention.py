"""Retention on a million memories, against the least that the same work can cost and against what one would write first.

    DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.retention [--reuse] [--keep] [--rounds N] [--json]

*Selecting*: the SQL that finds the victims of all users, against one index-only pass that counts each user's memories and tokens.
First on the store as loaded, where half of it has to go; then on stores of the same size in which nothing is past its TTL and 1 %
of the users hold 1 to 20 memories too many: users of about 50 memories, as the average user has, and for the record users of about 500.

*Recording*: a numbered preview with its totals and its entry in the log, against a bare INSERT … SELECT of the same rows into a table
without indexes. The rows come from the same selection; beside it, for the record, from a table that has them ready.

*Enforcing*: that preview, archive off, with counters, progress and the log, against one DELETE of the same memories with their ids in a
table, and against listing every user's memories in Python, scoring them there and deleting by ids. Each works on a fresh copy.

Candidates take turns; ratios are medians over the rounds, each compared with itself. All ways must leave the same memories.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import Random

import psycopg
from django.db import connection

from bench import retention_ways as ways
from bench import standalone, store_1m
from bench.timing import Times, ratio, table
from retention.rules import RelevanceRule, RetentionPolicy

CAPS = RelevanceRule()  # a TTL of 365 days, 500 memories and 40,000 tokens for each user
USERS, MEMORIES = 20_000, 1_000_000


@dataclass(frozen=True)
class Goal:
    one: str
    other: str
    at_most: float | None = None
    at_least: float | None = None

    def verdict(self, found: float) -> str:
        met = found <= self.at_most if self.at_most is not None else found >= (self.at_least or 0)
        return "met" if met else "MISSED"

    @property
    def text(self) -> str:
        return f"at most {self.at_most}" if self.at_most is not None else f"at least {self.at_least}"


GOALS = {
    "select, first run / group by": Goal("select, first run", "group by, first run", at_most=3.5),
    "select, steady, users of 50 / group by": Goal("select, steady, users of 50", "group by, steady, users of 50", at_most=0.15),
    "preview / bare insert": Goal("preview", "bare insert", at_most=2.0),
    "enforcement / one delete": Goal("enforcement", "one delete", at_most=2.2),
    "user by user in Python / enforcement": Goal("user by user in Python", "enforcement", at_least=6.0),
}
BESIDE = {  # no goals; told for the record
    "select, steady, users of 500 / group by": Goal("select, steady, users of 500", "group by, steady, users of 500", at_most=0.15),
    "preview / bare insert of ready rows": Goal("preview", "bare insert of ready rows", at_most=2.0),
}


class Clock:
    """Times by candidate, round by round."""

    def __init__(self) -> None:
        self.times: dict[str, Times] = {}

    def run(self, name: str, act: Callable[[], object], *, counts: bool = True) -> None:
        begun = time.perf_counter()
        act()
        if counts:  # the first round only fills caches
            self.times.setdefault(name, Times()).seconds.append(time.perf_counter() - begun)
        store_1m.say(f"{name}: {time.perf_counter() - begun:.2f} s")

    def ratio(self, goal: Goal) -> float:
        mine, theirs = self.times[goal.one], self.times[goal.other]
        rounds = min(len(mine.seconds), len(theirs.seconds))
        return ratio(Times(mine.seconds[:rounds]), Times(theirs.seconds[:rounds]))


def select_and_record(clock: Clock, *, now: datetime, rounds: int) -> None:
    """Measure on the loaded store, and leave there a preview and the table of its ids."""
    ways.use_prepared()
    ways.govern(RetentionPolicy({}, CAPS), now=now)
    measure_selecting(clock, "first run", now=now, rounds=rounds)
    measure_recording(clock, now=now, rounds=rounds)
    ways.run_sql("CREATE TABLE bench_ids AS SELECT item_id AS id FROM lifecycle_runvictim")
    ways.run_sql("DROP TABLE bench_plain, bench_ready")
    ways.run_sql("VACUUM ANALYZE")
    connection.close()


def measure_selecting(clock: Clock, name: str, *, now: datetime, rounds: int) -> None:
    plan = "\n".join(str(line) for (line,) in ways.run_sql(f"EXPLAIN {ways.GROUP_BY}"))
    if "Index Only Scan" not in plan:
        raise SystemExit(f"The pass is not index-only; vacuum the store first.\n{plan}")
    for number in range(rounds + 1):
        clock.run(f"group by, {name}", ways.timed_sql(ways.GROUP_BY), counts=number > 0)
        clock.run(f"select, {name}", partial(ways.select_victims, now=now), counts=number > 0)


def measure_recording(clock: Clock, *, now: datetime, rounds: int) -> None:
    ways.run_sql("CREATE TABLE bench_plain AS SELECT * FROM lifecycle_runvictim WITH NO DATA")
    ways.run_sql("CREATE TABLE bench_ready AS SELECT * FROM lifecycle_runvictim WITH NO DATA")
    columns = ways.ROWS.split(", ", 3)[3]
    selected = f"SELECT 1, row_number() OVER (), 2, {columns} FROM ({ways.victims_sql(now=now)}) AS victims"
    ways.run_sql(f"INSERT INTO bench_ready ({ways.ROWS}) {selected}")
    ways.run_sql("VACUUM ANALYZE bench_ready")
    for number in range(rounds + 1):
        ways.run_sql("TRUNCATE bench_plain, lifecycle_runvictim")
        ready = f"INSERT INTO bench_plain ({ways.ROWS}) SELECT {ways.ROWS} FROM bench_ready"
        clock.run("bare insert of ready rows", ways.timed_sql(ready), counts=number > 0)
        ways.run_sql("TRUNCATE bench_plain")
        clock.run("bare insert", ways.timed_sql(f"INSERT INTO bench_plain ({ways.ROWS}) {selected}"), counts=number > 0)
        clock.run("preview", partial(ways.preview, now=now), counts=number > 0)


def measure_enforcing(clock: Clock, *, now: datetime, rounds: int, slow_rounds: int) -> None:
    candidates: Mapping[str, tuple[int, Callable[[], object]]] = {
        "one delete": (rounds, ways.delete_at_once),
        "enforcement": (rounds, partial(ways.enforce, now=now)),
        "user by user in Python": (slow_rounds, partial(ways.enforce_in_python, now=now)),
    }
    copy, left = standalone.COPY, set()
    for number in range(rounds):
        for name, (times, act) in candidates.items():
            if number < times:
                use_fresh(copy)
                clock.run(name, act)
                left.add(ways.survivors())
                connection.close()
    store_1m.drop(copy)
    if len(left) != 1:
        raise SystemExit(f"The ways leave different memories: {left}")


def use_fresh(copy: str) -> None:
    """Copy the prepared store, with nothing left to write from making it, and read it once."""
    connection.close()
    store_1m.clone(standalone.PREPARED, copy)
    ways.use(copy)
    ways.run_sql("CHECKPOINT")
    ways.run_sql("SELECT sum(tokens) FROM store_longtermmemory")


def measure_steady(clock: Clock, size: int, *, share: float, now: datetime, rounds: int) -> None:
    """Load a store of the same size, in which nothing is too old, where 1 % of the users are over a cap of `size` memories."""
    address = standalone.STEADY
    store_1m.recreate(address)
    store_1m.migrate(address)
    with psycopg.connect(address, autocommit=True) as server:
        store_1m.fill(server, steady_users(size, share), now=now)
        server.execute("VACUUM ANALYZE")
    ways.use(address)
    ways.govern(RetentionPolicy({}, RelevanceRule(ttl_days=501, max_records=size, max_tokens=80 * (size + 20))), now=now)
    measure_selecting(clock, f"steady, users of {size}", now=now, rounds=rounds)
    connection.close()
    store_1m.drop(address)


def steady_users(size: int, share: float) -> list[store_1m.User]:
    dice, users = Random(size), round(USERS * share)
    crowded = [size + dice.randint(1, 20) for _ in range(users // 100)]
    if size > 50:
        crowded += [size] * len(crowded)  # and as many who are at their cap
    left, others = round(MEMORIES * share) - sum(crowded), users - len(crowded)
    return [store_1m.User(memories) for memories in [*crowded, *(left // others + (at < left % others) for at in range(others))]]


def report(clock: Clock) -> str:
    rows = [(name, f"{taken.ms:,.0f}", f"{taken.best_ms:,.0f}", len(taken.seconds)) for name, taken in clock.times.items()]
    verdicts = [(name, f"{clock.ratio(goal):.2f}", goal.text, goal.verdict(clock.ratio(goal))) for name, goal in GOALS.items()]
    verdicts += [(name, f"{clock.ratio(goal):.2f}", "", "") for name, goal in BESIDE.items()]
    return f"{table(('ms', 'median', 'best', 'rounds'), rows)}\n\n{table(('ratio', 'measured', 'goal', ''), verdicts)}"


def as_json(clock: Clock) -> str:
    ratios = {name: clock.ratio(goal) for name, goal in {**GOALS, **BESIDE}.items()}
    return json.dumps({"ms": {name: [1000 * each for each in taken.seconds] for name, taken in clock.times.items()}, "ratios": ratios})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reuse", action="store_true", help="take the loaded store that an earlier measurement kept")
    parser.add_argument("--keep", action="store_true", help="leave the loaded store there")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=1, help="rounds of the way in Python, which takes a minute")
    parser.add_argument("--share", type=float, default=1.0, help="0.01 for a store of a hundredth of the size, for a try")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    now, clock = datetime.now(UTC), Clock()
    store_1m.ready(standalone.LOADED, reuse=given.reuse, share=given.share)
    store_1m.clone(standalone.LOADED, standalone.PREPARED)
    select_and_record(clock, now=now, rounds=given.rounds)
    measure_enforcing(clock, now=now, rounds=given.rounds, slow_rounds=given.slow_rounds)
    store_1m.drop(standalone.PREPARED)
    for size in (50, 500):
        measure_steady(clock, size, share=given.share, now=now, rounds=given.rounds)
    if not given.keep:
        store_1m.drop(standalone.LOADED)
    print(as_json(clock) if given.json else report(clock))


if __name__ == "__main__":
    main()
