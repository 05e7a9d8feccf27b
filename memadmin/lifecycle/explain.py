"""Where memories stand against their policy: what a person asks before they pin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from memadmin.lifecycle.cuts import Cut, cut_of
from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.selection import NOT_OVERSIZED, expired_sql, ranked_sql
from memadmin.store.models import LongTermMemory, Session, Subject
from retention import scoring
from retention.records import MemoryFacts
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy
from retention.victims import Reason

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


def reasons_now(item: Session | LongTermMemory, subject: Subject, policy: RetentionPolicy, *, now: datetime) -> tuple[Reason, ...]:
    """Return why the policy would evict this very item now; nothing means that it stays. Its meaning is that of a run's selection."""
    return reasons_of([item], subject, policy, now=now)[item.pk]


def reasons_of(
    items: Sequence[Session | LongTermMemory], subject: Subject, policy: RetentionPolicy, *, now: datetime
) -> dict[int, tuple[Reason, ...]]:
    """Like `reasons_now`, by key, for several items of one user and one type: the user is ranked once, not for each."""
    found: dict[int, tuple[Reason, ...]] = dict.fromkeys((item.pk for item in items), ())
    if not items:
        return found
    kind = ItemKind.SESSION if isinstance(items[0], Session) else ItemKind.LONG_TERM
    source, rule = SOURCES[kind], policy.relevance if kind == ItemKind.LONG_TERM else None
    cut = cut_of(subject.container, source, policy.rule(kind.memory_type), now=now)
    conditions = [(Reason.AGE, cut.aged), (Reason.COUNT, cut.counted), (Reason.TTL, expired_sql(rule, now=now))]
    tests = ", ".join(f"({condition}) IS TRUE" for _, condition in conditions)
    judged = _rows(f"SELECT m.id, {tests} FROM {source.table} m WHERE {_among('m.id', found)} AND {source.exposed}")
    for key, *holds in judged:  # not those that are pinned, held, or gone
        found[key] = tuple(reason for (reason, _), it_holds in zip(conditions, holds, strict=True) if it_holds)
    spared = {key for key, *_ in judged if not found[key]}
    if rule is None or not spared or not _reaches_a_cap(subject, rule):
        return found
    ranked, tokens = _ranked(subject, rule, cut, now=now), {item.pk: item.tokens for item in items if isinstance(item, LongTermMemory)}
    for key, remaining, weight in _rows(f"SELECT r.item_id, r.remaining, r.weight FROM ({ranked}) r WHERE {_among('r.item_id', spared)}"):
        found[key] = _over_caps(rule, tokens[key], remaining=remaining, weight=weight)
    return found


def _over_caps(rule: RelevanceRule, tokens: int, *, remaining: int, weight: int) -> tuple[Reason, ...]:
    over = [(Reason.MAX_RECORDS, remaining, rule.max_records), (Reason.MAX_TOKENS, weight, rule.max_tokens)]
    beyond = tuple(reason for reason, held, limit in over if limit is not None and held > limit)
    is_oversized = rule.max_tokens is not None and tokens > rule.max_tokens
    return (Reason.OVERSIZED, *beyond) if beyond and is_oversized else beyond


def cut_line(subject: Subject, policy: RetentionPolicy, *, now: datetime) -> int | None:
    """Return the lowest score, in millionths, that survives the caps of this user; None while the user is under them.

    Its meaning is `retention.victims.cut_line`, of what the rules of the container leave.
    """
    rule = policy.relevance
    if rule is None or not _reaches_a_cap(subject, rule):
        return None
    source = SOURCES[ItemKind.LONG_TERM]
    cut = cut_of(subject.container, source, policy.rule(MemoryType.LONG_TERM), now=now)
    records = NO_LIMIT if rule.max_records is None else rule.max_records
    tokens = NO_LIMIT if rule.max_tokens is None else rule.max_tokens
    stays = f"NOT r.exempt AND r.remaining <= {records} AND r.weight <= {tokens}"
    line, held, weight = _row(
        f"SELECT MIN(CASE WHEN {stays} THEN r.rank & {NOT_OVERSIZED - 1} END), COALESCE(MAX(r.remaining), 0), COALESCE(MAX(r.weight), 0) "
        f"FROM ({_ranked(subject, rule, cut, now=now)}) r"
    )
    return line if held >= records or weight >= tokens else None


def _ranked(subject: Subject, rule: RelevanceRule, cut: Cut, *, now: datetime) -> str:
    """Return the SELECT of one user's memories that age, number and TTL leave, with what each has before it."""
    spared = f"({cut.either}) IS NOT TRUE AND ({expired_sql(rule, now=now)}) IS NOT TRUE"
    return ranked_sql(subject.container, rule, of_subject=f"= {subject.pk}", spared=spared, now=now)


def falls_below(facts: MemoryFacts, line: int, rule: RelevanceRule, *, now: datetime) -> datetime | None:
    """Return when the memory drops below the line if it stays unread; None if never."""
    return scoring.falls_below(facts, line, weights=rule.weights, half_life=rule.half_life, now=now)


def _reaches_a_cap(subject: Subject, rule: RelevanceRule) -> bool:
    """Ask the live counters, which hold the expired ones too: under them nobody is over."""
    records = rule.max_records is not None and subject.long_term >= rule.max_records
    return records or (rule.max_tokens is not None and subject.tokens >= rule.max_tokens)


def _among(column: str, keys: Iterable[int]) -> str:
    return f"{column} IN ({', '.join(map(str, keys))})"


def _row(sql: str) -> Any:
    return _rows(sql)[0]


def _rows(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
