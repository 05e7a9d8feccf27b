import random
from datetime import timedelta

import pytest

from retention.policy import RelevanceRule
from retention.victims import Reason, cut_line, relevance_victims
from tests.retention.facts import MICROSECOND, NOON, keys, memory

NO_LIMITS = {"ttl_days": None, "max_records": None, "max_tokens": None}


def victims(*memories, **limits):
    return relevance_victims(memories, RelevanceRule(**{**NO_LIMITS, **limits}), now=NOON)


def line(*memories, **limits):
    return cut_line(memories, RelevanceRule(**{**NO_LIMITS, **limits}), now=NOON)


# --- the document's worked example


def pharmacy_customer():
    """498 memories of 70 tokens, four of them old notes; then six new ones: an address, a complaint, four pleasantries."""
    notes = [memory(key, days_old=300, read_days_ago=243, hits=1, importance=0.1, tokens=70) for key in range(1, 5)]
    others = [memory(key, days_old=200, read_days_ago=20, hits=3, importance=0.5, tokens=70) for key in range(5, 498)]
    allergy = memory(498, days_old=360, importance=0.0, tokens=70, pinned=True)
    new = [memory(500 + at, importance=importance, tokens=70) for at, importance in enumerate((0.8, 0.5, 0.1, 0.1, 0.1, 0.1))]
    return notes, [*notes, *others, allergy, *new]


def test_a46_the_four_old_notes_go_and_the_pleasantries_and_the_allergy_stay():
    notes, everything = pharmacy_customer()

    chosen = relevance_victims(everything, RelevanceRule(), now=NOON)

    assert keys(chosen) == [note.key for note in notes]
    assert {(v.reason, v.score) for v in chosen} == {(Reason.MAX_RECORDS, 71_496)}


def test_a46_five_hundred_memories_of_thirty_five_thousand_tokens_are_left():
    _, everything = pharmacy_customer()

    gone = set(keys(relevance_victims(everything, RelevanceRule(), now=NOON)))
    left = [m for m in everything if m.key not in gone]

    assert (len(everything), len(left), sum(m.tokens for m in left)) == (504, 500, 35_000)


# --- TTL


def test_a32_a_memory_exactly_at_its_ttl_lives_and_a_microsecond_later_it_is_expired():
    at_the_limit = memory(1, days_old=365)
    just_past = memory(2, created_at=NOON - timedelta(days=365) - MICROSECOND)

    assert keys(victims(at_the_limit, just_past, ttl_days=365)) == [2]


def test_the_ttl_counts_from_creation_however_lately_it_was_read_or_changed():
    assert keys(victims(memory(1, days_old=400, read_days_ago=0, last_updated_at=NOON), ttl_days=365)) == [1]


def test_expired_ones_are_named_oldest_creation_first():
    changed_lately = memory(2, days_old=500, last_updated_at=NOON)

    assert keys(victims(memory(1, days_old=400), memory(3, days_old=500), changed_lately, ttl_days=365)) == [2, 3, 1]


def test_a_pin_beats_the_ttl():
    assert victims(memory(1, days_old=4_000, pinned=True), memory(2, days_old=4_000, held=True), ttl_days=1) == []


def test_an_undated_memory_never_expires():
    assert victims(memory(1, days_old=None), ttl_days=1) == []


def test_a15_expired_ones_go_first_and_make_room_for_the_others():
    expired, weak, strong = memory(3, days_old=400), memory(1, importance=0.1), memory(2, importance=0.9)

    assert [(v.key, v.reason) for v in victims(weak, strong, expired, ttl_days=365, max_records=2)] == [(3, Reason.TTL)]
    assert [(v.key, v.reason) for v in victims(weak, strong, expired, ttl_days=365, max_records=1)] == [
        (3, Reason.TTL),
        (1, Reason.MAX_RECORDS),
    ]


# --- caps


def test_at_the_caps_nobody_goes():
    assert victims(*(memory(key, tokens=10) for key in range(5)), max_records=5, max_tokens=50) == []


def test_a15_with_the_count_right_but_too_many_tokens_the_weakest_go_until_they_fit():
    memories = [memory(key, importance=key / 10, tokens=100) for key in (1, 2, 3)]

    assert [(v.key, v.reasons) for v in victims(*memories, max_records=3, max_tokens=250)] == [(1, (Reason.MAX_TOKENS,))]


def test_a15_with_the_tokens_right_but_too_many_memories_the_weakest_go_until_they_fit():
    memories = [memory(key, importance=key / 10, tokens=10) for key in (1, 2, 3)]

    assert [(v.key, v.reasons) for v in victims(*memories, max_records=2, max_tokens=250)] == [(1, (Reason.MAX_RECORDS,))]


def test_both_caps_have_to_hold_and_each_victim_names_those_that_did_not():
    memories = [memory(key, importance=key / 10, tokens=100) for key in (1, 2, 3, 4)]

    chosen = victims(*memories, max_records=3, max_tokens=200)

    assert [(v.key, v.reasons) for v in chosen] == [(1, (Reason.MAX_RECORDS, Reason.MAX_TOKENS)), (2, (Reason.MAX_TOKENS,))]


