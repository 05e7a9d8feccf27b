from datetime import timedelta

import pytest

from retention.policy import RetentionRule
from retention.records import MemoryFacts
from retention.victims import AgeFrom, Reason, retention_victims
from tests.retention.facts import MICROSECOND, NOON, keys, memory


def victims(*memories, **changed):
    limits = {name: changed.pop(name) for name in ("retention_days", "max_count") if name in changed}
    return retention_victims(memories, RetentionRule(**limits), now=NOON, **changed)


def test_a_rule_without_limits_evicts_nothing():
    assert victims(memory(1, days_old=9_000)) == []
    assert victims(memory(1, days_old=9_000), retention_days=None, max_count=None) == []


def test_a_memory_exactly_at_the_age_limit_is_kept_and_a_microsecond_older_goes():
    at_the_limit = memory(1, days_old=30)
    just_past = memory(2, last_updated_at=NOON - timedelta(days=30) - MICROSECOND)

    assert keys(victims(at_the_limit, just_past, retention_days=30)) == [2]


def test_age_counts_from_the_last_change_of_content_not_from_creation():
    changed_lately = memory(1, days_old=900, last_updated_at=NOON)

    assert victims(changed_lately, retention_days=30) == []


def test_age_counts_from_creation_where_the_rule_is_asked_to():
    changed_lately = memory(1, days_old=900, last_updated_at=NOON)

    assert keys(victims(changed_lately, retention_days=30, age_from=AgeFrom.CREATED)) == [1]


def test_the_oldest_beyond_the_count_go_and_the_count_itself_may_stay():
    memories = [memory(key, days_old=key) for key in range(1, 6)]

    assert keys(victims(*memories, max_count=3)) == [5, 4]
    assert victims(*memories, max_count=5) == []


def test_pinned_and_held_memories_neither_die_nor_count():
    pinned = [memory(key, days_old=900, pinned=True) for key in (1, 2, 3)]
    held = memory(4, days_old=900, held=True)

    assert victims(*pinned, held, memory(5), max_count=1, retention_days=30) == []


def test_with_three_of_five_pinned_a_count_of_three_takes_none():
    memories = [memory(key, days_old=key, pinned=key < 4) for key in range(1, 6)]

    assert victims(*memories, max_count=3) == []


def test_a_missing_date_is_never_past_an_age_limit():
    assert victims(memory(1, days_old=None), retention_days=1) == []


def test_a_missing_date_is_the_last_to_go_by_count():
    undated, older, newer = memory(1, days_old=None), memory(2, days_old=9), memory(3, days_old=1)

    assert keys(victims(undated, older, newer, max_count=1)) == [2, 3]


def test_a_missing_date_still_goes_when_nothing_else_is_left_to_go():
    assert keys(victims(memory(1, days_old=None), memory(2, days_old=None), max_count=1)) == [1]


def test_of_equal_dates_the_lower_key_goes_first():
    assert keys(victims(*(memory(key, days_old=9) for key in (4, 2, 3, 1)), max_count=2)) == [1, 2]


def test_a_date_in_the_future_is_kept_by_age_and_counts_as_the_newest():
    from_tomorrow = memory(1, days_old=-400)

    assert keys(victims(from_tomorrow, memory(2), retention_days=1, max_count=1)) == [2]


def test_either_limit_condemns_and_the_union_goes_with_age_as_the_first_reason():
    aged = [memory(key, days_old=days) for key, days in ((1, 30), (2, 20), (3, 10))]
    young = [memory(key, days_old=8 - key) for key in range(4, 9)]

    chosen = victims(*aged, *young, retention_days=7, max_count=4)

    assert [(v.key, v.reason, v.reasons) for v in chosen] == [
        (1, Reason.AGE, (Reason.AGE, Reason.COUNT)),
        (2, Reason.AGE, (Reason.AGE, Reason.COUNT)),
        (3, Reason.AGE, (Reason.AGE, Reason.COUNT)),
        (4, Reason.COUNT, (Reason.COUNT,)),
    ]


def test_what_is_past_the_age_but_inside_the_count_carries_the_age_alone():
    chosen = victims(memory(1, days_old=30), memory(2, days_old=20), retention_days=7, max_count=1)

    assert [v.reasons for v in chosen] == [(Reason.AGE, Reason.COUNT), (Reason.AGE,)]


def test_a_backlog_by_count_is_worked_off_in_runs_of_at_most_the_cap():
    memories = [memory(key, days_old=100 - key) for key in range(1, 11)]

    first = victims(*memories, max_count=3, count_cap=5)
    second = victims(*memories[5:], max_count=3, count_cap=5)

    assert (keys(first), keys(second)) == ([1, 2, 3, 4, 5], [6, 7])


def test_age_has_no_cap_and_does_not_use_up_the_cap_of_count():
    memories = [memory(key, days_old=100 - key) for key in range(1, 11)]

    chosen = victims(*memories, retention_days=95, max_count=1, count_cap=3)

    assert [(v.key, v.reason) for v in chosen] == [(key, Reason.AGE) for key in (1, 2, 3, 4)] + [(key, Reason.COUNT) for key in (5, 6, 7)]


@pytest.mark.parametrize(("number", "max_count", "gone"), [(60_100, 100, 50_000), (10_000, 100, 9_900)])
def test_one_run_takes_at_most_fifty_thousand_by_count(number, max_count, gone):
    memories = (MemoryFacts(key, last_updated_at=NOON) for key in range(number))

    assert len(retention_victims(memories, RetentionRule(max_count=max_count), now=NOON)) == gone


def test_history_over_its_count_loses_the_oldest_by_creation():
    entries = [memory(key, days_old=6_000 - key, last_updated_at=None) for key in range(5_008)]

    assert keys(victims(*entries, max_count=5_000, age_from=AgeFrom.CREATED)) == list(range(8))


def test_no_score_is_given_where_no_relevance_rule_judged():
    assert victims(memory(1, days_old=9), retention_days=1)[0].score is None


def test_reasons_are_bits_in_order_of_precedence():
    assert [(reason.value, reason.bit) for reason in Reason] == [
        ("age", 1),
        ("count", 2),
        ("ttl", 4),
        ("oversized", 8),
        ("max_records", 16),
        ("max_tokens", 32),
        ("orphan", 64),
        ("unattributed", 128),
    ]
    assert Reason.from_bits(0) == ()
    assert Reason.from_bits(1 | 4 | 32) == (Reason.AGE, Reason.TTL, Reason.MAX_TOKENS)
