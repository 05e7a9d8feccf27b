from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.lifecycle.explain import cut_line, facts_of, reasons_now
from memadmin.store.models import LongTermMemory
from retention import victims
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from tests.factories import NOON, a_memory, a_pin, make_container, store, subject_of

TIMES = st.none() | st.integers(-40, 2).map(lambda age: NOON + timedelta(days=age * 10))
MEMORIES = st.tuples(TIMES, TIMES, st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0, 5, 10, 70]), st.booleans())
LIMITS = st.none() | st.integers(1, 6)


@pytest.mark.django_db
@given(
    rows=st.lists(MEMORIES, min_size=1, max_size=10), records=LIMITS, tokens=st.none() | st.integers(1, 60), ttl=st.none() | st.just(200)
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_line_of_a_user_is_the_one_that_the_rules_draw(db, rows, records, tokens, ttl):
    container = make_container()
    arriving = [
        a_memory(created_at=made, last_accessed_at=read, hits=hits, importance=weight, tokens=size, pin=a_pin() if pinned else None)
        for made, read, hits, weight, size, pinned in rows
    ]
    store(container, *arriving)
    rule = RelevanceRule(ttl_days=ttl, max_records=records, max_tokens=tokens)

    facts = [facts_of(memory) for memory in LongTermMemory.objects.of_container(container)]

    policy = RetentionPolicy(relevance=rule)
    assert cut_line(subject_of(container), policy, now=NOON) == victims.cut_line(facts, rule, now=NOON)


@pytest.mark.django_db
@given(
    rows=st.lists(MEMORIES, min_size=1, max_size=8),
    records=LIMITS,
    tokens=st.none() | st.integers(1, 60),
    ttl=st.none() | st.just(200),
    age=st.none() | st.just(150),
    count=LIMITS,
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_the_page_says_of_one_memory_is_what_a_run_would_do(db, rows, records, tokens, ttl, age, count):
    container = make_container()
    arriving = [
        a_memory(created_at=made, last_accessed_at=read, hits=hits, importance=weight, tokens=size, pin=a_pin() if pinned else None)
        for made, read, hits, weight, size, pinned in rows
    ]
    store(container, *arriving)
    rule = RelevanceRule(ttl_days=ttl, max_records=records, max_tokens=tokens)
    policy = RetentionPolicy(rules={MemoryType.LONG_TERM: RetentionRule(retention_days=age, max_count=count)}, relevance=rule)
    stored = list(LongTermMemory.objects.of_container(container))

    goes = {victim.key: victim.reasons for victim in victims.long_term_victims(map(facts_of, stored), policy, now=NOON)}

    assert {memory.pk: reasons for memory in stored if (reasons := reasons_now(memory, subject_of(container), policy, now=NOON))} == goes
