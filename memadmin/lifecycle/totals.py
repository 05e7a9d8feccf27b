"""What a run is going to evict, in numbers: the same for an estimate that is not stored and for a numbered preview."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from retention.rules import MemoryType
from retention.victims import Reason


@dataclass(frozen=True, slots=True)
class TypeTotals:
    """The victims of one memory type. `by_reason` counts each once, under its first reason."""

    total: int = 0
    tokens: int = 0
    by_reason: Mapping[Reason, int] = field(default_factory=dict)
    working: int = 0  # working memories that go with their sessions
    messages: int = 0  # in those, or in the working memories that go by themselves
    left_for_later: int = 0  # over max_count, but beyond what one run takes; of working memories: ids of lost sessions
    exempt_past_limit: int = 0  # pinned or held, and past an age or a TTL: kept
    stored: int = 0  # rows of the type in the container, the pinned ones among them
    pinned: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    by_type: Mapping[MemoryType, TypeTotals] = field(default_factory=dict)
    users: int = 0  # that lose something

    @property
    def items(self) -> int:
        return sum(each.total for each in self.by_type.values())

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.by_type.values())

    @property
    def messages(self) -> int:
        return sum(each.messages for each in self.by_type.values())

    @property
    def exempt_past_limit(self) -> int:
        return sum(each.exempt_past_limit for each in self.by_type.values())

    @property
    def by_reason(self) -> dict[Reason, int]:
        """The victims of all types by their first reason, in order of precedence."""
        sums = {reason: sum(each.by_reason.get(reason, 0) for each in self.by_type.values()) for reason in Reason}
        return {reason: number for reason, number in sums.items() if number}

    def of(self, memory_type: MemoryType) -> TypeTotals:
        return self.by_type.get(memory_type, TypeTotals())

    def as_json(self) -> dict[str, Any]:
        return {"by_type": {str(name): _plain(each) for name, each in self.by_type.items()}, "users": self.users}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Totals:
        by_type = {MemoryType(name): _read(each) for name, each in stored.get("by_type", {}).items()}
        return cls(by_type=by_type, users=stored.get("users", 0))


def _plain(each: TypeTotals) -> dict[str, Any]:
    return {**asdict(each), "by_reason": {str(reason): number for reason, number in each.by_reason.items()}}


def _read(stored: Mapping[str, Any]) -> TypeTotals:
    return TypeTotals(**{**stored, "by_reason": {Reason(reason): number for reason, number in stored["by_reason"].items()}})
