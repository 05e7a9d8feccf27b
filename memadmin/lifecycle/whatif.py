"""What a policy that need not be stored would do: later, to the scores, to whom, and at other caps. Reads only.

Every figure is of the one selection, asked as of a moment. Of a later one it is assumed that until then nobody reads or writes and no
run takes place. Costs are those of one pass over the memories of the container, or of the users over a cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from memadmin.lifecycle.cuts import cut_of
from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.selection import NOT_OVERSIZED, expired_sql, ranked_of_each, select
from memadmin.lifecycle.snapshot import one_snapshot
from memadmin.lifecycle.summing import sum_selections
from memadmin.lifecycle.totals import Totals
from memadmin.store.models import Container
from memadmin.store.scoring import score_sql
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy
from retention.victims import COUNT_CAP

BUCKETS = 20
BUCKET = 1_000_000 // BUCKETS  # millionths
CAPS = (50, 100, 250, 500, 1_000, 2_500, 5_000)
NO_LIMIT = 2**60


@dataclass(frozen=True, slots=True)
class Bar:
    """The memories of one range of scores, `low` to `high` in millionths: pinned or held, else going or staying."""

    low: int
    high: int
    stays: int = 0
    goes: int = 0
    exempt: int = 0

    @property
    def total(self) -> int:
        return self.stays + self.goes + self.exempt


@dataclass(frozen=True, slots=True)
class Lines:
    """Where users at or over a cap are cut: each has a score of their own, in millionths, below which memories go."""

    users: int
    lowest: int
    median: int
    highest: int


@dataclass(frozen=True, slots=True)
class Scores:
    bars: tuple[Bar, ...]
    lines: Lines | None

    @property
    def total(self) -> int:
        return sum(bar.total for bar in self.bars)


@dataclass(frozen=True, slots=True)
class Loser:
    subject_id: int
    items: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Kept:
    """What would stay if no user kept more than `cap` memories (None: as many as they have)."""

    cap: int | None
    records: int
    tokens: int
    users: int  # that would lose something to the cap


def going(container: Container, policy: RetentionPolicy, *, now: datetime, days: int = 0) -> Totals:
    """Return what would go if a run took place in so many days, none before, and nobody read or wrote until then."""
    as_of = now + timedelta(days=days)
    with _view():
        # As many as all the nights until then could take together.
        selections = list(select(container, policy, now=as_of, count_cap=COUNT_CAP * (days + 1)))
        return sum_selections(container, selections, limit=0).totals


def heaviest_losers(container: Container, policy: RetentionPolicy, *, now: datetime, limit: int = 10) -> list[Loser]:
    """Return the users that would lose most items now, those who lose most first."""
    with _view():
        parts = [f"SELECT subject_id, tokens FROM ({selection.sql}) s" for selection in select(container, policy, now=now)]
        if not parts:
            return []
        sums = f"SELECT subject_id, COUNT(*) AS items, SUM(tokens) AS tokens FROM ({' UNION ALL '.join(parts)}) v GROUP BY subject_id"
        return [Loser(key, int(items), int(tokens)) for key, items, tokens in _rows(f"{sums} ORDER BY 2 DESC, 1 LIMIT {limit:d}")]


def scores(container: Container, policy: RetentionPolicy, *, now: datetime) -> Scores:
    """Return how the long-term memories of the container are spread over the scores of the rule, and what would go of each range."""
    rule = policy.relevance or RelevanceRule()
    bucket = _least(f"{score_sql(rule, now=now, alias='m')} / {BUCKET}")
    everything = (
        f"SELECT {bucket} AS bucket, (m.pinned OR m.held) AS exempt FROM store_longtermmemory m WHERE m.container_id = {container.pk}"
    )
    with _view():
        counted = {(int(at), bool(exempt)): int(n) for at, exempt, n in _grouped(everything, "bucket, exempt")}
        goes: dict[int, int] = {}
        for selection in select(container, policy, now=now):
            if selection.kind == ItemKind.LONG_TERM and policy.relevance is not None:
                judged = f"SELECT {_least(f'v.score / {BUCKET}')} AS bucket FROM ({selection.sql}) v"
                goes = {int(at): int(n) for at, n in _grouped(judged, "bucket")}
        bars = tuple(_bar(at, counted, goes) for at in range(BUCKETS))
        return Scores(bars, _lines(container, policy, now=now))


def kept_at_caps(container: Container, policy: RetentionPolicy, *, now: datetime, caps: Sequence[int] = CAPS) -> list[Kept]:
    """Return what would stay at each cap of memories per user, all else in the policy as it is, and last without such a cap."""
    rule = policy.relevance or RelevanceRule()
    limits = sorted(set(caps))
    tokens = NO_LIMIT if rule.max_tokens is None else rule.max_tokens
    over = f"SELECT id FROM store_subject WHERE container_id = {container.pk} AND (long_term > {limits[0]} OR tokens > {tokens})"
    with _view():
        spared = _spared(container, policy, now=now)
        ranked = ranked_of_each(container, rule, over, spared=spared, now=now)
        columns = ", ".join(_kept_columns(f"r.remaining <= {limit} AND r.weight <= {tokens}") for limit in (*limits, NO_LIMIT))
        [large] = _rows(f"SELECT {columns} FROM {ranked}")
        under = f"m.container_id = {container.pk} AND (m.pinned OR m.held OR ({spared})) AND m.subject_id NOT IN ({over})"
        [(records, weight)] = _rows(f"SELECT COUNT(*), COALESCE(SUM(m.tokens), 0) FROM store_longtermmemory m WHERE {under}")
        users = ", ".join(f"COALESCE(SUM(CASE WHEN long_term > {limit} THEN 1 ELSE 0 END), 0)" for limit in limits)
        [losing] = _rows(f"SELECT {users} FROM store_subject WHERE container_id = {container.pk}")
    found = [
        Kept(limit, int(records) + int(large[2 * at]), int(weight) + int(large[2 * at + 1]), int(losing[at]))
        for at, limit in enumerate(limits)
    ]
    return [*found, Kept(None, int(records) + int(large[-2]), int(weight) + int(large[-1]), 0)]


def _kept_columns(within: str) -> str:
    stays = f"r.exempt OR ({within})"
    return f"COALESCE(SUM(CASE WHEN {stays} THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN {stays} THEN r.tokens ELSE 0 END), 0)"


def _lines(container: Container, policy: RetentionPolicy, *, now: datetime) -> Lines | None:
    """Return the spread of the cut lines. The meaning of one is `retention.victims.cut_line`."""
    rule = policy.relevance
    if rule is None or (rule.max_records is None and rule.max_tokens is None):
        return None
    records = NO_LIMIT if rule.max_records is None else rule.max_records
    tokens = NO_LIMIT if rule.max_tokens is None else rule.max_tokens
    at_cap = f"SELECT id FROM store_subject WHERE container_id = {container.pk} AND (long_term >= {records} OR tokens >= {tokens})"
    ranked = ranked_of_each(container, rule, at_cap, spared=_spared(container, policy, now=now), now=now)
    stays = f"NOT r.exempt AND r.remaining <= {records} AND r.weight <= {tokens}"
    of_users = (
        f"SELECT MIN(CASE WHEN {stays} THEN r.rank & {NOT_OVERSIZED - 1} END) AS line FROM {ranked} GROUP BY r.subject_id "
        f"HAVING COUNT(*) >= {records} OR SUM(r.tokens) >= {tokens}"
    )
    middle = "SELECT line FROM cut ORDER BY line LIMIT 1 OFFSET (SELECT COUNT(*) / 2 FROM cut)"
    cut = f"WITH cut AS MATERIALIZED (SELECT line FROM ({of_users}) u WHERE line IS NOT NULL)"
    [(users, lowest, median, highest)] = _rows(f"{cut} SELECT COUNT(*), MIN(line), ({middle}), MAX(line) FROM cut")
    return Lines(int(users), int(lowest), int(median), int(highest)) if users else None


def _spared(container: Container, policy: RetentionPolicy, *, now: datetime) -> str:
    """Return the condition for long-term memories that age, number and time to live leave."""
    cut = cut_of(container, SOURCES[ItemKind.LONG_TERM], policy.rule(MemoryType.LONG_TERM), now=now)
    return f"({cut.either}) IS NOT TRUE AND ({expired_sql(policy.relevance, now=now)}) IS NOT TRUE"


def _bar(at: int, counted: dict[tuple[int, bool], int], goes: dict[int, int]) -> Bar:
    exposed, going_now = counted.get((at, False), 0), goes.get(at, 0)
    return Bar(at * BUCKET, (at + 1) * BUCKET, max(0, exposed - going_now), going_now, counted.get((at, True), 0))


def _least(bucket: str) -> str:
    """The full score falls into the last range."""
    return f"{'LEAST' if connection.vendor == 'postgresql' else 'MIN'}({bucket}, {BUCKETS - 1})"


def _grouped(rows: str, columns: str) -> list[Any]:
    return _rows(f"SELECT {columns}, COUNT(*) FROM ({rows}) b GROUP BY {columns}")


def _view() -> AbstractContextManager[None]:
    """One moment on PostgreSQL. On SQLite that would stop everybody's writes, and these figures bear a row that comes in between."""
    return one_snapshot() if connection.vendor == "postgresql" else nullcontext()


def _rows(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
