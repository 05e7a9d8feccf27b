"""A container's strategies: what is to be remembered of a conversation, and under which part of its namespace. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

DEFAULT_FACTS, MOST_FACTS = 5, 10  # of one strategy from one working memory


class StrategyType(StrEnum):
    SEMANTIC = "SEMANTIC"
    USER_PREFERENCE = "USER_PREFERENCE"
    SUMMARY = "SUMMARY"


@dataclass(frozen=True, slots=True)
class Strategy:
    """`keys` of the namespace scope what it writes: facts of the same values of these keys are compared with each other."""

    id: str
    type: StrategyType
    keys: tuple[str, ...]
    instructions: str = ""  # of the container, put before ours

    def scope(self, namespace: Mapping[str, Any]) -> dict[str, Any]:
        return {key: namespace[key] for key in self.keys}


def strategies_for(configuration: Mapping[str, Any], namespace: Mapping[str, Any]) -> list[Strategy]:
    """Return the enabled strategies whose keys the namespace has all; the others are passed over, as documented."""
    return [strategy for strategy in _enabled(configuration) if all(key in namespace for key in strategy.keys)]


def most_facts(configuration: Mapping[str, Any]) -> int:
    """Return how many facts of one working memory one strategy may keep, 1 to MOST_FACTS."""
    given = configuration.get("max_infer_size")
    return min(max(given, 1), MOST_FACTS) if isinstance(given, int) and not isinstance(given, bool) else DEFAULT_FACTS


def _enabled(configuration: Mapping[str, Any]) -> Iterator[Strategy]:
    """The configuration is kept as it arrived: an entry that is not of the documented shape is passed over too."""
    listed = configuration.get("strategies")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and entry.get("enabled", True) is True:
            type_name, keys = str(entry.get("type", "")).upper(), entry.get("namespace")
            if type_name in StrategyType.__members__ and isinstance(keys, list) and keys and all(isinstance(key, str) for key in keys):
                own = entry.get("configuration")
                instructions = own.get("system_prompt", "") if isinstance(own, dict) else ""
                yield Strategy(str(entry.get("id", "")), StrategyType(type_name), tuple(keys), str(instructions))
