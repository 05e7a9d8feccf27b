"""The day before it stays and the day after it goes: a memory's forecast against the selection, asked as of every night."""

from datetime import timedelta

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.lifecycle.forecast import forecast
from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.selection import select
from memadmin.store.models import LongTermMemory
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.scoring import Weights
from retention.victims import Reason
from tests.factories import NOON, a_memory, a_pin, days, make_container, make_memory, store
from tests.runs import a_policy

pytestmark = pytest.mark.django_db
NIGHTS = 24

rows = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ann", "ann", "bob"]),
        st.sampled_from([None, -1, 0, 1, 4, 8, 30]),
        st.sampled_from([None, None, -2, 0, 1, 9]),
        st.integers(0, 3),
        st.sampled_from([0.0, 0.3, 0.5, 1.0]),
        st.sampled_from([0, 5, 10, 70]),
        st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=10,
)
limits = st.none() | st.integers(1, 5)
policies = st.builds(
    lambda age, count, ttl, records, tokens, weights, half_life: RetentionPolicy(
        {MemoryType.LONG_TERM: RetentionRule(age, count)}, RelevanceRule(ttl, records, tokens, half_life, weights)
    ),
    st.sampled_from([None, 6, 20]),
    st.sampled_from([None, 2, 6]),
    st.sampled_from([None, 5, 15]),
    limits,
    st.sampled_from([None, 12, 60]),
    st.sampled_from([Weights(), Weights(1.0, 0.0, 0.0), Weights(0.8, 0.0, 0.2)]),
    st.sampled_from([24.0, 120.0, 720.0]),
)


def filled(drawn):
    container = make_container(f"c{LongTermMemory.objects.count()}")
    arriving = [
        a_memory(
            f"m{at}",
            user_id=user,
            created_at=None if age is None else NOON - days(age),
            last_accessed_at=None if read is None else NOON - days(read),
            hits=hits,
            importance=importance,
            tokens=tokens,
            pin=a_pin() if pinned else None,
        )
        for at, (user, age, read, hits, importance, tokens, pinned) in enumerate(drawn)
    ]
    store(container, *arriving)
    return container


def taken_as_of(container, policy, night):
    """The ids that the selection takes as of a night, with their reasons."""
    for selection in select(container, policy, now=night):
        if selection.kind == ItemKind.LONG_TERM:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT item_id, reasons FROM ({selection.sql}) s")
                return {key: Reason.from_bits(bits) for key, bits in cursor.fetchall()}
    return {}


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=rows, policy=policies)
def test_the_day_before_it_stays_and_on_its_day_it_goes(db, drawn, policy):
    container = filled(drawn)
    by_night = [taken_as_of(container, policy, NOON + timedelta(days=number)) for number in range(NIGHTS)]

    for memory in LongTermMemory.objects.filter(container=container).select_related("subject__container"):
        fate = forecast(memory, policy, first=NOON, now=NOON, nights=NIGHTS).fate

        expected = next((number for number, taken in enumerate(by_night) if memory.pk in taken), None)
        assert (fate and fate.number) == expected
        if fate:
            assert set(fate.reasons) == set(by_night[fate.number][memory.pk])


def test_a_recall_moves_the_date_that_the_caps_set():
    container = make_container()
    weak = make_memory(container, "weak", importance=0.4, days_old=40)
    strong = [make_memory(container, f"strong {number}", importance=0.5, days_old=40) for number in range(2)]
    LongTermMemory.objects.filter(pk=weak.pk).update(last_accessed_at=NOON - days(1), hits=1)
    weak.refresh_from_db()

    found = forecast(weak, a_policy(relevance={"max_records": 2}), first=NOON, now=NOON)

    assert found.fate.number > 0
    assert found.keeps.recalled is None or found.keeps.recalled.number > found.fate.number
    assert (found.keeps.fewer_records, found.keeps.max_records) == (1, 3)
    assert 0.4 < found.keeps.importance <= 0.5
    assert len(strong) == 2


def test_a_recall_does_not_move_the_day_of_a_time_to_live():
    memory = make_memory(make_container(), days_old=10)

    found = forecast(memory, a_policy(relevance={"ttl_days": 20}), first=NOON, now=NOON)

    assert (found.fate.number, found.keeps.recalled.number, found.keeps.importance) == (11, 11, None)


def test_the_importance_that_keeps_it_is_the_lowest_that_does():
    container = make_container()
    weak = make_memory(container, "weak", importance=0.1)
    make_memory(container, "strong", importance=0.6)
    policy = a_policy(relevance={"max_records": 1})

    enough = forecast(weak, policy, first=NOON, now=NOON).keeps.importance

    for importance, stays in ((enough, True), (enough - 0.01, False)):
        LongTermMemory.objects.filter(pk=weak.pk).update(importance=importance)
        weak.refresh_from_db()
        assert (forecast(weak, policy, first=NOON, now=NOON).fate is None) == stays


def test_tokens_are_what_must_go_where_the_tokens_are_over():
    container = make_container()
    weak = make_memory(container, "weak", importance=0.1, tokens=40)
    make_memory(container, "strong", importance=0.6, tokens=80)

    keeps = forecast(weak, a_policy(relevance={"max_tokens": 100}), first=NOON, now=NOON).keeps

    assert (keeps.fewer_tokens, keeps.max_tokens, keeps.max_records) == (20, 120, None)
