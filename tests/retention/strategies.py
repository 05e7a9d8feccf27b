"""Random facts and rules for the law tests. Few values per field on purpose: ties, equal dates and reached limits must be common."""

import math
from datetime import timedelta

from hypothesis import strategies as st

from retention.policy import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.records import MemoryFacts
from retention.scoring import Weights
from tests.retention.facts import NOON

DATES = (None, *(NOON - timedelta(days=days) for days in range(-3, 13)))
FIELDS = {
    "subject": (1, 2, 3),
    "created_at": DATES,
    "last_updated_at": DATES,
    "last_accessed_at": DATES,
    "hits": (0, 1, 2, 100, 500),
    "importance": (0.0, 0.1, 0.5, 0.8, 1.0),
    "tokens": (0, 10, 70, 300),
    "pinned": (False, False, False, True),
    "held": (False, False, False, False, True),
}
# One whole number per memory: drawing each field by itself takes ten times as long.
choices = st.integers(0, math.prod(len(values) for values in FIELDS.values()) - 1)


def _memory(key: int, choice: int) -> MemoryFacts:
    facts = {}
    for name, values in FIELDS.items():
        choice, at = divmod(choice, len(values))
        facts[name] = values[at]
    return MemoryFacts(key, **facts)  # type: ignore[arg-type]


# Up to 12 memories whose keys do not come in order: multiples of 5 modulo 13.
stores = st.lists(choices, max_size=12).map(lambda drawn: [_memory(at * 5 % 13, choice) for at, choice in enumerate(drawn, start=1)])
newcomers = choices.map(lambda choice: _memory(99, choice))

moments = st.timedeltas(timedelta(days=-4_000), timedelta(days=4_000)).map(lambda ago: NOON - ago)
half_lives = st.floats(0.01, 87_600).map(lambda hours: timedelta(hours=hours))
facts = st.builds(
    MemoryFacts,
    key=st.just(1),
    created_at=st.none() | moments,
    last_accessed_at=st.none() | moments,
    hits=st.integers(0, 200),
    importance=st.floats(0, 1),
)


def _weights(cuts: list[int]) -> Weights:
    first, second = sorted(cuts)
    return Weights(first / 100, (second - first) / 100, (100 - second) / 100)


weights = st.lists(st.integers(0, 100), min_size=2, max_size=2).map(_weights)  # whole percents that make 1
days = st.sampled_from((None, *range(1, 15)))
counts = st.sampled_from((None, *range(1, 9)))
retention_rules = st.builds(RetentionRule, retention_days=days, max_count=counts)
relevance_rules = st.builds(
    RelevanceRule,
    ttl_days=days,
    max_records=counts,
    max_tokens=st.sampled_from((None, 5, 50, 100, 250, 600)),
    half_life_hours=st.sampled_from((1.0, 24.0, 720.0)),
    weights=weights,
)
policies = st.builds(
    RetentionPolicy,
    rules=st.none().map(lambda _: {}) | retention_rules.map(lambda rule: {MemoryType.LONG_TERM: rule}),
    relevance=st.none() | relevance_rules,
)
