"""The two rule kinds of a container, as values: what is kept, how much of it and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, StrEnum
from typing import Final

from retention.scoring import Weights


class NotGiven(Enum):
    """The one value that says "this field was omitted"."""

    NOT_GIVEN = "not given"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN


class MemoryType(StrEnum):
    """The memory types, in the order in which a run takes them."""

    SESSIONS = "sessions"
    LONG_TERM = "long-term"
    HISTORY = "history"
    WORKING = "working"


RULED: Final = (MemoryType.SESSIONS, MemoryType.LONG_TERM, MemoryType.HISTORY)  # those that a retention rule can be set for


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """Limits for one memory type of a container; either one condemns. As a patch, an omitted field changes nothing."""

    retention_days: int | NotGiven | None = NOT_GIVEN
    max_count: int | NotGiven | None = NOT_GIVEN

    @property
    def age_limit(self) -> timedelta | None:
        days = self.retention_days
        return None if days is None or isinstance(days, NotGiven) else timedelta(days=days)

    @property
    def count_limit(self) -> int | None:
        return None if isinstance(self.max_count, NotGiven) else self.max_count


@dataclass(frozen=True, slots=True)
class RelevanceRule:
    """Limits for the long-term memories of each user; the lowest scores go first. None means no limit."""

    ttl_days: int | None = 365
    max_records: int | None = 500
    max_tokens: int | None = 40_000
    half_life_hours: float = 720.0
    weights: Weights = field(default_factory=Weights)

    @property
    def ttl(self) -> timedelta | None:
        return None if self.ttl_days is None else timedelta(days=self.ttl_days)

    @property
    def half_life(self) -> timedelta:
        return timedelta(hours=self.half_life_hours)


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Both rule kinds of one container."""

    rules: Mapping[MemoryType, RetentionRule] = field(default_factory=dict)
    relevance: RelevanceRule | None = None

    def rule(self, memory_type: MemoryType) -> RetentionRule:
        """Return the rule of the type, one without limits when none was set."""
        return self.rules.get(memory_type, RetentionRule())


@dataclass(frozen=True, slots=True)
class RelevancePatch:
    """Changes to a relevance rule; an omitted field changes nothing."""

    ttl_days: int | NotGiven | None = NOT_GIVEN
    max_records: int | NotGiven | None = NOT_GIVEN
    max_tokens: int | NotGiven | None = NOT_GIVEN
    half_life_hours: float | NotGiven = NOT_GIVEN
    weights: Weights | NotGiven = NOT_GIVEN


@dataclass(frozen=True, slots=True)
class PolicyPatch:
    """Changes to a policy. `relevance` None removes that rule."""

    rules: Mapping[MemoryType, RetentionRule] = field(default_factory=dict)
    relevance: RelevancePatch | NotGiven | None = NOT_GIVEN
