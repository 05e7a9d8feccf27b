"""When a memory goes if nobody reads or writes: the first of several nights on which the policy takes it.

Each night is judged as if no run had taken place before it. Between two memories the difference of their scores moves in one direction
only, since recency fades by the same factor for both. So each of the others passes a memory at most once, at a night that a logarithm
finds; only where two scores are so close that their rounding decides are they computed night by night.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from retention.records import MemoryFacts
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy
from retention.scoring import MILLION, effective_access, frequency, score
from retention.victims import Reason

CLOSE = 1.1 / MILLION  # of two scores that differ by more, the higher one is the higher when rounded


@dataclass(frozen=True, slots=True)
class Fate:
    """The first night on which a memory goes, `at` as the `number`th of the nights, and why.

    `records` and `tokens` are what the user then holds that goes later than it, the memory itself among them: caps that high would keep it.
    """

    at: datetime
    number: int
    reasons: tuple[Reason, ...]
    records: int = 0
    tokens: int = 0


def first_night(
    facts: MemoryFacts,
    others: Iterable[MemoryFacts],
    policy: RetentionPolicy,
    *,
    nights: Sequence[datetime],
    counted: Collection[int] = (),
) -> Fate | None:
    """Return the first of the nights, given in order, on which the policy takes the memory; None when it stays on all of them.

    `others` are all other long-term memories of the same user. `counted` are the keys that the container's max_count takes, which time
    does not change. The meaning is `victims.long_term_victims`.
    """
    if facts.exempt or not nights:
        return None
    dated = _dated_end(facts, policy, nights)
    if facts.key in counted:
        reasons = [Reason.AGE] if _aged_from(facts, policy, nights) == 0 else []
        return Fate(nights[0], 0, (*reasons, Reason.COUNT, *([Reason.TTL] if _expired_from(facts, policy, nights) == 0 else [])))
    rule = policy.relevance
    if rule is not None and (rule.max_records is not None or rule.max_tokens is not None) and dated:
        fate = _Rivals(facts, rule, nights[:dated], policy).first(other for other in others if other.key not in counted)
        if fate is not None:
            return fate
    if dated == len(nights):
        return None
    pairs = ((Reason.AGE, _aged_from(facts, policy, nights)), (Reason.TTL, _expired_from(facts, policy, nights)))
    return Fate(nights[dated], dated, tuple(reason for reason, begin in pairs if begin <= dated))


def _dated_end(facts: MemoryFacts, policy: RetentionPolicy, nights: Sequence[datetime]) -> int:
    """Return the number of the first night on which an age or a time to live is over, len(nights) for none of them."""
    return min(_aged_from(facts, policy, nights), _expired_from(facts, policy, nights))


def _aged_from(facts: MemoryFacts, policy: RetentionPolicy, nights: Sequence[datetime]) -> int:
    return _first_after(facts.last_updated_at, policy.rule(MemoryType.LONG_TERM).age_limit, facts, nights)


def _expired_from(facts: MemoryFacts, policy: RetentionPolicy, nights: Sequence[datetime]) -> int:
    return _first_after(facts.created_at, policy.relevance.ttl if policy.relevance else None, facts, nights)


def _first_after(since: datetime | None, limit: timedelta | None, facts: MemoryFacts, nights: Sequence[datetime]) -> int:
    if since is None or limit is None or facts.exempt:
        return len(nights)
    try:
        return bisect_right(nights, since + limit)  # a memory exactly at its limit is kept
    except OverflowError:
        return len(nights)


class _Rivals:
    """One memory against the others of its user: how many, and how many tokens, go later than it on each night."""

    def __init__(self, facts: MemoryFacts, rule: RelevanceRule, nights: Sequence[datetime], policy: RetentionPolicy) -> None:
        self.facts, self.rule, self.nights, self.policy = facts, rule, nights, policy
        self.access = effective_access(facts, half_life=rule.half_life)
        self.fading = [-math.pow(0.5, (night - nights[0]) / rule.half_life) for night in nights]  # negative: in rising order
        self.records, self.tokens = [0] * (len(nights) + 1), [0] * (len(nights) + 1)  # how much more on this night than on the one before
        self.close: list[tuple[int, int, MemoryFacts]] = []

    def first(self, others: Iterable[MemoryFacts]) -> Fate | None:
        for other in others:
            self._place(other)
        records, tokens = 1, self.facts.tokens
        for at, night in enumerate(self.nights):
            records, tokens = records + self.records[at], tokens + self.tokens[at]
            more = [other for begin, end, other in self.close if begin <= at < end] if self.close else []
            if more and self._over(records + len(more), tokens + sum(other.tokens for other in more)):
                above = [other for other in more if self._rank(other, night) > self._rank(self.facts, night)]
                reasons = self._over(all_records := records + len(above), all_tokens := tokens + sum(other.tokens for other in above))
            else:
                reasons, all_records, all_tokens = self._over(records, tokens), records, tokens
            if reasons:
                oversized = (Reason.OVERSIZED,) if self._is_oversized(self.facts) else ()
                return Fate(night, at, (*oversized, *reasons), all_records, all_tokens)
        return None

    def _place(self, other: MemoryFacts) -> None:
        """Note on which nights another memory is there and goes later than this one."""
        end = _dated_end(other, self.policy, self.nights)
        if other.exempt or (self._is_oversized(self.facts) and not self._is_oversized(other)):
            self._above(other, 0, end)
        elif self._is_oversized(self.facts) == self._is_oversized(other):
            self._compare(other, end)

    def _compare(self, other: MemoryFacts, end: int) -> None:
        access = effective_access(other, half_life=self.rule.half_life)
        start, weights = self.nights[0], self.rule.weights
        if max(access or start, self.access or start) > start:  # a recall in the future does not fade until then
            self.close.append((0, end, other))
            return
        still = weights.frequency * (frequency(other.hits) - frequency(self.facts.hits))
        still += weights.importance * (other.importance - self.facts.importance)
        still += weights.recency * ((access is None) - (self.access is None))
        fades = weights.recency * (self._faded(access) - self._faded(self.access))
        if fades == 0 == still:
            if self._rank(other, start) > self._rank(self.facts, start):
                self._above(other, 0, end)
            return
        self._note(other, end, *self._nights_of(fades, still))

    def _nights_of(self, fades: float, still: float) -> tuple[int, int, bool, bool]:
        """Return from when to when the two are too close to say, and whether the other is above before, and behind."""
        nights = len(self.nights)
        if abs(fades) < 1e-15:  # nothing moves
            return (0, nights, False, False) if abs(still) <= CLOSE else (nights, nights, still > 0, still > 0)
        # difference = fades * g + still, where g falls from 1 towards 0
        upper, lower = sorted(((CLOSE - still) / fades, (-CLOSE - still) / fades), reverse=True)
        begin, end = bisect_left(self.fading, -upper), bisect_right(self.fading, -lower)
        return begin, end, fades > 0, fades < 0

    def _note(self, other: MemoryFacts, end: int, begin_close: int, end_close: int, before: bool, behind: bool) -> None:
        if before:
            self._above(other, 0, min(begin_close, end))
        if begin_close < min(end_close, end):
            self.close.append((begin_close, min(end_close, end), other))
        if behind:
            self._above(other, end_close, end)

    def _above(self, other: MemoryFacts, begin: int, end: int) -> None:
        if begin < end:
            self.records[begin] += 1
            self.records[end] -= 1
            self.tokens[begin] += other.tokens
            self.tokens[end] -= other.tokens

    def _faded(self, access: datetime | None) -> float:
        return 0.0 if access is None else math.pow(0.5, (self.nights[0] - access) / self.rule.half_life)

    def _rank(self, facts: MemoryFacts, night: datetime) -> tuple[int, bool, datetime, int]:
        scored = score(facts, weights=self.rule.weights, half_life=self.rule.half_life, now=night).millionths
        access = effective_access(facts, half_life=self.rule.half_life)
        return (scored, access is None, access or night, facts.key)

    def _is_oversized(self, facts: MemoryFacts) -> bool:
        return self.rule.max_tokens is not None and facts.tokens > self.rule.max_tokens

    def _over(self, records: int, tokens: int) -> tuple[Reason, ...]:
        too_many = self.rule.max_records is not None and records > self.rule.max_records
        too_large = self.rule.max_tokens is not None and tokens > self.rule.max_tokens
        return (*((Reason.MAX_RECORDS,) if too_many else ()), *((Reason.MAX_TOKENS,) if too_large else ()))
