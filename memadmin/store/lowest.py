"""The lowest scores of many memories without scoring all of them: a threshold algorithm over lists that indexes have in order.

A score is what recency gives, which falls with the last access whatever the half-life, and a static part that only recalls and edits
move. So the beginnings of three lists are read: by last access, by creation for what was never recalled, and by the static part.
Whatever stands behind them in all lists scores at least what their ends promise. Once enough of what was read lies below that, it is
the answer; else the beginnings get longer, and in the end everything is scored. Source: Fagin, Lotem, Naor, "Optimal aggregation
algorithms for middleware", 2003, algorithm TA, with lists read in blocks.

Any weights and any half-life may be asked for. The static list is kept in order of the default weights, and promises for others as
much as the less favourable of its two terms; where that is too little, the scan answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from memadmin.store.models import Container, Subject
from memadmin.store.scoring import MOST_HALF_LIVES, SMALLEST_IMPORTANCE, access_sql, micros_sql, microseconds, score_sql
from retention.rules import RelevanceRule

STATIC_WEIGHTS = (0.2, 0.4)  # of frequency and importance in the index: the default weights
FIRST_READ = 256  # of each list
LONGER = 4  # times, from round to round
WORTH_A_SCAN = 16  # parts of all rows: reading more of the lists than one costs as much as scoring all of them
INACCURATE = 1e-9  # more than floats lose on the way, less than half a millionth
NEVER = 2**62  # microseconds: of a memory without any date, which comes last
COLUMNS = "m.id, m.hits, m.importance, m.last_accessed_at, m.created_at"
EXPOSED = "NOT m.pinned AND NOT m.held"
BOUNDS, ROW = range(2)


@dataclass(frozen=True, slots=True, order=True)
class Lowest:
    """A memory in the order in which it would go: score in millionths, access that counts in microseconds, key."""

    score: int
    accessed: int
    id: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """Whose memories are looked through: a container's, or one user's of it. Conditions stand over the alias m."""

    container: Container
    subject: Subject | None = None

    @property
    def condition(self) -> str:
        of_subject = f" AND m.subject_id = {self.subject.pk}" if self.subject else ""
        return f"m.container_id = {self.container.pk}{of_subject} AND {EXPOSED}"

    @property
    def keys(self) -> str:
        return "m.container_id, m.subject_id" if self.subject else "m.container_id"

    @property
    def unread(self) -> str:
        """Of a container there is no list of the unread alone; the recalled ones in the list of all only make it longer."""
        return "m.created_at IS NOT NULL" + (" AND m.last_accessed_at IS NULL" if self.subject else "")

    @property
    def indexes(self) -> list[str]:
        kind = "subject" if self.subject else "container"
        return [f"longterm_{kind}_read", f"longterm_{kind}_static", *(["longterm_subject_unread"] if self.subject else [])]

    def size(self) -> int:
        """Return how many memories there are, by the counters."""
        if self.subject:
            return self.subject.long_term - self.subject.pinned_long_term
        return Subject.objects.of_container(self.container).totals(["long_term"])["long_term"]


def lowest(
    container: Container, rule: RelevanceRule, *, now: datetime, count: int, subject: Subject | None = None, behind: Lowest | None = None
) -> list[Lowest]:
    """Return the `count` memories with the lowest scores at `now` of a container, or of one user, that are neither pinned nor held.

    In the order in which they would go: by score, then the older access, then the key; those behind `behind`, if it is given.
    """
    crowd = Crowd(container, subject)
    found = by_threshold(crowd, rule, now=now, count=count, behind=behind)
    return by_scan(crowd, rule, now=now, count=count, behind=behind) if found is None else found


def by_threshold(crowd: Crowd, rule: RelevanceRule, *, now: datetime, count: int, behind: Lowest | None = None) -> list[Lowest] | None:
    """Like `lowest`, by the lists alone. None: they are not there, or reading that much of them would cost more than a scan."""
    if not has_indexes(crowd):
        return None
    for length in _lengths(crowd, count):
        found, promise = _beginnings(crowd, rule, length, now=now, count=count, behind=behind)
        if promise is None or (len(found) == count and (found[-1].score, found[-1].accessed) < promise):
            return found
    return None


def by_scan(crowd: Crowd, rule: RelevanceRule, *, now: datetime, count: int, behind: Lowest | None = None) -> list[Lowest]:
    """Like `lowest`, by scoring every memory."""
    rows = f"SELECT {_scored(rule, now=now)} FROM store_longtermmemory m WHERE {crowd.condition}"
    return [Lowest(*row) for row in _rows(f"SELECT score, accessed, id FROM ({rows}) s {_in_order(count, behind)}")]


def has_indexes(crowd: Crowd) -> bool:
    """Whether the lists are there: an installation that writes very much may do without."""
    table = (
        "pg_class WHERE relkind = 'i' AND relname" if connection.vendor == "postgresql" else "sqlite_master WHERE type = 'index' AND name"
    )
    names = ", ".join(f"'{name}'" for name in crowd.indexes)
    [[found]] = _rows(f"SELECT COUNT(*) FROM {table} IN ({names})")
    return bool(found == len(crowd.indexes))


def static_sql(alias: str = "m") -> str:
    """Return SQL for the static part of a score under the default weights, word for word that of the indexes."""
    frequency, importance = STATIC_WEIGHTS
    if connection.vendor == "postgresql":
        one = "CAST(1.0 AS double precision)"
        log = f"ln({one} + {alias}.hits) / CAST({math.log(101)!r} AS double precision)"
        term = f"CAST({frequency} AS double precision) * LEAST({one}, {log})"
        worth = f"GREATEST({alias}.importance, CAST({SMALLEST_IMPORTANCE} AS double precision))"
        return f"({term} + CAST({importance} AS double precision) * {worth})"
    log = f"ln(1.0 + {alias}.hits) / {math.log(101)!r}"
    return f"({frequency} * MIN(1.0, {log}) + {importance} * MAX({alias}.importance, {SMALLEST_IMPORTANCE}))"


def _lengths(crowd: Crowd, count: int) -> Iterator[int]:
    """Yield how much of each list to read, round after round, for as long as a scan would cost more."""
    length, most = max(FIRST_READ, LONGER * count), None
    while length <= 8 * FIRST_READ or length <= (most := crowd.size() // WORTH_A_SCAN if most is None else most):
        yield length
        length *= LONGER


def _beginnings(
    crowd: Crowd, rule: RelevanceRule, length: int, *, now: datetime, count: int, behind: Lowest | None
) -> tuple[list[Lowest], tuple[int, int] | None]:
    """Return the lowest scores in the beginnings of the lists, and the least score and access of all other rows; None: there are none."""
    found, bounds = [], []
    for part, number, micros, more in _rows(_statement(crowd, rule, length, now=now, count=count, behind=behind)):
        if part == ROW:
            found.append(Lowest(number, micros, int(more)))
        else:
            bounds.append((number, micros, more))
    (read, last_access, _), (unread, last_creation, _), (static, _, last_static) = bounds
    if static < length:
        return found, None
    # A list that was read to its end has no row left.
    accesses = [*([last_access] if read == length else []), *([last_creation - _micros(rule.half_life)] if unread == length else [])]
    recency = min([1.0, *(_recency(access, rule, now=now) for access in accesses)])
    least = rule.weights.recency * recency + _static_share(rule) * last_static - INACCURATE
    return found, (math.floor(least * 1e6 + 0.5), min([NEVER, *accesses]))


def _statement(crowd: Crowd, rule: RelevanceRule, length: int, *, now: datetime, count: int, behind: Lowest | None) -> str:
    lists = {
        "r": ("m.last_accessed_at IS NOT NULL", "m.last_accessed_at"),
        "u": (crowd.unread, "m.created_at"),
        "s": ("1 = 1", static_sql()),
    }
    beginnings = ", ".join(
        f"{name} AS MATERIALIZED (SELECT {COLUMNS} FROM {table_sql(crowd, key)} WHERE {crowd.condition} AND {rows} "
        f"ORDER BY {crowd.keys}, {key}, m.id LIMIT {length})"
        for name, (rows, key) in lists.items()
    )
    seen = f"SELECT {_scored(rule, now=now)} FROM (SELECT * FROM r UNION SELECT * FROM u UNION SELECT * FROM s) m"
    no_number = "CAST(NULL AS bigint)" if connection.vendor == "postgresql" else "NULL"
    return (
        f"WITH {beginnings} SELECT {BOUNDS}, COUNT(*), {micros_sql('MAX(m.last_accessed_at)')}, 0 FROM r m "
        f"UNION ALL SELECT {BOUNDS}, COUNT(*), {micros_sql('MAX(m.created_at)')}, 0 FROM u m "
        f"UNION ALL SELECT {BOUNDS}, COUNT(*), {no_number}, MAX({static_sql()}) FROM s m "
        f"UNION ALL SELECT {ROW}, score, accessed, id FROM (SELECT * FROM ({seen}) x {_in_order(count, behind)}) y"
    )


def table_sql(crowd: Crowd, key: str) -> str:
    """Return SQL for the table as a list reads it.

    SQLite knows how many rows a user has on average, and would sort those of a user with very many: so it is told the index of the
    static part.
    """
    if connection.vendor == "sqlite" and key == static_sql():
        return f"store_longtermmemory m INDEXED BY {next(name for name in crowd.indexes if name.endswith('_static'))}"
    return "store_longtermmemory m"


def _scored(rule: RelevanceRule, *, now: datetime) -> str:
    score, access = score_sql(rule, now=now, alias="m"), access_sql(rule, alias="m")
    return f"{score} AS score, COALESCE({access}, {NEVER}) AS accessed, m.id AS id"


def _in_order(count: int, behind: Lowest | None) -> str:
    place = f"WHERE (score, accessed, id) > ({behind.score}, {behind.accessed}, {behind.id}) " if behind else ""
    return f"{place}ORDER BY score, accessed, id LIMIT {count}"


def _static_share(rule: RelevanceRule) -> float:
    """Return how much of the static part in the index is sure under the weights of the rule."""
    weights = rule.weights
    return min(weight / kept for weight, kept in zip((weights.frequency, weights.importance), STATIC_WEIGHTS, strict=True))


def _recency(access: int, rule: RelevanceRule, *, now: datetime) -> float:
    return math.pow(0.5, min(MOST_HALF_LIVES, max(0, microseconds(now) - access) / _micros(rule.half_life)))


def _micros(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def _rows(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
