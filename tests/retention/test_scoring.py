import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retention.records import MemoryFacts
from retention.scoring import AccessBasis, Weights, effective_access, falls_below, frequency, recency, score
from tests.retention.facts import MICROSECOND, NOON, memory
from tests.retention.strategies import facts, half_lives, moments, weights

MONTH = timedelta(days=30)


def score_now(facts, **changed):
    return score(facts, **{"weights": Weights(), "half_life": MONTH, "now": NOON, **changed})


def crossing(facts, line, **changed):
    return falls_below(facts, line, **{"weights": Weights(), "half_life": MONTH, "now": NOON, **changed})


@pytest.mark.parametrize(("half_lives_ago", "expected"), [(0, 1.0), (1, 0.5), (2, 0.25), (3, 0.125)])
def test_a11_recency_halves_with_every_half_life(half_lives_ago, expected):
    assert recency(NOON - half_lives_ago * MONTH, now=NOON, half_life=MONTH) == expected


def test_a16_recency_has_no_cliff_at_the_half_life():
    just_before = recency(NOON - MONTH + MICROSECOND, now=NOON, half_life=MONTH)
    just_after = recency(NOON - MONTH - MICROSECOND, now=NOON, half_life=MONTH)

    assert 0 < just_before - just_after < 1e-9


def test_a14_a_last_access_in_the_future_counts_as_now():
    assert recency(NOON + 400 * MONTH, now=NOON, half_life=MONTH) == 1.0


def test_recency_of_the_first_year_of_the_calendar_is_zero_and_no_error():
    assert recency(datetime.min.replace(tzinfo=UTC), now=NOON, half_life=timedelta(hours=1)) == 0.0


@pytest.mark.parametrize(
    ("hits", "expected"), [(-5, 0.0), (0, 0.0), (1, 0.1502), (2, 0.2380), (99, 0.9978), (100, 1.0), (150, 1.0), (10**9, 1.0)]
)
def test_a12_frequency_grows_with_the_logarithm_of_hits_up_to_one(hits, expected):
    assert frequency(hits) == pytest.approx(expected, abs=5e-5)


def test_a16_the_hundredth_hit_adds_far_less_than_the_second():
    second = frequency(2) - frequency(1)
    hundredth = frequency(100) - frequency(99)

    assert (round(second, 4), round(hundredth, 4)) == (0.0879, 0.0022)


def test_a47_an_opening_hours_note_unread_for_eight_months_scores_seven_hundredths():
    note = memory(1, days_old=300, read_days_ago=243, hits=1, importance=0.1)

    assert score_now(note).millionths == 71_496


@pytest.mark.parametrize(("importance", "expected"), [(0.1, 0.24), (0.5, 0.40), (0.8, 0.52)])
def test_a20_a48_a_new_memory_starts_at_half_recency_because_creation_is_no_read(importance, expected):
    assert score_now(memory(1, importance=importance)).total == pytest.approx(expected, abs=1e-12)


def test_a48_a_pleasantry_read_at_creation_would_score_as_the_naive_rule_says():
    assert score_now(memory(1, read_days_ago=0, importance=0.1)).total == pytest.approx(0.44, abs=1e-12)


@pytest.mark.parametrize("days", [1, 30, 3_650])
def test_a_never_read_memory_starts_at_half_recency_whatever_the_half_life(days):
    assert score_now(memory(1), half_life=timedelta(days=days)).recency == 0.5


def test_a_memory_without_any_date_counts_as_just_read_and_is_flagged():
    undated = score_now(memory(1, days_old=None))

    assert (undated.recency, undated.basis) == (1.0, AccessBasis.UNDATED)


