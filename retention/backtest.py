"""What a policy would have lost: past recalls replayed over the nights of a time that has passed.

The policy is asked night by night, as the nightly run does, from the first night on; a memory that it takes is gone from then on. A
recall is lost when its memory was taken before, or was past its time to live by then and so hidden already.

Recalls and hits that nobody recorded cannot be dated: they count as if they had happened before the first night. Limits on the number of
memories of the whole container are not replayed, as they need every user's memories at once.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from retention.records import MemoryFacts
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy
from retention.scoring import MILLION, frequency

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _micros(when: datetime) -> int:
    return (when - _EPOCH) // _MICROSECOND


_FIRST = _micros(datetime.min.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class PastMemory:
    """A memory as it stands today, and when its recalls were recorded, the oldest first."""

    facts: MemoryFacts
    recalls: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """Of one or several users: how many recalls were replayed and how many of them lost, of how many memories, and what was left."""

    recalls: int = 0
    lost: int = 0
    memories: int = 0  # that were taken and recalled later
    records: int = 0  # left after the last night
    tokens: int = 0
    users: int = 0  # that lost a recall

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(
            recalls=self.recalls + other.recalls,
            lost=self.lost + other.lost,
            memories=self.memories + other.memories,
            records=self.records + other.records,
            tokens=self.tokens + other.tokens,
            users=self.users + other.users,
        )


class Past:
    """One user's memories with their recalls, read once and replayed under any number of policies."""

    def __init__(self, memories: Iterable[PastMemory]) -> None:
        self.everything = [_Replayed(memory) for memory in memories]
        self.youngest_first = sorted(self.everything, key=lambda memory: (memory.born, memory.key), reverse=True)

    def replayed(self) -> "Past":
        """Return the same, as before any night."""
        for memory in self.everything:
            memory.gone_at = None
        return self


def replay(past: Past, policy: RetentionPolicy, *, nights: Sequence[datetime], until: datetime) -> Loss:
    """Return what the policy would have lost of one user's recalls from the first night until `until`. `nights` are in order."""
    run = _Run(past.replayed(), policy)
    for night in nights:
        run.night(_micros(night))
    begin = _micros(nights[0])
    recalls = lost = taken = 0
    ttl = run.ttl
    for memory in run.everything:
        of_interest = memory.recalls[bisect_left(memory.recalls, begin) : bisect_left(memory.recalls, _micros(until))]
        gone_at = memory.gone_at
        hidden_after = None if ttl is None or memory.exempt or memory.created is None else memory.created + ttl
        missed = sum((gone_at is not None and gone_at <= at) or (hidden_after is not None and at > hidden_after) for at in of_interest)
        recalls, lost, taken = recalls + len(of_interest), lost + missed, taken + bool(missed)
    left = [memory for memory in run.everything if memory.gone_at is None]
    return Loss(recalls, lost, taken, len(left), sum(memory.tokens for memory in left), int(lost > 0))


class _Replayed:
    """A memory in the form in which a night looks at it quickly: whole microseconds since 1970."""

    __slots__ = ("born", "created", "exempt", "gone_at", "hits", "importance", "key", "last_read", "recalls", "tokens", "updated")

    def __init__(self, memory: PastMemory) -> None:
        facts = memory.facts
        self.key, self.exempt, self.tokens, self.importance, self.hits = facts.key, facts.exempt, facts.tokens, facts.importance, facts.hits
        self.created = None if facts.created_at is None else _micros(facts.created_at)
        self.updated = None if facts.last_updated_at is None else _micros(facts.last_updated_at)
        self.last_read = None if facts.last_accessed_at is None else _micros(facts.last_accessed_at)
        self.recalls = [_micros(at) for at in memory.recalls]
        self.born = _FIRST if self.created is None else self.created
        self.gone_at: int | None = None

    def updated_at(self, moment: int) -> int | None:
        return self.created if self.updated is not None and self.updated > moment else self.updated

    def known(self, moment: int, half_life: int) -> tuple[int | None, int]:
        """Return the access that counts and the hits, as of just before `moment`."""
        before = bisect_left(self.recalls, moment)
        read = self.recalls[before - 1] if before else None
        if self.last_read is not None and self.last_read < moment and (read is None or self.last_read > read):
            read = self.last_read
        hits = max(0, self.hits - (len(self.recalls) - before))
        if read is None:
            read = None if self.created is None else max(self.created - half_life, _FIRST)
        return read, hits


