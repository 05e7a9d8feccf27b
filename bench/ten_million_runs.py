"""Evicting at ten million, against one DELETE of as many: on a copy of the store, which is dropped afterwards.

A first preview of the default policy names a quarter of all memories. Stretches of it, one behind the other, become runs of their own:
each candidate of each round gets one, so that all work on the same table, on users next to each other, and on none that is gone already.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bench import store_1m, ten_million_writes
from bench import ten_million_setup as setup
from bench.ten_million_setup import Beside, run_sql
from bench.timing import there
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import runs
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.totals import Totals, TypeTotals
from memadmin.store.models import Container
from retention.rules import MemoryType

VICTIMS = "lifecycle_runvictim"
WAYS = ("one delete", "enforcement", "two workers", "with the archive")
IDLE = 6.0  # seconds of traffic alone


class Stretches:
    """The victims of the first preview, handed out by the stretch."""

    def __init__(self, run: Run, length: int) -> None:
        self._run, self._length, self._begin = run, length, 0

    def next_run(self, *, times: int = 1) -> Run:
        begin, self._begin = self._begin, self._begin + self._length * times
        total = self._begin - begin
        totals = Totals({MemoryType.LONG_TERM: TypeTotals(total=total, stored=total)}, users=1)
        now = datetime.now(UTC)
        run = Run.objects.create(
            container=self._run.container, trigger=self._run.trigger, policy_version=self._run.policy_version, document=self._run.document,
            policy_digest=self._run.policy_digest, as_of=now, created_at=now, actor=setup.ACTOR, state=RunState.READY,
            high_water=self._run.high_water, totals=totals.as_json(), planned=total,
        )  # fmt: skip
        columns = "item_kind, item_id, item_uid, subject_id, reasons, score, tokens, revision, last_accessed_at, dated_at"
        run_sql(
            f"INSERT INTO {VICTIMS} (run_id, seq, {columns}) SELECT {run.pk}, seq - {begin}, {columns} FROM {VICTIMS} "
            f"WHERE run_id = {self._run.pk} AND seq > {begin} AND seq <= {self._begin}"
        )
        run_sql(f"ANALYZE {VICTIMS}")
        return run


def measure(base: str, *, memories: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of each way by round, the stalls and percentiles of others' traffic, and the peaks of the workers."""
    store_1m.clone(base, setup.COPY)
    setup.use(setup.COPY)
    Container.objects.update(archive_days=None)
    run_sql("SELECT sum(tokens) FROM store_longtermmemory")
    planned = Beside(setup.COPY, "plan", setup.EVERYONE).go().end()
    length = max(20_000, memories // 100)
    stretches = Stretches(Run.objects.get(pk=planned["run"]), length)
    rounds = max(1, min(rounds, (planned["planned"] // length - 5) // len(WAYS)))
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    peaks = [planned["peak_mb"]]
    for number in range(rounds):
        for name in WAYS if number % 2 == 0 else reversed(WAYS):
            run = stretches.next_run()
            run_sql("CHECKPOINT")
            taken, peak = _carry_out(name, run)
            seconds[name].append(taken)
            peaks.append(peak)
            store_1m.say(f"{name}, {length:,} memories: {taken:.2f} s")
    others = {**_traffic(stretches), "writes": ten_million_writes.measure()}
    setup.use(base)
    return {"plan": planned, "length": length, "seconds": seconds, "peak_mb": max(peaks), **others}


def _carry_out(name: str, run: Run) -> tuple[float, float]:
    if name == "one delete":
        return _clocked(lambda: _delete(run)), 0.0
    Container.objects.update(archive_days=30 if name == "with the archive" else None)
    workers = 2 if name == "two workers" else 1
    _start(run)
    beside = [Beside(setup.COPY, "enforce", run.number) for _ in range(workers)]
    peaks: list[float] = []

    def all_of_it() -> None:
        for worker in beside:
            worker.go()
        peaks.extend(worker.end()["peak_mb"] for worker in beside)
        runs.finish(run, now=datetime.now(UTC))

    taken = _clocked(all_of_it)
    _check(run)
    return taken, max(peaks)


def _start(run: Run) -> None:
    runs.start_within(run, actor=setup.ACTOR, now=datetime.now(UTC))


def _check(run: Run) -> None:
    run.refresh_from_db()
    if (run.state, run.removed) != (RunState.FINISHED, run.planned):
        raise SystemExit(f"{run} is {run.state} and evicted {run.removed:,} of {run.planned:,}.")


def _delete(run: Run) -> None:
    run_sql(f"DELETE FROM store_longtermmemory WHERE id IN (SELECT item_id FROM {VICTIMS} WHERE run_id = {run.pk})")


def _traffic(stretches: Stretches) -> dict[str, Any]:
    """Let others work meanwhile: first beside nothing, then beside a run; and wait for rows that a run and one DELETE remove."""
    Container.objects.update(archive_days=None)
    idle, beside_run = _beside("any", lambda: time.sleep(IDLE)), _beside("any", _as_run(stretches.next_run(times=2)))
    stalls = {}
    for name, act_of in (("run", _as_run), ("delete", lambda run: lambda: _delete(run))):
        run = stretches.next_run()
        run_sql("DROP TABLE IF EXISTS bench_touched")
        run_sql(f"CREATE TABLE bench_touched AS SELECT item_id AS id FROM {VICTIMS} WHERE run_id = {run.pk}")
        run_sql("CHECKPOINT")
        stalls[name] = max(_beside("victims", act_of(run))["touch"])
    return {"idle": _p95(idle), "beside a run": _p95(beside_run), "stall": stalls}


def _as_run(run: Run) -> Callable[[], object]:
    def act() -> None:
        job = runs.start_reserved(run, actor=setup.ACTOR, now=datetime.now(UTC))
        run_inline(there(job))

    return act


def _beside(pattern: str, act: Callable[[], object]) -> dict[str, list[float]]:
    others = Beside(setup.COPY, "traffic", pattern).go()
    time.sleep(1)  # until they are at it
    act()
    answer = others.end(stop=True)
    return {name: answer[name] for name in ("touch", "page")}


def _p95(taken: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.quantiles(each, n=20)[-1] for name, each in taken.items() if len(each) > 1}


def _clocked(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun
