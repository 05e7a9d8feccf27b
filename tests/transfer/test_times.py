import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.transfer.problems import Refused
from memadmin.transfer.times import DATE_ONLY, EPOCH, EXACT, ZONE_ASSUMED, read_time


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("2025-03-04T10:00:00Z", at(2025, 3, 4, 10)),
        ("2025-03-04T10:00:00z", at(2025, 3, 4, 10)),
        ("2025-03-04 10:00:00 UTC", at(2025, 3, 4, 10)),
        ("2025-07-24T19:00:00-07:00", at(2025, 7, 25, 2)),
        ("2025-07-24T19:00:00-0730", at(2025, 7, 25, 2, 30)),
        ("2025-07-24T19:00+05", at(2025, 7, 24, 14)),
        ("  2025-03-04T10:00:00Z\n", at(2025, 3, 4, 10)),
        ("2025-09-15T17:18:55.881276939Z", at(2025, 9, 15, 17, 18, 55, 881276)),
        ("2025-09-15T17:18:55.9999999Z", at(2025, 9, 15, 17, 18, 55, 999999)),
        ("2025-09-15T17:18:55.5Z", at(2025, 9, 15, 17, 18, 55, 500000)),
        ("9999-12-31T23:59:59Z", at(9999, 12, 31, 23, 59, 59)),
    ],
)
def test_iso_text_is_an_instant_and_digits_past_the_microsecond_are_cut(value, instant):
    assert read_time(value, field="created_at") == (instant, EXACT)


@pytest.mark.parametrize(
    ("value", "instant", "note"),
    [
        ("2024-12-15 11:52:21.958542", at(2024, 12, 15, 11, 52, 21, 958542), ZONE_ASSUMED),
        ("2004-11-15T12:18", at(2004, 11, 15, 12, 18), ZONE_ASSUMED),
        ("2023-04-27", at(2023, 4, 27), DATE_ONLY),
    ],
)
def test_what_was_assumed_is_noted(value, instant, note):
    assert read_time(value, field="created_at") == (instant, note)


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (1752400000, at(2025, 7, 13, 9, 46, 40)),
        (1758930326804, at(2025, 9, 26, 23, 45, 26, 804000)),
        (1758930326804123, at(2025, 9, 26, 23, 45, 26, 804123)),
        (1758930326804123456, at(2025, 9, 26, 23, 45, 26, 804123)),
        (1734292270.899412, at(2024, 12, 15, 19, 51, 10, 899412)),
        (1758930326804.25, at(2025, 9, 26, 23, 45, 26, 804250)),
        ("1758930326804", at(2025, 9, 26, 23, 45, 26, 804000)),
        ("1734292270.899412", at(2024, 12, 15, 19, 51, 10, 899412)),
    ],
)
def test_epoch_numbers_are_told_apart_by_their_size(value, instant):
    assert read_time(value, field="created_at") == (instant, EXACT)


@pytest.mark.parametrize("zero", [0, 0.0, "0"])
def test_exactly_zero_is_1970(zero):
    assert read_time(zero, field="created_at") == (EPOCH, EXACT)


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_no_time_stays_no_time(nothing):
    assert read_time(nothing, field="created_at") is None


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("1:56 pm on 8 May, 2023", "time_unreadable"),
        ("2023/04/10 (Mon) 17:50", "time_unreadable"),
        ("+57707-05-11T00:00:00Z", "time_unreadable"),
        ("57707-05-11", "time_unreadable"),
        ("\u0662\u0660\u0662\u0664-\u0661\u0662-\u0661\u0665", "time_unreadable"),
        ("2024-W10-1", "time_unreadable"),
        ("not-a-date", "time_unreadable"),
        ("NaN", "time_unreadable"),
        ("1e9", "time_unreadable"),
        ("9" * 5000, "time_unreadable"),
        (True, "time_unreadable"),
        ([1752400000], "time_unreadable"),
        ({"seconds": 1752400000, "nanos": 0}, "time_unreadable"),
        (float("nan"), "time_unreadable"),
        ("9999-12-31T23:59:59-23:59", "time_out_of_range"),
        ("0001-01-01T00:00:00Z", "time_out_of_range"),
        ("1899-12-30", "time_out_of_range"),
        ("2024-02-30", "time_out_of_range"),
        ("2024-03-01T25:00:00Z", "time_out_of_range"),
        ("2024-03-01T10:00:00+24:00", "time_out_of_range"),
        ("2024-03-01T10:00:00+05:75", "time_out_of_range"),
        (-1, "time_out_of_range"),
        (-62135596800, "time_out_of_range"),
        (-1e300, "time_out_of_range"),
        (10**400, "time_out_of_range"),
        (1, "time_ambiguous"),
        (20240315, "time_ambiguous"),
        ("20240315", "time_ambiguous"),
        (31_536_000_000, "time_ambiguous"),
        (10**13, "time_ambiguous"),
        (10**16, "time_ambiguous"),
        (10**19, "time_ambiguous"),
    ],
)
def test_a_time_that_could_mean_two_things_or_nothing_is_refused_with_its_field(value, code):
    with pytest.raises(Refused) as refused:
        read_time(value, field="messages[0].created_at")

    assert (refused.value.code, refused.value.field) == (code, "messages[0].created_at")


@given(st.integers(10**8 * 10**6, 10**10 * 10**6 - 1))
def test_every_unit_reads_back_the_same_microsecond(micros):
    instant = EPOCH + micros * datetime.resolution
    writings = [f"{micros // 10**6}.{micros % 10**6:06}", micros, micros * 1000, instant.isoformat()]

    assert {read_time(writing, field="t").at for writing in writings} == {instant}


@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.lists(st.integers())))
def test_anything_is_read_or_refused_or_no_time_at_all(value):
    with contextlib.suppress(Refused):
        time = read_time(value, field="created_at")
        assert time is None or time.at == EPOCH or time.at.year >= 1900
