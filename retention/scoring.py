"""How much a memory is worth keeping: recency, frequency and importance, each 0..1, blended by weights.

Source of the formulas: "Memory Eviction Policies in ADK Java", section "A blended score".
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from retention.records import MemoryFacts

MILLION = 1_000_000
FULL_FREQUENCY_HITS = 100


@dataclass(frozen=True, slots=True)
class Weights:
    """Share of each term in the score: each 0..1, together 1."""

    recency: float = 0.4
    frequency: float = 0.2
    importance: float = 0.4


class AccessBasis(StrEnum):
    """Which time the recency of a memory was counted from."""

    READ = "read"
    NEVER_READ = "never-read"  # as if read one half-life before its creation
    FUTURE = "future"  # lies after now: counts as now
    UNDATED = "undated"  # no date at all: counts as just read


@dataclass(frozen=True, slots=True)
class Term:
    """One line of "why this score": `raw` 0..1 times `weight` gives `points`."""

    name: str
    raw: float
    weight: float

    @property
    def points(self) -> float:
        return self.weight * self.raw


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A score rounded for people: `points` (recency, frequency, importance) add up to `total` exactly."""

    total: Decimal
    points: tuple[Decimal, Decimal, Decimal]


@dataclass(frozen=True, slots=True)
class Score:
    """The three raw terms, each 0..1, and what the weights make of them."""

    recency: float
    frequency: float
    importance: float
    weights: Weights
    basis: AccessBasis

    @property
    def terms(self) -> tuple[Term, Term, Term]:
        return (
            Term("recency", self.recency, self.weights.recency),
            Term("frequency", self.frequency, self.weights.frequency),
            Term("importance", self.importance, self.weights.importance),
        )

    @property
    def total(self) -> float:
        # The order of this sum is the order of the SQL expression: both must give the same float.
        weights = self.weights
        return weights.recency * self.recency + weights.frequency * self.frequency + weights.importance * self.importance

    @property
    def millionths(self) -> int:
        """The total rounded to 6 places, as a whole number: the only form that is ranked, so that every database agrees."""
        return math.floor(self.total * MILLION + 0.5)

    def shown(self, places: int = 3) -> ShownScore:
        """Return total and points rounded to `places` (0..6) so that the points on the page add up to the total on the page."""
        step = 10 ** (6 - places)
        total = (self.millionths + step // 2) // step
        exact = [term.points * 10**places for term in self.terms]
        whole = [math.floor(points) for points in exact]
        # What rounding down left over goes to the terms that lost most by it.
        by_loss = sorted(range(3), key=lambda at: whole[at] - exact[at])
        for at in by_loss[: total - sum(whole)]:
            whole[at] += 1
        recency, frequency, importance = (Decimal(units).scaleb(-places) for units in whole)
        return ShownScore(total=Decimal(total).scaleb(-places), points=(recency, frequency, importance))


def recency(last_accessed_at: datetime, *, now: datetime, half_life: timedelta) -> float:
    """Return 1.0 for just read, 0.5 after one half-life, towards 0 with age."""
    age = max(now - last_accessed_at, timedelta(0))  # a clock ahead of ours must not score above 1
    return math.pow(0.5, age / half_life)


def frequency(hits: int) -> float:
    """Return 0.0 for no hit, 1.0 from 100 hits on; the second hit adds far more than the hundredth."""
    return min(1.0, math.log(1 + max(hits, 0)) / math.log(1 + FULL_FREQUENCY_HITS))


def effective_access(facts: MemoryFacts, *, half_life: timedelta) -> datetime | None:
    """Return the time that recency counts from: the last access, else one half-life before creation, else None."""
    if facts.last_accessed_at is not None:
        return facts.last_accessed_at
    if facts.created_at is None:
        return None
    try:
        return facts.created_at - half_life
    except OverflowError:  # created in the first years of the calendar
        return datetime.min.replace(tzinfo=UTC)


def score(facts: MemoryFacts, *, weights: Weights, half_life: timedelta, now: datetime) -> Score:
    """Return the score at `now`. Without any date recency is 1.0, since missing data must never condemn."""
    accessed_at = effective_access(facts, half_life=half_life)
    return Score(
        recency=1.0 if accessed_at is None else recency(accessed_at, now=now, half_life=half_life),
        frequency=frequency(facts.hits),
        importance=facts.importance,
        weights=weights,
        basis=_basis(facts, accessed_at, now),
    )


def _basis(facts: MemoryFacts, accessed_at: datetime | None, now: datetime) -> AccessBasis:
    if accessed_at is None:
        return AccessBasis.UNDATED
    if accessed_at > now:
        return AccessBasis.FUTURE
    return AccessBasis.NEVER_READ if facts.last_accessed_at is None else AccessBasis.READ


def falls_below(facts: MemoryFacts, line: int, *, weights: Weights, half_life: timedelta, now: datetime) -> datetime | None:
    """Return when the score, if the memory stays unread, drops below `line` (millionths, as `Score.millionths`).

    `now` when it is below already; None when it never drops so far, or only after the year 9999.
    Says nothing about pins or the TTL.
    """
    at_present = score(facts, weights=weights, half_life=half_life, now=now)
    if at_present.millionths < line:
        return now
    _, frequency_term, importance_term = at_present.terms
    # Half a millionth lower, because that is where the rounded score steps down.
    recency_points = (line - 0.5) / MILLION - frequency_term.points - importance_term.points
    accessed_at = effective_access(facts, half_life=half_life)
    if accessed_at is None or weights.recency == 0 or recency_points <= 0:
        return None
    try:
        crossing = accessed_at + half_life * math.log2(weights.recency / recency_points)
    except OverflowError:
        return None
    return max(now, crossing)
