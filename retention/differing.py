"""How two policies differ, limit by limit, and how two changes of one policy come together.

A limit that a rule leaves out and one that is null mean the same, no limit, and do not differ here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from retention.rules import MemoryType, NotGiven, RelevanceRule, RetentionPolicy, RetentionRule

Value = int | float | None


class Effect(StrEnum):
    """What a change does to how much goes."""

    MORE = "more"  # more goes, or earlier
    LESS = "less"
    OTHER = "other"  # others go


@dataclass(frozen=True, slots=True)
class Change:
    """One limit that differs. `field` is its dotted path in a document; None: no limit, or for `relevance` no rule."""

    field: str
    before: Value
    after: Value

    @property
    def effect(self) -> Effect:
        if self.field in SCORING:
            return Effect.OTHER
        if self.field == RELEVANCE:
            return Effect.MORE if self.after else Effect.LESS
        if self.before is None or self.after is None:
            return Effect.MORE if self.before is None else Effect.LESS
        return Effect.MORE if self.after < self.before else Effect.LESS


@dataclass(frozen=True, slots=True)
class Merged:
    """One policy of two changes. `contested` are the fields that both changed, to different values: there it has mine."""

    policy: RetentionPolicy
    contested: tuple[str, ...]


RELEVANCE = "relevance"
RULE_FIELDS = {
    f"retention.{memory_type}.{name}": (memory_type, name)
    for memory_type in MemoryType
    for name in ("retention_days", "max_count")
    if (memory_type, name) != (MemoryType.HISTORY, "retention_days")
}
CAPS = ("ttl_days", "max_records", "max_tokens")
WEIGHTS = ("recency", "frequency", "importance")
SCORING = ("relevance.half_life_hours", *(f"relevance.weights.{name}" for name in WEIGHTS))
FIELDS = (*RULE_FIELDS, RELEVANCE, *(f"relevance.{name}" for name in CAPS), *SCORING)


def values_of(policy: RetentionPolicy | None) -> dict[str, Value]:
    """Return every limit of a policy by its path, in one order; without a relevance rule its fields are left out."""
    policy = policy or RetentionPolicy()
    found: dict[str, Value] = {path: _limit(policy.rule(kind), name) for path, (kind, name) in RULE_FIELDS.items()}
    rule = policy.relevance
    found[RELEVANCE] = None if rule is None else 1
    if rule is not None:
        found |= {f"relevance.{name}": getattr(rule, name) for name in CAPS}
        found["relevance.half_life_hours"] = rule.half_life_hours
        found |= {f"relevance.weights.{name}": getattr(rule.weights, name) for name in WEIGHTS}
    return found


def changes(old: RetentionPolicy | None, new: RetentionPolicy | None) -> tuple[Change, ...]:
    """Return what differs, in the order of `FIELDS`. A relevance rule that comes or goes is one change."""
    before, after = values_of(old), values_of(new)
    both = before.keys() & after.keys()
    return tuple(Change(name, before[name], after[name]) for name in FIELDS if name in both and before[name] != after[name])


def merge_changes(base: RetentionPolicy | None, mine: RetentionPolicy, theirs: RetentionPolicy | None) -> Merged:
    """Lay what I changed over what they made of the same base. The three weights are one value, since they make 1 together."""
    base, theirs, contested = base or RetentionPolicy(), theirs or RetentionPolicy(), list[str]()
    rules = dict(theirs.rules)
    for path, (kind, name) in RULE_FIELDS.items():
        value = _chosen(path, contested, *(getattr(each.rule(kind), name) for each in (base, mine, theirs)), same=_same_limit)
        if value != getattr(theirs.rule(kind), name):
            rules[kind] = replace(rules.get(kind, RetentionRule()), **{name: value})
    return Merged(RetentionPolicy(rules, _merged_relevance(base.relevance, mine.relevance, theirs.relevance, contested)), tuple(contested))


def _merged_relevance(
    base: RelevanceRule | None, mine: RelevanceRule | None, theirs: RelevanceRule | None, contested: list[str]
) -> RelevanceRule | None:
    if base is None or mine is None or theirs is None:
        chosen: RelevanceRule | None = _chosen(RELEVANCE, contested, base, mine, theirs)
        return chosen
    values: dict[str, Any] = {}
    for name in (*CAPS, "half_life_hours", "weights"):
        values[name] = _chosen(f"relevance.{name}", contested, *(getattr(rule, name) for rule in (base, mine, theirs)))
    return RelevanceRule(**values)


def _chosen(
    path: str, contested: list[str], base: Any, mine: Any, theirs: Any, *, same: Callable[[Any, Any], bool] = lambda a, b: a == b
) -> Any:
    if same(mine, base) or same(mine, theirs):
        return theirs
    if not same(theirs, base):
        contested.append(path)
    return mine


def _same_limit(one: Any, other: Any) -> bool:
    return _plain(one) == _plain(other)


def _limit(rule: RetentionRule, name: str) -> Value:
    return _plain(getattr(rule, name))


def _plain(value: int | NotGiven | None) -> int | None:
    return None if isinstance(value, NotGiven) else value
