"""Policies as documents: read, merged, and written as one canonical JSON whose digest names a version.

In a document a field may be omitted, null or a value, and the three differ: in a patch, omitted leaves the stored limit
as it is and null removes it. What is stored keeps the difference.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import TypeVar

from retention.reading import (
    MAX_COUNT,
    MAX_RECORDS,
    MAX_TOKENS,
    RETENTION_DAYS,
    TTL_DAYS,
    InvalidPolicy,
    Limit,
    below,
    half_life_hours,
    limit,
    mapping,
    quoted,
    weights,
)
from retention.rules import (
    NOT_GIVEN,
    RULED,
    MemoryType,
    NotGiven,
    PolicyPatch,
    RelevancePatch,
    RelevanceRule,
    RetentionPolicy,
    RetentionRule,
)
from retention.scoring import Weights

__all__ = [
    "NOT_GIVEN",
    "InvalidPolicy",
    "MemoryType",
    "NotGiven",
    "PolicyPatch",
    "RelevancePatch",
    "RelevanceRule",
    "RetentionPolicy",
    "RetentionRule",
    "Weights",
    "canonical",
    "digest",
    "merge_policy",
    "parse_patch",
    "parse_policy",
    "to_document",
]

T = TypeVar("T")


def parse_policy(document: Mapping[str, object]) -> RetentionPolicy:
    """Return the policy that a document describes; omitted fields of `relevance` take their defaults.

    Raises InvalidPolicy with the dotted path of the first value that cannot be used.
    """
    return _merged(RetentionPolicy(), parse_patch(document))


def merge_policy(stored: RetentionPolicy | None, patch: PolicyPatch) -> RetentionPolicy | None:
    """Return the stored policy with the patch laid over it. None is a container without a policy, never set or opted out.

    Omitted stays, null removes the limit and is kept, a value replaces. An empty patch changes nothing, so None stays None.
    Source: OpenSearch memory retention, "Updating a retention policy".
    """
    if patch == PolicyPatch():
        return stored
    return _merged(stored or RetentionPolicy(), patch)


def _merged(stored: RetentionPolicy, patch: PolicyPatch) -> RetentionPolicy:
    rules = dict(stored.rules)
    for memory_type, change in patch.rules.items():
        old = stored.rule(memory_type)
        rules[memory_type] = RetentionRule(
            retention_days=_changed(old.retention_days, change.retention_days),
            max_count=_changed(old.max_count, change.max_count),
        )
    if isinstance(patch.relevance, NotGiven):
        return RetentionPolicy(rules, stored.relevance)
    if patch.relevance is None:
        return RetentionPolicy(rules, None)
    return RetentionPolicy(rules, _merged_relevance(stored.relevance or RelevanceRule(), patch.relevance))


def _merged_relevance(old: RelevanceRule, change: RelevancePatch) -> RelevanceRule:
    return RelevanceRule(
        ttl_days=_changed(old.ttl_days, change.ttl_days),
        max_records=_changed(old.max_records, change.max_records),
        max_tokens=_changed(old.max_tokens, change.max_tokens),
        half_life_hours=_changed(old.half_life_hours, change.half_life_hours),
        weights=_changed(old.weights, change.weights),
    )


def _changed(old: T, new: T | NotGiven) -> T:
    return old if isinstance(new, NotGiven) else new


def parse_patch(document: Mapping[str, object]) -> PolicyPatch:
    """Return the changes that a document of the same shape as a policy describes. Raises InvalidPolicy."""
    given = mapping(document, field="", name="A policy", known=("retention", "relevance"))
    return PolicyPatch(
        rules=_read_rules(given["retention"]) if "retention" in given else {},
        relevance=_read_relevance(given["relevance"]) if "relevance" in given else NOT_GIVEN,
    )


def _read_rules(value: object) -> dict[MemoryType, RetentionRule]:
    if not isinstance(value, Mapping):
        message = f"The retention rules cannot be {quoted(value)}. Give an object with any of: {', '.join(RULED)}."
        raise InvalidPolicy("retention", message)
    rules: dict[MemoryType, RetentionRule] = {}
    for key, rule in value.items():
        memory_type = _read_type(key)
        if memory_type in rules:
            raise InvalidPolicy(f"retention.{memory_type}", f"The rule for {memory_type} is given twice. Keep one of them.")
        rules[memory_type] = _read_rule(rule, memory_type)
    return rules


def _read_type(key: object) -> MemoryType:
    name = key.lower() if isinstance(key, str) else None  # OpenSearch takes SESSIONS for sessions
    if name == MemoryType.WORKING:
        message = "Working memories have no rule of their own: they go with their session. Set the rule for sessions instead."
        raise InvalidPolicy(below("retention", key), message)
    if name not in RULED:
        message = f"There is no memory type {quoted(key)}. Use any of: {', '.join(RULED)}."
        raise InvalidPolicy(below("retention", key), message)
    return MemoryType(name)


def _read_rule(value: object, memory_type: MemoryType) -> RetentionRule:
    path = f"retention.{memory_type}"
    given = mapping(value, field=path, name=f"The rule for {memory_type}", known=("retention_days", "max_count"))
    if memory_type is MemoryType.HISTORY and given.get("retention_days") is not None:
        message = "History is limited by number only, not by days. Leave the days out and set the most to keep (max_count)."
        raise InvalidPolicy(f"{path}.retention_days", message)
    return RetentionRule(
        retention_days=_optional_limit(given, "retention_days", path=path, of=RETENTION_DAYS),
        max_count=_optional_limit(given, "max_count", path=path, of=MAX_COUNT),
    )


def _read_relevance(value: object) -> RelevancePatch | None:
    if value is None:
        return None
    known = ("ttl_days", "max_records", "max_tokens", "half_life_hours", "weights")
    given = mapping(value, field="relevance", name="The relevance rule", known=known)
    return RelevancePatch(
        ttl_days=_optional_limit(given, "ttl_days", path="relevance", of=TTL_DAYS),
        max_records=_optional_limit(given, "max_records", path="relevance", of=MAX_RECORDS),
        max_tokens=_optional_limit(given, "max_tokens", path="relevance", of=MAX_TOKENS),
        half_life_hours=half_life_hours(given["half_life_hours"]) if "half_life_hours" in given else NOT_GIVEN,
        weights=weights(given["weights"]) if "weights" in given else NOT_GIVEN,
    )


def _optional_limit(given: Mapping[str, object], key: str, *, path: str, of: Limit) -> int | NotGiven | None:
    return limit(given[key], field=f"{path}.{key}", of=of) if key in given else NOT_GIVEN


def to_document(policy: RetentionPolicy) -> dict[str, object]:
    """Return the document that parse_policy reads back as an equal policy: nulls kept, omitted limits left out."""
    relevance = policy.relevance
    return {
        "retention": {memory_type.value: _rule_document(rule) for memory_type, rule in policy.rules.items()},
        "relevance": None if relevance is None else _relevance_document(relevance),
    }


def _rule_document(rule: RetentionRule) -> dict[str, object]:
    limits = {"retention_days": rule.retention_days, "max_count": rule.max_count}
    return {name: value for name, value in limits.items() if value is not NOT_GIVEN}


def _relevance_document(rule: RelevanceRule) -> dict[str, object]:
    return {
        "ttl_days": rule.ttl_days,
        "max_records": rule.max_records,
        "max_tokens": rule.max_tokens,
        "half_life_hours": _plain(rule.half_life_hours),
        "weights": {
            "recency": _plain(rule.weights.recency),
            "frequency": _plain(rule.weights.frequency),
            "importance": _plain(rule.weights.importance),
        },
    }


def _plain(number: float) -> int | float:
    return int(number) if number == int(number) else number  # 720 and 720.0 must have one digest


def canonical(policy: RetentionPolicy) -> str:
    """Return the one JSON text of the policy: sorted keys, no spaces, explicit nulls."""
    return json.dumps(to_document(policy), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(policy: RetentionPolicy) -> str:
    """Return the SHA-256 of the canonical text, in hex."""
    return hashlib.sha256(canonical(policy).encode()).hexdigest()
