"""What is said of single memories is what a run would do with them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.lifecycle.fates import reasons_among
from memadmin.store.models import LongTermMemory
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import long_term_victims
from tests.factories import NOON, make_container
from tests.lifecycle.test_selection import MEMORIES, RELEVANCE, RULES, facts_of, fill

pytestmark = pytest.mark.django_db


@given(rows=st.lists(MEMORIES, max_size=20), rule=RULES, relevance=st.none() | RELEVANCE, every=st.integers(1, 3))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_reasons_of_some_memories_are_those_of_the_whole_run(db, rows, rule, relevance, every):
    container = make_container()
    fill(container, rows)
    policy = RetentionPolicy({MemoryType.LONG_TERM: rule}, relevance)
    stored = list(LongTermMemory.objects.of_container(container).order_by("id"))
    some = stored[::every]

    expected = {victim.key: victim.reasons for victim in long_term_victims([facts_of(row) for row in stored], policy, now=NOON)}

    assert reasons_among(container, policy, some, now=NOON) == {row.pk: expected[row.pk] for row in some if row.pk in expected}
