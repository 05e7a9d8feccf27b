"""Who goes, and why: the reference meaning of both rule kinds. Nothing is deleted here.

Invariant: an exempt memory (pinned or held) is looked at first and is never chosen, whatever the rule says.
A missing date never condemns: such a memory is past no age, and is the last to go by number.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, StrEnum

from retention.records import MemoryFacts
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.scoring import effective_access, score

COUNT_CAP = 50_000
_NO_DATE = datetime.max.replace(tzinfo=UTC)


class Reason(StrEnum):
    """Why a memory goes, in order of precedence: the first that holds is *the* reason."""

    AGE = "age"
    COUNT = "count"
    TTL = "ttl"
    OVERSIZED = "oversized"
    MAX_RECORDS = "max_records"
    MAX_TOKENS = "max_tokens"
    ORPHAN = "orphan"
    UNATTRIBUTED = "unattributed"

    @property
    def bit(self) -> int:
        """The reason as one bit, so that a set of reasons is a whole number in the database."""
        return _BITS[self]

    @classmethod
    def from_bits(cls, bits: int) -> tuple["Reason", ...]:
        """Return the reasons of a set, in order of precedence."""
        return tuple(reason for reason in cls if bits & reason.bit)


_BITS = {reason: 1 << position for position, reason in enumerate(Reason)}


class AgeFrom(Enum):
    """Which date a retention rule counts from: the last change of content, or for history the creation."""

    LAST_UPDATED = "last_updated_at"
    CREATED = "created_at"

    def of(self, facts: MemoryFacts) -> datetime | None:
        return facts.last_updated_at if self is AgeFrom.LAST_UPDATED else facts.created_at


@dataclass(frozen=True, slots=True)
class Victim:
    """A memory that a rule evicts. `score` in millionths, None where no relevance rule judged it."""

    key: int
    subject: int
    reason: Reason
    reasons: tuple[Reason, ...]
    score: int | None = None


def retention_victims(
    memories: Iterable[MemoryFacts],
    rule: RetentionRule,
    *,
    now: datetime,
    count_cap: int = COUNT_CAP,
    age_from: AgeFrom = AgeFrom.LAST_UPDATED,
) -> list[Victim]:
    """Return whom the rule evicts at `now` among the memories of one type and container, oldest first, then by key.

    A memory exactly retention_days old is kept. Exempt ones are neither chosen nor counted. At most count_cap go for
    max_count in one run, the rest in the next; age has no cap. Source: OpenSearch memory retention, "Retention job".
    """
    oldest_first = sorted((m for m in memories if not m.exempt), key=lambda m: _by_date(age_from.of(m), m.key))
    excess = 0 if rule.count_limit is None else max(0, len(oldest_first) - rule.count_limit)
    aged = 0
    if rule.age_limit is not None:
        cutoff = now - rule.age_limit
        aged = sum(1 for m in oldest_first if _before(age_from.of(m), cutoff))
    # Both limits take the oldest, so each condemns a beginning of the same list.
    chosen = oldest_first[: max(aged, min(excess, aged + count_cap))]
    victims = []
    for position, facts in enumerate(chosen):
        reasons = _held_of((Reason.AGE, position < aged), (Reason.COUNT, position < excess))
        victims.append(_victim(facts, reasons))
    return victims


def relevance_victims(memories: Iterable[MemoryFacts], rule: RelevanceRule, *, now: datetime) -> list[Victim]:
    """Return whom the rule evicts at `now` among all long-term memories of one user: the expired ones, oldest first,
    then the lowest scores until both caps hold or only exempt memories are left.

    A memory exactly ttl_days old is kept. Exempt memories are never chosen but count against both caps. One that alone
    exceeds max_tokens goes before all others. Source: "Memory Eviction Policies in ADK Java", section "A blended score".
    """
    everything = list(memories)
    expired = [m for m in everything if _expired(m, rule, now)]
    expired.sort(key=lambda m: _by_date(m.created_at, m.key))
    caps = _Caps([m for m in everything if not _expired(m, rule, now)], rule, now=now)
    return [_victim(m, (Reason.TTL,), _millionths(m, rule, now)) for m in expired] + caps.victims()


def long_term_victims(
    memories: Iterable[MemoryFacts], policy: RetentionPolicy, *, now: datetime, count_cap: int = COUNT_CAP
) -> list[Victim]:
    """Return whom the policy evicts at `now` among all long-term memories of a container: by age and count, oldest first,
    then user by user what the relevance rule takes from the remainder.

    The first reason that holds is *the* reason; one taken by age or count that is also past its TTL keeps that reason too.
    """
    everything = list(memories)
    victims = retention_victims(everything, policy.rule(MemoryType.LONG_TERM), now=now, count_cap=count_cap)
    rule = policy.relevance
    if rule is None:
        return victims
    by_key = {m.key: m for m in everything}
    taken = {victim.key for victim in victims}
    judged = [_with_relevance(victim, by_key[victim.key], rule, now) for victim in victims]
    remainder = defaultdict(list)
    for facts in everything:
        if facts.key not in taken:
            remainder[facts.subject].append(facts)
    for subject in sorted(remainder):
        judged += relevance_victims(remainder[subject], rule, now=now)
    return judged


def cut_line(memories: Iterable[MemoryFacts], rule: RelevanceRule, *, now: datetime) -> int | None:
    """Return the score, in millionths, of the weakest memory of one user that the rule leaves, exempt ones aside.

    What scores below it would go next. None while the user is below both caps, or when only exempt memories are left.
    """
    return _Caps([m for m in memories if not _expired(m, rule, now)], rule, now=now).line()


class _Caps:
    """One user's unexpired memories against both caps: the weakest first, and how many of them have to go."""

    def __init__(self, alive: Sequence[MemoryFacts], rule: RelevanceRule, *, now: datetime) -> None:
        self.rule = rule
        self.records = len(alive)
        self.tokens = sum(m.tokens for m in alive)
        scored = [(m, _millionths(m, rule, now)) for m in alive if not m.exempt]
        self.weakest_first = sorted(scored, key=lambda each: self._rank(*each))

    def _rank(self, facts: MemoryFacts, millionths: int) -> tuple[bool, int, bool, datetime, int]:
        accessed_at = effective_access(facts, half_life=self.rule.half_life)
        return (not self._oversized(facts), millionths, *_by_date(accessed_at, facts.key))

    def _oversized(self, facts: MemoryFacts) -> bool:
        return self.rule.max_tokens is not None and facts.tokens > self.rule.max_tokens

    def victims(self) -> list[Victim]:
        records, tokens = self.records, self.tokens
        victims = []
        for facts, millionths in self.weakest_first:
            too_many = self.rule.max_records is not None and records > self.rule.max_records
            too_large = self.rule.max_tokens is not None and tokens > self.rule.max_tokens
            if not (too_many or too_large):
                break
            oversized = (Reason.OVERSIZED, self._oversized(facts))
            reasons = _held_of(oversized, (Reason.MAX_RECORDS, too_many), (Reason.MAX_TOKENS, too_large))
            victims.append(_victim(facts, reasons, millionths))
            records, tokens = records - 1, tokens - facts.tokens
        return victims

    def line(self) -> int | None:
        full = self.rule.max_records is not None and self.records >= self.rule.max_records
        full |= self.rule.max_tokens is not None and self.tokens >= self.rule.max_tokens
        survivors = self.weakest_first[len(self.victims()) :]
        return survivors[0][1] if full and survivors else None


