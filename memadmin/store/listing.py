"""What a list of one user's memories can be asked for: filters that stand in an address, and orders to page by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast

from memadmin.store.models import LongTermMemory, Subject
from memadmin.store.querysets import LongTermQuerySet
from memadmin.store.scoring import access_sql, micros_sql
from retention.rules import RelevanceRule

TABLE = "store_longtermmemory"
NO_TIME = 2**62  # a missing time sorts last


class State(StrEnum):
    """Which memories a list is narrowed to."""

    PINNED = "pinned"
    EXPOSED = "exposed"
    EXPIRED = "expired"
    UNREAD = "unread"
    UNDATED = "undated"


class Sort(StrEnum):
    """What a list is ordered by."""

    SCORE = "score"
    CREATED = "created"
    ACCESSED = "accessed"
    TOKENS = "tokens"
    HITS = "hits"


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A list as its address describes it. `text` is looked for anywhere in the memory, whatever the case of ASCII letters."""

    text: str = ""
    state: State | None = None
    strategy: str = ""
    since: datetime | None = None  # created then or later
    before: datetime | None = None

    @property
    def narrows(self) -> bool:
        return bool(self.text or self.state or self.strategy or self.since or self.before)


def memories_of(subject: Subject, wanted: MemoryFilter, rule: RelevanceRule, *, now: datetime) -> LongTermQuerySet:
    """Return the long-term memories of one user that the filter lets through."""
    # The container stands in the condition because the covering index starts with it.
    rows = LongTermMemory.objects.filter(container_id=subject.container_id, subject=subject)
    if wanted.text:
        rows = rows.filter(text__icontains=wanted.text)
    if wanted.strategy:
        rows = rows.filter(strategy_type=wanted.strategy)
    if wanted.since:
        rows = rows.created_since(wanted.since)
    if wanted.before:
        rows = rows.created_before(wanted.before)
    return _in_state(rows, wanted.state, rule, now=now)


def _in_state(rows: LongTermQuerySet, state: State | None, rule: RelevanceRule, *, now: datetime) -> LongTermQuerySet:
    if state is State.PINNED:
        return rows.pinned()
    if state is State.EXPOSED:
        return rows.exposed()
    if state is State.EXPIRED:
        return rows.none() if rule.ttl is None else rows.exposed().created_before(now - rule.ttl)
    if state is State.UNREAD:
        return rows.filter(hits=0, last_accessed_at__isnull=True)
    if state is State.UNDATED:
        return rows.filter(created_at__isnull=True)
    return rows


def keyed(rows: LongTermQuerySet, sort: Sort, rule: RelevanceRule, *, now: datetime) -> QuerySet[LongTermMemory]:
    """Add `key`, a whole number to page by. Scores are in millionths as at `now`, times in microseconds."""
    if sort is Sort.SCORE:
        return rows.scored(rule, now=now).annotate(key=F("score"))
    if sort is Sort.CREATED:
        return rows.annotate(key=_whole(f"COALESCE({micros_sql(f'{TABLE}.created_at')}, {NO_TIME})"))
    if sort is Sort.ACCESSED:
        return rows.annotate(key=_whole(f"COALESCE({access_sql(rule, alias=TABLE)}, {NO_TIME})"))
    return rows.annotate(key=Cast(sort.value, BigIntegerField()))


def _whole(sql: str) -> RawSQL:
    return RawSQL(sql, [], output_field=BigIntegerField())
