"""The day on which a long-term memory goes if nobody recalls it, and what would keep it. Exact: the selection's answer, night by night."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import connection

from memadmin.lifecycle.cuts import NOBODY, cut_of
from memadmin.lifecycle.explain import facts_of
from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.models import ItemKind
from memadmin.store.bulk import id_list
from memadmin.store.models import LongTermMemory, Subject
from retention.forecast import Fate, first_night
from retention.records import MemoryFacts
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import Reason

NIGHTS = 730  # two years
MOST_COMPARED = 20_000  # memories of a user, for what takes several forecasts
BY_CAPS = {Reason.OVERSIZED, Reason.MAX_RECORDS, Reason.MAX_TOKENS}
COLUMNS = ("created_at", "last_updated_at", "last_accessed_at", "hits", "importance", "tokens", "pinned", "held", "subject_id")


@dataclass(frozen=True, slots=True)
class Keeps:
    """What would change a memory's fate. `recalled`: its fate after one recall now, None for no night within reach."""

    recalled: Fate | None
    importance: float | None = None  # the lowest that takes it out of the reach of the caps; None: none does, or caps do not take it
    fewer_records: int = 0  # of the user's memories that go later than it, as many must go
    fewer_tokens: int = 0
    max_records: int | None = None  # caps that high would keep it
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """`fate` None: no run of the next two years takes it. `keeps` None where there is nothing to keep it from."""

    fate: Fate | None
    nights: Sequence[datetime]
    keeps: Keeps | None = None

    @property
    def until(self) -> datetime:
        return self.nights[-1]


@dataclass(frozen=True, slots=True)
class _Case:
    facts: MemoryFacts
    others: Sequence[MemoryFacts]
    policy: RetentionPolicy
    nights: Sequence[datetime]
    counted: frozenset[int]

    def fate(self, **changes: object) -> Fate | None:
        facts = replace(self.facts, **changes)  # type: ignore[arg-type]
        return first_night(facts, self.others, self.policy, nights=self.nights, counted=self.counted)


def forecast(memory: LongTermMemory, policy: RetentionPolicy, *, first: datetime, now: datetime, nights: int = NIGHTS) -> Forecast:
    """Return when the policy takes a memory, if runs take place every day from `first` on and nobody reads or writes.

    Costs a look at each memory of its user. With 10,000 of them, on a shared core: 0.4 to 1.5 s where no cap takes it; 1 to 2.5 s where one
    does, since each importance that is tried is another look.
    """
    case = _case(memory, policy, [first + timedelta(days=number) for number in range(nights)])
    fate = case.fate()
    return Forecast(fate, case.nights, _keeps(case, fate, now=now) if fate else None)


def _case(memory: LongTermMemory, policy: RetentionPolicy, nights: Sequence[datetime]) -> _Case:
    rows = LongTermMemory.objects.filter(subject=memory.subject_id).only("id", *COLUMNS)
    others: list[MemoryFacts] = []
    if policy.relevance is not None:  # the other rules look at nobody else
        others = [facts_of(row) for row in rows.exclude(pk=memory.pk).iterator(chunk_size=5_000)]
    keys = [memory.pk, *(other.key for other in others)]
    return _Case(facts_of(memory), others, policy, nights, _counted(memory.subject, policy, keys, now=nights[0]))


def _counted(subject: Subject, policy: RetentionPolicy, keys: Sequence[int], *, now: datetime) -> frozenset[int]:
    """Return which of the memories the container's largest number takes: the oldest, which no passing of time changes."""
    source = SOURCES[ItemKind.LONG_TERM]
    rule = policy.rule(MemoryType.LONG_TERM)
    if rule.count_limit is None:
        return frozenset()
    counted = cut_of(subject.container, source, rule, now=now).counted
    if counted == NOBODY:
        return frozenset()
    those, parameters = id_list("m.id", keys)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT m.id FROM {source.table} m WHERE {those} AND {source.exposed} AND ({counted})", parameters)
        return frozenset(key for (key,) in cursor.fetchall())


def _keeps(case: _Case, fate: Fate, *, now: datetime) -> Keeps:
    recalled = case.fate(last_accessed_at=max(now, case.facts.last_accessed_at or now), hits=case.facts.hits + 1)
    rule = case.policy.relevance
    if rule is None or not BY_CAPS & set(fate.reasons):
        return Keeps(recalled)
    too_many = Reason.MAX_RECORDS in fate.reasons and rule.max_records is not None
    too_large = Reason.MAX_TOKENS in fate.reasons and rule.max_tokens is not None
    return Keeps(
        recalled,
        importance=_enough_importance(case) if len(case.others) <= MOST_COMPARED else None,
        fewer_records=fate.records - (rule.max_records or 0) if too_many else 0,
        fewer_tokens=fate.tokens - (rule.max_tokens or 0) if too_large else 0,
        max_records=fate.records if too_many else None,
        max_tokens=fate.tokens if too_large else None,
    )


def _enough_importance(case: _Case) -> float | None:
    """Return the lowest importance, in hundredths, with which the caps do not take it before its dates do."""

    def suffices(hundredths: int) -> bool:
        fate = case.fate(importance=hundredths / 100)
        return fate is None or not BY_CAPS & set(fate.reasons)

    low, high = int(case.facts.importance * 100), 100
    if not suffices(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high / 100
