"""Taking times side by side: every round runs each candidate once, so that what slows the machine slows all of them."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from django.db import connection

T = TypeVar("T")


def there(value: T | None) -> T:
    """Return what must be there for a measurement to mean anything, as the job of a run that was asked for."""
    if value is None:
        raise SystemExit("What was to be measured is not there.")
    return value


@dataclass
class Times:
    """What one candidate took, round by round."""

    seconds: list[float] = field(default_factory=list)
    sql_seconds: list[float] = field(default_factory=list)  # of these, waiting for the database
    queries: int = 0

    @property
    def ms(self) -> float:
        return 1000 * statistics.median(self.seconds)

    @property
    def best_ms(self) -> float:
        return 1000 * min(self.seconds)

    @property
    def sql_ms(self) -> float:
        return 1000 * statistics.median(self.sql_seconds)

    @property
    def python_ms(self) -> float:
        """Everything but waiting for the database."""
        return 1000 * statistics.median(whole - sql for whole, sql in zip(self.seconds, self.sql_seconds, strict=True))

    def summary(self) -> dict[str, float]:
        return {"median": self.ms, "best": self.best_ms, "database": self.sql_ms, "rest": self.python_ms, "queries": self.queries}


def side_by_side(candidates: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 2) -> dict[str, Times]:
    """Run each candidate once in every round. The first rounds, which fill caches, are not counted."""
    times = {name: Times() for name in candidates}
    for number in range(warm_up + rounds):
        for name, run in candidates.items():
            whole, waits = _one(run)
            if number >= warm_up:
                times[name].seconds.append(whole)
                times[name].sql_seconds.append(sum(waits))
                times[name].queries = len(waits)
    return times


def _one(run: Callable[[], object]) -> tuple[float, list[float]]:
    waits: list[float] = []

    def clocked(execute, statement, parameters, many, context):  # type: ignore[no-untyped-def]
        begun = time.perf_counter()
        try:
            return execute(statement, parameters, many, context)
        finally:
            waits.append(time.perf_counter() - begun)

    with connection.execute_wrapper(clocked):
        begun = time.perf_counter()
        run()
        return time.perf_counter() - begun, waits


def ratio(one: Times, other: Times) -> float:
    """Return how many times as long `one` takes: the median over the rounds, each compared with itself."""
    return statistics.median(mine / theirs for mine, theirs in zip(one.seconds, other.seconds, strict=True))


def surroundings() -> str:
    """Return what the figures depend on beside the code."""
    names = ("server_version", "shared_buffers", "work_mem", "jit", "max_parallel_workers_per_gather")
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, current_setting(name) FROM unnest(%s::text[]) AS name", [list(names)])
        server = ", ".join(f"{name} {value}" for name, value in cursor.fetchall())
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d}, {machine}; PostgreSQL: {server}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows under each other, the first column to the left and the numbers to the right."""
    lines = [list(map(str, line)) for line in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    )
