"""The working memories that go without a session, at scale: `retention.orphans` in SQL. A property test holds the two equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from memadmin.lifecycle.items import moment_sql
from memadmin.store.lost import LOST, names_nobody_sql
from memadmin.store.models import Container
from retention.orphans import SESSIONS_CAP, Terms, first_of
from retention.victims import Reason


@dataclass(frozen=True, slots=True)
class Lost:
    """A SELECT of the victims, in the columns of `selection`, and how many ids of lost sessions are left for later runs."""

    sql: str
    left_for_later: int = 0


def select_lost(container: Container, terms: Terms, *, now: datetime, cap: int = SESSIONS_CAP) -> Lost | None:
    """Return the working memories that go at `now` by the terms; None where no rule takes any."""
    parts = [_rows(container, condition, reason) for reason, condition in _simple(terms, now=now)]
    left = 0
    if terms.orphan_age is not None and terms.grace_is_over(now):
        aged = aged_sql(now - terms.orphan_age)
        taken, left = _taken(container, aged, seed=seed_of(container, now), cap=cap)
        parts.append(_rows(container, f"m.session_ref IS NOT NULL AND {aged}{taken}", Reason.ORPHAN))
    return Lost(" UNION ALL ".join(parts), left) if parts else None


def seed_of(container: Container, now: datetime) -> str:
    """Return what draws the place at which a run begins with lost sessions: the same for every look at one moment."""
    return f"{container.uid} {now.isoformat()}"


def aged_sql(cutoff: datetime) -> str:
    return f"m.created_at < {moment_sql(cutoff)}"


def _simple(terms: Terms, *, now: datetime) -> Iterator[tuple[Reason, str]]:
    """Yield the rules that need no look at which sessions are lost."""
    if terms.ttl is not None:
        yield Reason.TTL, aged_sql(now - terms.ttl)
    if terms.unattributed and terms.orphan_age is not None and terms.grace_is_over(now):
        yield Reason.UNATTRIBUTED, f"{names_nobody_sql()} AND {aged_sql(now - terms.orphan_age)}"


def _rows(container: Container, condition: str, reason: Reason) -> str:
    return (
        f"SELECT m.id AS item_id, m.uid AS item_uid, m.subject_id, {reason.bit} AS reasons, CAST(NULL AS integer) AS score, 0 AS tokens, "
        f"m.revision, CAST(NULL AS timestamptz) AS last_accessed_at, m.created_at AS dated_at "
        f"FROM store_workingmemory m WHERE m.container_id = {container.pk} AND NOT m.held AND {LOST} AND {condition}"
    )


def _taken(container: Container, aged: str, *, seed: str, cap: int) -> tuple[str, int]:
    """Return a further condition for the ids that this run takes ("" for all of them), and how many it leaves."""
    lost = (
        f"SELECT m.session_ref, MIN(m.id) AS first FROM store_workingmemory m WHERE m.container_id = {container.pk} "
        f"AND NOT m.held AND {LOST} AND m.session_ref IS NOT NULL AND {aged} GROUP BY m.session_ref"
    )
    number = _one(f"SELECT COUNT(*) FROM ({lost}) l")
    if number <= cap:
        return "", 0
    first = first_of(number, seed=seed, cap=cap)
    until_the_end = min(cap, number - first)
    stretches = [(first, until_the_end), (0, cap - until_the_end)]
    ids = " UNION ALL ".join(
        f"SELECT session_ref FROM (SELECT session_ref FROM ({lost}) l ORDER BY first LIMIT {length} OFFSET {start}) s{start}"
        for start, length in stretches
        if length
    )
    return f" AND m.session_ref IN ({ids})", number - cap


def _one(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])