def _with_relevance(victim: Victim, facts: MemoryFacts, rule: RelevanceRule, now: datetime) -> Victim:
    reasons = (*victim.reasons, Reason.TTL) if _expired(facts, rule, now) else victim.reasons
    return replace(victim, reasons=reasons, score=_millionths(facts, rule, now))


def _expired(facts: MemoryFacts, rule: RelevanceRule, now: datetime) -> bool:
    return not facts.exempt and rule.ttl is not None and _before(facts.created_at, now - rule.ttl)


def _before(when: datetime | None, cutoff: datetime) -> bool:
    return when is not None and when < cutoff


def _by_date(when: datetime | None, key: int) -> tuple[bool, datetime, int]:
    return (when is None, when or _NO_DATE, key)


def _millionths(facts: MemoryFacts, rule: RelevanceRule, now: datetime) -> int:
    return score(facts, weights=rule.weights, half_life=rule.half_life, now=now).millionths


def _held_of(*reasons: tuple[Reason, bool]) -> tuple[Reason, ...]:
    return tuple(reason for reason, holds in reasons if holds)


def _victim(facts: MemoryFacts, reasons: tuple[Reason, ...], millionths: int | None = None) -> Victim:
    return Victim(facts.key, facts.subject, reasons[0], reasons, millionths)