@pytest.mark.parametrize(
    ("facts", "basis"),
    [
        (memory(1, days_old=9, read_days_ago=3), AccessBasis.READ),
        (memory(1, days_old=9), AccessBasis.NEVER_READ),
        (memory(1, days_old=9, read_days_ago=-1), AccessBasis.FUTURE),
        (memory(1, days_old=-31), AccessBasis.FUTURE),
        (memory(1, days_old=None, read_days_ago=2), AccessBasis.READ),
    ],
)
def test_the_score_says_which_time_recency_was_counted_from(facts, basis):
    assert score_now(facts).basis is basis


def test_the_effective_access_is_the_last_access_else_a_half_life_before_creation_else_none():
    assert effective_access(memory(1, days_old=9, read_days_ago=3), half_life=MONTH) == NOON - timedelta(days=3)
    assert effective_access(memory(1, days_old=9), half_life=MONTH) == NOON - timedelta(days=39)
    assert effective_access(memory(1, days_old=None), half_life=MONTH) is None


def test_a_half_life_before_the_first_year_stops_at_the_first_year():
    first_day = datetime.min.replace(tzinfo=UTC)

    assert effective_access(MemoryFacts(1, created_at=first_day), half_life=MONTH) == first_day


def test_the_panel_shows_three_terms_with_raw_value_weight_and_points():
    terms = score_now(memory(1, hits=100, importance=0.5)).terms

    assert [(term.name, term.raw, term.weight, round(term.points, 6)) for term in terms] == [
        ("recency", 0.5, 0.4, 0.2),
        ("frequency", 1.0, 0.2, 0.2),
        ("importance", 0.5, 0.4, 0.2),
    ]


def test_shown_points_add_up_where_rounding_each_alone_would_not():
    thirds = Weights(1 / 3, 1 / 3, 1 / 3)

    shown = score_now(memory(1, read_days_ago=0, hits=100, importance=1.0), weights=thirds).shown(2)

    assert (shown.total, sum(shown.points)) == (Decimal("1.00"), Decimal("1.00"))
    assert sorted(shown.points) == [Decimal("0.33"), Decimal("0.33"), Decimal("0.34")]


def test_what_rounding_leaves_over_goes_to_the_term_that_lost_most_by_it():
    shown = score_now(memory(1, read_days_ago=0, hits=100, importance=1.0), weights=Weights(0.331, 0.338, 0.331)).shown(2)

    assert shown.points == (Decimal("0.33"), Decimal("0.34"), Decimal("0.33"))


@given(facts=facts, weights=weights, half_life=half_lives, now=moments, places=st.integers(0, 6))
def test_shown_points_always_add_up_and_none_is_off_by_a_whole_step(facts, weights, half_life, now, places):
    result = score(facts, weights=weights, half_life=half_life, now=now)

    shown = result.shown(places)

    assert sum(shown.points) == shown.total
    assert abs(float(shown.total) - result.total) <= 0.5000001 * 10**-places + 5e-7
    assert all(abs(float(part) - term.points) < 1.000001 * 10**-places for part, term in zip(shown.points, result.terms, strict=True))


@given(facts=facts, weights=weights, half_life=half_lives, now=moments)
@example(facts=memory(1, read_days_ago=-9, hits=500, importance=1.0), weights=Weights(), half_life=MONTH, now=NOON)
def test_a14_the_score_and_its_terms_lie_within_zero_and_one(facts, weights, half_life, now):
    result = score(facts, weights=weights, half_life=half_life, now=now)

    assert all(0 <= term.raw <= 1 for term in result.terms)
    assert 0 <= result.total <= 1 + 1e-9
    assert 0 <= result.millionths <= 1_000_000


@given(facts=facts, weights=weights, half_life=half_lives, now=moments)
def test_millionths_are_the_total_to_six_places_and_the_points_make_it(facts, weights, half_life, now):
    result = score(facts, weights=weights, half_life=half_life, now=now)

    assert abs(result.millionths / 1e6 - result.total) <= 0.5000001e-6
    assert sum(term.points for term in result.terms) == pytest.approx(result.total, abs=1e-12)


