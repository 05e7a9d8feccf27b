"""Where the container-wide rule of one type cuts: both its limits take a beginning of the list "oldest first, then by key".

So a rule comes down to one place in that list, found by counters and an index, and a condition that a range scan answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from memadmin.lifecycle.items import Source, moment_of, moment_sql
from memadmin.lifecycle.models import ItemKind
from memadmin.store.models import Container
from retention.rules import RetentionRule
from retention.victims import COUNT_CAP

NOBODY = "FALSE"


@dataclass(frozen=True, slots=True)
class Cut:
    """Conditions over the exposed rows (alias m). NULL, from a missing date, means no."""

    aged: str
    counted: str
    either: str
    left_for_later: int = 0  # over max_count, beyond the cap of one run

    @property
    def takes_nothing(self) -> bool:
        return self.either == NOBODY


def cut_of(container: Container, source: Source, rule: RetentionRule, *, now: datetime, count_cap: int = COUNT_CAP) -> Cut:
    """Return what the rule takes at `now`. Both sets are as `retention.victims.retention_victims` defines them."""
    aged = aged_sql(source, rule, now=now)
    excess = _excess(container, source, rule)
    if excess <= 0:
        return Cut(aged=aged, counted=NOBODY, either=aged)
    by_age = 0 if rule.age_limit is None else _count(container, source, aged)
    reach = min(excess, by_age + count_cap)
    counted = _beginning(container, source, reach)
    return Cut(
        aged=aged,
        counted=counted,
        either=counted if reach > by_age else aged,
        left_for_later=max(0, excess - max(reach, by_age)),
    )


def aged_sql(source: Source, rule: RetentionRule, *, now: datetime) -> str:
    """Return the condition for rows past the age limit."""
    return NOBODY if rule.age_limit is None else f"{source.date} < {moment_sql(now - rule.age_limit)}"


def exposed_rows(container: Container, source: Source) -> int:
    """Return how many rows of the type are neither pinned nor held, from the counters."""
    total = int(_one(f"SELECT COALESCE(SUM({source.counter}), 0) FROM store_subject WHERE container_id = {container.pk}"))
    if source.kind == ItemKind.HISTORY:
        return total  # an upper bound: pinned entries have no counter
    held = _one(f"SELECT COUNT(*) FROM {source.table} m WHERE m.container_id = {container.pk} AND m.held AND NOT m.pinned")
    return total - int(held)


def _excess(container: Container, source: Source, rule: RetentionRule) -> int:
    if rule.count_limit is None:
        return 0
    exposed = exposed_rows(container, source)
    if source.kind == ItemKind.HISTORY and exposed > rule.count_limit:
        exposed = _count(container, source, "TRUE")
    return exposed - rule.count_limit


def _count(container: Container, source: Source, condition: str) -> int:
    return int(_one(f"SELECT COUNT(*) {_exposed(container, source)} AND {condition}"))


def _beginning(container: Container, source: Source, reach: int) -> str:
    """Return the condition for the first `reach` exposed rows; those without a date come last, by key."""
    dated = f"{_exposed(container, source)} AND {source.date} IS NOT NULL"
    last = _row(f"SELECT {source.date}, m.id {dated} ORDER BY m.container_id, {source.date}, m.id LIMIT 1 OFFSET {reach - 1}")
    if last is not None:
        return f"({source.date}, m.id) <= ({moment_sql(moment_of(last[0]))}, {last[1]})"
    undated = f"{_exposed(container, source)} AND {source.date} IS NULL"
    behind = reach - _count(container, source, f"{source.date} IS NOT NULL")
    last = _row(f"SELECT m.id {undated} ORDER BY m.id LIMIT 1 OFFSET {behind - 1}") if behind else None
    return f"({source.date} IS NOT NULL OR m.id <= {last[0] if last else 0})"


def _exposed(container: Container, source: Source) -> str:
    return f"FROM {source.table} m WHERE m.container_id = {container.pk} AND {source.exposed}"


def _one(sql: str) -> Any:
    row = _row(sql)
    return row[0] if row else None


def _row(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()
