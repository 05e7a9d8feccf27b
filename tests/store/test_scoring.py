from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.store.models import LongTermMemory
from memadmin.store.scoring import micros_sql, microseconds
from retention.records import MemoryFacts
from retention.rules import RelevanceRule
from retention.scoring import Weights, score
from tests.factories import NOON, a_memory, make_container, store

pytestmark = pytest.mark.django_db
RULES = [
    RelevanceRule(),
    RelevanceRule(half_life_hours=1.5, weights=Weights(0.2, 0.7, 0.1)),
    RelevanceRule(half_life_hours=87_600),
    RelevanceRule(weights=Weights(1 - 1e-320, 1e-320, 0.0)),
]
TIMES = st.none() | st.timedeltas(timedelta(days=-5000), timedelta(days=40)).map(lambda age: NOON + age)


def facts_of(row: LongTermMemory) -> MemoryFacts:
    return MemoryFacts(
        key=row.pk,
        created_at=row.created_at,
        last_updated_at=row.last_updated_at,
        last_accessed_at=row.last_accessed_at,
        hits=row.hits,
        importance=row.importance,
    )


@given(
    rows=st.lists(st.tuples(TIMES, TIMES, st.integers(0, 2_000_000_000), st.floats(0, 1)), min_size=1, max_size=20),
    rule=st.sampled_from(RULES),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_database_scores_as_the_rules_do(db, rows, rule):
    container = make_container()
    store(
        container,
        *(
            a_memory(created_at=created, last_accessed_at=read, hits=hits, importance=importance)
            for created, read, hits, importance in rows
        ),
    )

    for row in LongTermMemory.objects.of_container(container).scored(rule, now=NOON):
        expected = score(facts_of(row), weights=rule.weights, half_life=rule.half_life, now=NOON)
        assert row.score == expected.millionths


def test_scores_that_lie_exactly_between_two_millionths_go_the_same_way(db):
    rule = RelevanceRule(weights=Weights(0.02, 0.18, 0.8))
    rows = [(half_lives, hits) for half_lives in range(13) for hits in (0, 1, 9, 99, 100)]
    store(
        make_container(),
        *(a_memory(last_accessed_at=NOON - age * rule.half_life, hits=hits, importance=0.35) for age, hits in rows),
    )

    for row in LongTermMemory.objects.scored(rule, now=NOON):
        assert row.score == score(facts_of(row), weights=rule.weights, half_life=rule.half_life, now=NOON).millionths


@pytest.mark.parametrize(
    "moment", [NOON, NOON.replace(microsecond=1), NOON.replace(year=1969, microsecond=999_999), NOON.replace(year=9999)]
)
def test_times_are_whole_microseconds_in_the_database(moment):
    store(make_container(), a_memory(created_at=moment))

    row = LongTermMemory.objects.extra(select={"micros": micros_sql("created_at")}).get()

    assert row.micros == microseconds(moment)
