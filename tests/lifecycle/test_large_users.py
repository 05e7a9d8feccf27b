"""Victims of users with very many memories, found among their lowest scores, are those that the rules name."""

from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.lifecycle import large_users
from memadmin.lifecycle.large_users import known_victims
from memadmin.lifecycle.models import ItemKind
from memadmin.store import lowest
from memadmin.store.lowest import Crowd
from memadmin.store.models import LongTermMemory
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy
from retention.victims import long_term_victims
from tests.factories import NOON, a_memory, make_container, store
from tests.lifecycle.test_selection import MEMORIES, RELEVANCE, RULES, expected, facts_of, fill, selected

pytestmark = pytest.mark.django_db


@contextmanager
def everybody_is_large():
    """Every user counts as large, however much of theirs has to go, and lists are read a few rows at a time."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"LARGE": 0, "WORTH_RANKING": 0.01, "LARGE_MEMORY": 0}.items():
            patch.setattr(large_users, name, value)
        patch.setattr(lowest, "FIRST_READ", 2)
        patch.setattr(lowest, "LONGER", 2)
        patch.setattr(Crowd, "size", lambda crowd: 10_000)
        yield


@given(rows=st.lists(MEMORIES, max_size=25), rule=RULES, relevance=RELEVANCE, cap=st.sampled_from([50_000, 3]))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_lowest_scores_of_large_users_are_whom_the_rules_name(db, rows, rule, relevance, cap):
    container = make_container()
    fill(container, rows)
    policy = RetentionPolicy({MemoryType.LONG_TERM: rule}, relevance)

    facts = [facts_of(row) for row in LongTermMemory.objects.of_container(container)]

    with everybody_is_large():
        found = selected(container, policy, ItemKind.LONG_TERM, count_cap=cap)
    assert found == expected(long_term_victims(facts, policy, now=NOON, count_cap=cap))


def known(container, rule, condemned="FALSE"):
    with everybody_is_large():
        return known_victims(container, rule, condemned=condemned, now=NOON)


def test_a_user_a_little_over_the_cap_is_not_ranked():
    container = make_container()
    store(container, *(a_memory(f"{n}", days_old=n) for n in range(1, 12)))

    found = known(container, RelevanceRule(ttl_days=None, max_records=10, max_tokens=None))

    assert (len(found.subjects), found.sql.count("), (")) == (1, 0)
    assert f"({LongTermMemory.objects.get(text='11').pk}, " in found.sql


def test_a_user_with_a_memory_larger_than_the_cap_is_ranked():
    container = make_container()
    store(container, a_memory("huge", tokens=900), a_memory("small", tokens=5))

    assert known(container, RelevanceRule(ttl_days=None, max_records=None, max_tokens=100)).subjects == []


def test_with_many_condemned_memories_users_are_ranked(monkeypatch):
    monkeypatch.setattr(large_users, "CONDEMNED", 2)
    container = make_container()
    store(container, *(a_memory(f"{n}", days_old=n) for n in range(6)))

    assert known(container, RelevanceRule(max_records=1), condemned="m.hits = 0").subjects == []


def test_many_large_users_are_ranked_together(monkeypatch):
    monkeypatch.setattr(large_users, "USERS", 1)
    container = make_container()
    store(container, *(a_memory(f"{n}", user_id=f"user-{n % 2}") for n in range(6)))

    assert known(container, RelevanceRule(max_records=1)).subjects == []