class _Run:
    """One user's memories under one policy, night after night."""

    def __init__(self, past: Past, policy: RetentionPolicy) -> None:
        self.everything = past.everything
        self.rule = policy.relevance
        age = policy.rule(MemoryType.LONG_TERM).age_limit
        self.age = None if age is None else age // _MICROSECOND
        self.ttl = None if self.rule is None or self.rule.ttl is None else self.rule.ttl // _MICROSECOND
        self.alive: list[_Replayed] = []
        self.tokens, self.soonest = 0, math.inf
        self.unborn = list(past.youngest_first)

    def night(self, now: int) -> None:
        while self.unborn and self.unborn[-1].born <= now:
            newborn = self.unborn.pop()
            self.alive.append(newborn)
            self.tokens += newborn.tokens
            self.soonest = min(self.soonest, self._soonest_end(newborn))
        if now > self.soonest:
            self._end((memory for memory in self.alive if self._is_past_a_date(memory, now)), now)
            self.soonest = min(map(self._soonest_end, self.alive), default=math.inf)
        if self.rule is not None:
            self._end(self._over_caps(self.rule, now), now)

    def _end(self, going: Iterable[_Replayed], now: int) -> None:
        taken = list(going)
        for memory in taken:
            memory.gone_at = now
            self.tokens -= memory.tokens
        if taken:
            self.alive = [memory for memory in self.alive if memory.gone_at is None]

    def _soonest_end(self, memory: _Replayed) -> float:
        """Return a moment up to which no age or time to live takes the memory, so that most nights need not look at its dates."""
        if memory.exempt:
            return math.inf
        ends = [memory.created + self.ttl] if self.ttl is not None and memory.created is not None else []
        if self.age is not None and memory.updated is not None:
            ends.append(min(memory.updated, memory.updated if memory.created is None else memory.created) + self.age)
        return min(ends, default=math.inf)

    def _is_past_a_date(self, memory: _Replayed, now: int) -> bool:
        if memory.exempt:
            return False
        if self.ttl is not None and memory.created is not None and memory.created < now - self.ttl:
            return True
        updated = None if self.age is None else memory.updated_at(now)
        return updated is not None and self.age is not None and updated < now - self.age

    def _over_caps(self, rule: RelevanceRule, now: int) -> Iterable[_Replayed]:
        records, tokens = len(self.alive), self.tokens
        most_records = math.inf if rule.max_records is None else rule.max_records
        most_tokens = math.inf if rule.max_tokens is None else rule.max_tokens
        if records <= most_records and tokens <= most_tokens:
            return
        for memory in self._weakest_first(rule, most_tokens, now):
            if records <= most_records and tokens <= most_tokens:
                return
            yield memory
            records, tokens = records - 1, tokens - memory.tokens

    def _weakest_first(self, rule: RelevanceRule, most_tokens: float, now: int) -> list[_Replayed]:
        half_life, weights = rule.half_life // _MICROSECOND, rule.weights
        ranked = []
        for memory in self.alive:
            if memory.exempt:
                continue
            read, hits = memory.known(now, half_life)
            recency = 1.0 if read is None else math.pow(0.5, max(now - read, 0) / half_life)
            # The order of this sum is that of `scoring.Score.total`.
            total = weights.recency * recency + weights.frequency * frequency(hits) + weights.importance * memory.importance
            millionths = math.floor(total * MILLION + 0.5)
            ranked.append((memory.tokens <= most_tokens, millionths, read is None, read or 0, memory.key, memory))
        ranked.sort(key=lambda each: each[:5])
        return [each[5] for each in ranked]