def test_a33_pinned_memories_count_against_the_cap_but_only_the_free_one_goes():
    memories = [memory(key, pinned=True) for key in range(505)]

    assert keys(victims(*memories, memory(999, importance=1.0), max_records=500)) == [999]


def test_with_three_of_five_pinned_a_cap_of_three_takes_the_two_others():
    memories = [memory(key, pinned=key < 4) for key in range(1, 6)]

    assert keys(victims(*memories, max_records=3)) == [4, 5]


def test_when_all_are_pinned_and_over_the_cap_nobody_goes():
    assert victims(*(memory(key, pinned=True) for key in range(5)), max_records=3) == []


def test_a_memory_without_tokens_still_counts_as_a_memory_and_frees_no_tokens():
    weakest, large = memory(1, importance=0.0, tokens=0), memory(2, importance=0.9, tokens=100)

    assert keys(victims(weakest, large, memory(3, tokens=100), max_tokens=150)) == [1, 3]


def test_a_pinned_memory_larger_than_the_token_cap_leaves_no_room_for_others():
    huge = memory(1, tokens=300, pinned=True)

    assert keys(victims(huge, memory(2, tokens=100), memory(3, tokens=0), max_tokens=250)) == [2, 3]


def test_a_memory_larger_than_the_token_cap_goes_alone_and_drags_nobody_with_it():
    huge = memory(9, importance=1.0, tokens=300)
    memories = [memory(key, importance=0.0, tokens=50) for key in range(1, 6)]

    chosen = victims(huge, *memories, max_tokens=250)

    assert [(v.key, v.reasons) for v in chosen] == [(9, (Reason.OVERSIZED, Reason.MAX_TOKENS))]


def test_a_memory_exactly_as_large_as_the_token_cap_is_not_oversized():
    as_large, weak = memory(1, importance=1.0, tokens=250), memory(2, importance=0.0, tokens=10)

    assert [(v.key, v.reasons) for v in victims(as_large, weak, max_tokens=250)] == [(2, (Reason.MAX_TOKENS,))]


def test_an_oversized_memory_names_the_record_cap_too_when_that_is_exceeded():
    chosen = victims(memory(1, tokens=300), memory(2), max_records=1, max_tokens=250)

    assert chosen[0].reasons == (Reason.OVERSIZED, Reason.MAX_RECORDS, Reason.MAX_TOKENS)


def test_a35_equal_scores_go_by_older_access_then_by_key():
    memories = [memory(key, days_old=days, importance=0.0) for key, days in ((1, 9_000), (2, 9_500), (4, 9_500), (3, 9_500))]

    assert keys(victims(*memories, max_records=1)) == [2, 3, 4]


def test_scores_equal_to_six_places_are_equal_and_the_older_access_decides():
    older = memory(2, read_days_ago=10, importance=0.5)
    newer = memory(1, read_days_ago=10, importance=0.499_999_9)

    assert keys(victims(newer, older, max_records=1)) == [1]
    assert keys(victims(newer, memory(2, read_days_ago=10.000_001, importance=0.5), max_records=1)) == [2]


def test_of_ten_alike_the_same_three_go_in_whatever_order_they_come():
    memories = [memory(key, days_old=9) for key in range(1, 11)]
    shuffled = random.Random(7).sample(memories, 10)

    assert keys(victims(*shuffled, max_records=7)) == [1, 2, 3]


def test_missing_dates_never_make_a_memory_weaker_than_a_dated_one():
    assert keys(victims(memory(1, days_old=None), memory(2), max_records=1)) == [2]


def test_all_memories_of_a_user_are_looked_at_however_many():
    memories = [memory(key, importance=(key % 10) / 10) for key in range(1_500)]

    chosen = victims(*memories, max_records=1_200)

    assert len(chosen) == 300
    assert {memories[key].importance for key in keys(chosen)} == {0.0, 0.1}


# --- the line


def test_the_cut_line_is_the_score_of_the_weakest_that_stays():
    memories = [memory(key, importance=key / 10) for key in (1, 2, 3, 4)]

    assert line(*memories, max_records=3) == 280_000


def test_the_cut_line_holds_for_a_user_exactly_at_a_cap():
    memories = [memory(key, importance=key / 10, tokens=10) for key in (1, 2)]

    assert line(*memories, max_records=2) == 240_000
    assert line(*memories, max_tokens=20) == 240_000


@pytest.mark.parametrize(
    ("memories", "limits"),
    [
        ([memory(1)], {"max_records": 2, "max_tokens": 9}),
        ([memory(1, days_old=9), memory(2)], {"max_records": 2, "ttl_days": 5}),
        ([memory(1, pinned=True), memory(2)], {"max_records": 1}),
        ([], {"max_records": 1}),
        ([memory(1)], {}),
    ],
)
def test_there_is_no_cut_line_below_the_caps_or_with_only_pinned_ones_left(memories, limits):
    assert line(*memories, **limits) is None


def test_the_cut_line_leaves_out_pinned_and_oversized_memories():
    pinned = memory(1, importance=0.0, pinned=True, tokens=10)
    oversized = memory(2, importance=0.0, tokens=900)

    assert line(pinned, oversized, memory(3, importance=0.5, tokens=10), max_records=2, max_tokens=100) == 400_000
