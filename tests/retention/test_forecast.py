"""When a memory goes, against the reference asked on every night."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from retention.forecast import first_night
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.scoring import Weights
from retention.victims import Reason, long_term_victims
from tests.retention import strategies
from tests.retention.facts import NOON, memory

DAY = timedelta(days=1)
NIGHTS = [NOON + number * DAY for number in range(40)]

policies = st.builds(
    RetentionPolicy,
    rules=st.sampled_from((None, 2, 14, 30)).map(lambda days: {MemoryType.LONG_TERM: RetentionRule(days)}),
    relevance=st.none() | strategies.relevance_rules,
)


def caps(**limits):
    return RetentionPolicy(relevance=RelevanceRule(**{"ttl_days": None, "max_records": None, "max_tokens": None, **limits}))


@given(store=strategies.stores, policy=policies)
@example(store=[memory(1, read_days_ago=0.001), memory(2, read_days_ago=0.001)], policy=caps(max_records=1))
def test_the_first_night_is_the_first_on_which_the_reference_takes_it(store, policy):
    store = [replace(facts, subject=1) for facts in store]
    taken = [{victim.key: victim for victim in long_term_victims(store, policy, now=night)} for night in NIGHTS]

    for facts in store:
        fate = first_night(facts, [other for other in store if other.key != facts.key], policy, nights=NIGHTS)

        expected = next((number for number, victims in enumerate(taken) if facts.key in victims), None)
        assert (fate and fate.number) == expected
        if fate:
            assert (fate.at, fate.reasons) == (NIGHTS[fate.number], taken[fate.number][facts.key].reasons)


def test_a_memory_goes_on_the_night_after_its_time_to_live_and_not_on_the_one_that_is_exactly_at_it():
    policy = caps(ttl_days=5)

    assert first_night(memory(1), [], policy, nights=NIGHTS).number == 6
    assert first_night(memory(1, days_old=0.001), [], policy, nights=NIGHTS).number == 5


def test_another_memory_overtakes_one_that_fades_faster_than_its_importance_makes_up():
    read = memory(1, days_old=100, read_days_ago=0, importance=0.1)
    important = memory(2, days_old=100, importance=0.5)

    fate = first_night(read, [important], caps(max_records=1), nights=NIGHTS)

    assert fate.reasons == (Reason.MAX_RECORDS,)
    assert 20 < fate.number < 40
    assert (fate.records, fate.tokens) == (2, 0)


def test_it_may_stay_because_what_kept_it_out_grows_old_first():
    strong = memory(1, days_old=3, importance=1.0)
    weak = memory(2, days_old=0, importance=0.0)

    assert first_night(weak, [strong], caps(max_records=1), nights=NIGHTS).number == 0
    assert first_night(weak, [strong], caps(max_records=1, ttl_days=2), nights=NIGHTS).reasons == (Reason.TTL,)


def test_what_is_pinned_or_held_has_no_such_night_and_still_counts_for_others():
    pinned = memory(1, days_old=900, pinned=True)
    policy = caps(max_records=1, ttl_days=5)

    assert first_night(pinned, [memory(2)], policy, nights=NIGHTS) is None
    assert first_night(memory(2), [pinned], policy, nights=NIGHTS).number == 0
    assert first_night(memory(1, held=True), [], policy, nights=NIGHTS) is None


def test_what_the_number_of_the_container_takes_goes_at_once_and_makes_room_for_the_rest():
    first, second = memory(1, days_old=3), memory(2)

    assert first_night(first, [second], caps(max_records=1), nights=NIGHTS, counted={1}).reasons == (Reason.COUNT,)
    assert first_night(second, [replace(first, importance=1.0)], caps(max_records=1), nights=NIGHTS, counted={1}) is None


def test_a_thousand_rivals_alike_to_the_sixth_place_are_told_apart_as_the_ranking_does():
    weights = Weights(0.4, 0.2, 0.4)
    rule = RelevanceRule(None, 500, None, 720.0, weights)
    rivals = [memory(key, days_old=40 + key / 86_400_000, importance=0.5) for key in range(2, 1_001)]
    own = memory(1, days_old=40 + 500 / 86_400_000, importance=0.5)
    policy = RetentionPolicy(relevance=rule)

    fate = first_night(own, rivals, policy, nights=NIGHTS)

    taken = [{victim.key for victim in long_term_victims([own, *rivals], policy, now=night)} for night in NIGHTS[:3]]
    assert (fate.number if fate else None) == next((at for at, keys in enumerate(taken) if 1 in keys), None)