@given(access=moments, half_life=half_lives, now=moments, later=st.timedeltas(timedelta(0), timedelta(days=9_000)))
def test_recency_never_grows_with_age(access, half_life, now, later):
    assert recency(access, now=now + later, half_life=half_life) <= recency(access, now=now, half_life=half_life)


@given(fewer=st.integers(0, 300), more=st.integers(0, 300))
def test_frequency_never_falls_with_hits(fewer, more):
    fewer, more = sorted((fewer, more))

    assert frequency(fewer) <= frequency(more)


def test_an_unread_memory_falls_below_a_line_when_its_recency_has_decayed_to_it():
    just_read = memory(1, read_days_ago=0, importance=0.0)  # 0.4 now, 0.2 after a half-life

    falls_at = crossing(just_read, 200_000)

    assert abs(falls_at - (NOON + MONTH)) < timedelta(minutes=1)


def test_a_second_before_the_fall_the_rounded_score_is_at_the_line_and_a_second_after_it_is_below():
    just_read = memory(1, read_days_ago=0, importance=0.0)
    falls_at = crossing(just_read, 200_000)

    around = [score_now(just_read, now=falls_at + timedelta(seconds=seconds)).millionths for seconds in (-1, 1)]

    assert around == [200_000, 199_999]


def test_a_memory_read_at_this_moment_is_read_now_and_not_in_the_future():
    assert score_now(memory(1, read_days_ago=0)).basis is AccessBasis.READ


def test_a_memory_below_the_line_already_falls_now():
    assert crossing(memory(1, days_old=900, importance=0.0), 200_000) == NOON


def test_a_memory_whose_importance_alone_reaches_the_line_never_falls():
    assert crossing(memory(1, importance=0.9), 300_000) is None


def test_a_memory_without_dates_never_falls_because_it_does_not_age():
    assert crossing(memory(1, days_old=None), 300_000) is None


@pytest.mark.parametrize(("importance", "line"), [(0.5, 500_000), (2.4999999999999998e-06, 3)])  # the second lies on the edge of rounding
def test_without_a_weight_on_recency_no_score_falls(importance, line):
    assert crossing(memory(1, importance=importance), line, weights=Weights(0, 0, 1)) is None


def test_a_fall_after_the_year_9999_is_none():
    late = datetime(9990, 1, 1, tzinfo=UTC)
    just_read = MemoryFacts(1, created_at=late, last_accessed_at=late, importance=0.0)

    assert crossing(just_read, 1, half_life=timedelta(days=3_650), now=late) is None


def test_a_memory_read_in_the_future_starts_to_fall_only_then():
    read_tomorrow = memory(1, read_days_ago=-1, importance=0.0)

    assert abs(crossing(read_tomorrow, 200_000) - (NOON + MONTH + timedelta(days=1))) < timedelta(minutes=1)


@given(facts=facts, share=st.floats(0.001, 0.999), weights=weights, half_life=half_lives)
def test_the_score_is_at_the_line_at_the_time_it_falls_below(facts, share, weights, half_life):
    recency_points, *fixed_points = (term.points for term in score_now(facts, weights=weights, half_life=half_life).terms)
    line = math.ceil((sum(fixed_points) + share * recency_points) * 1e6)

    falls_at = crossing(facts, line, weights=weights, half_life=half_life)

    if falls_at not in (None, NOON):
        assert score_now(facts, weights=weights, half_life=half_life, now=falls_at).total * 1e6 == pytest.approx(line - 0.5, abs=0.01)


@given(facts=facts, line=st.integers(1, 1_000_000), weights=weights, half_life=half_lives)
def test_what_never_falls_is_not_below_the_line_and_what_falls_now_is(facts, line, weights, half_life):
    below = score_now(facts, weights=weights, half_life=half_life).millionths < line

    falls_at = crossing(facts, line, weights=weights, half_life=half_life)

    assert (falls_at == NOON) if below else (falls_at is None or falls_at >= NOON)
