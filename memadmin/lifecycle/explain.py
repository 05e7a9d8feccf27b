"""Where one memory stands against its policy: what a person asks before they pin."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from memadmin.store.models import LongTermMemory, Subject
from memadmin.store.scoring import access_sql, score_sql
from retention import scoring
from retention.records import MemoryFacts
from retention.rules import RelevanceRule

_LINE = """
WITH live AS (
    SELECT m.id, m.tokens, m.pinned OR m.held AS exempt, {score} AS score, {access} AS accessed
    FROM store_longtermmemory AS m
    WHERE m.container_id = %s AND m.subject_id = %s
      AND ({ttl} IS NULL OR m.created_at IS NULL OR m.created_at >= {ttl} OR m.pinned OR m.held)
),
held AS (SELECT count(*) AS n, coalesce(sum(tokens), 0) AS tokens FROM live),
ranked AS (
    SELECT score, row_number() OVER w AS place, sum(tokens) OVER w - tokens AS before
    FROM live WHERE NOT exempt
    WINDOW w AS (
        ORDER BY CASE WHEN tokens > {max_tokens} THEN 0 ELSE 1 END, score, accessed IS NULL, accessed, id
        ROWS UNBOUNDED PRECEDING
    )
)
SELECT min(score) FROM ranked, held
WHERE (held.n >= {max_records} OR held.tokens >= {max_tokens})
  AND held.n - (place - 1) <= {max_records} AND held.tokens - before <= {max_tokens}
"""
NO_LIMIT = 2**60


def facts_of(memory: LongTermMemory) -> MemoryFacts:
    """Return what a rule may know of a memory."""
    return MemoryFacts(
        key=memory.pk,
        subject=memory.subject_id,
        created_at=memory.created_at,
        last_updated_at=memory.last_updated_at,
        last_accessed_at=memory.last_accessed_at,
        hits=memory.hits,
        importance=memory.importance,
        tokens=memory.tokens,
        pinned=memory.pinned,
        held=memory.held,
    )


def cut_line(subject: Subject, rule: RelevanceRule, *, now: datetime) -> int | None:
    """Return the lowest score, in millionths, that survives the caps of this user; None while the user is under them.

    Its meaning is `retention.victims.cut_line`.
    """
    if not _reaches_a_cap(subject, rule):
        return None
    statement = _LINE.format(
        score=score_sql(rule, now=now, alias="m"),
        access=access_sql(rule, alias="m"),
        ttl="NULL" if rule.ttl is None else _time(now - rule.ttl),
        max_records=NO_LIMIT if rule.max_records is None else rule.max_records,
        max_tokens=NO_LIMIT if rule.max_tokens is None else rule.max_tokens,
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [subject.container_id, subject.pk])
        line: int | None = cursor.fetchone()[0]
    return line


def falls_below(facts: MemoryFacts, line: int, rule: RelevanceRule, *, now: datetime) -> datetime | None:
    """Return when the memory drops below the line if it stays unread; None if never."""
    return scoring.falls_below(facts, line, weights=rule.weights, half_life=rule.half_life, now=now)


def _reaches_a_cap(subject: Subject, rule: RelevanceRule) -> bool:
    """Ask the live counters, which hold the expired ones too: under them nobody is over."""
    records = rule.max_records is not None and subject.long_term >= rule.max_records
    return records or (rule.max_tokens is not None and subject.tokens >= rule.max_tokens)


def _time(moment: datetime) -> str:
    text = str(connection.ops.adapt_datetimefield_value(moment))
    return f"CAST('{text}' AS timestamptz)" if connection.vendor == "postgresql" else f"'{text}'"
