from datetime import UTC, datetime

import pytest

from memadmin.pages.days import Days


def test_both_days_are_included():
    days = Days.read({"from": "2026-02-27", "to": "2026-02-28"})

    assert (days.since, days.before, days.errors) == (datetime(2026, 2, 27, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC), ())


@pytest.mark.parametrize(
    ("query", "narrow"), [({}, False), ({"from": " ", "to": ""}, False), ({"from": "2026-02-27"}, True), ({"to": "2026-02-27"}, True)]
)
def test_either_end_may_stay_open(query, narrow):
    assert (Days.read(query).narrow, Days.read(query).errors) == (narrow, ())


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30",
        "2026-W09-1",
        "20260227",
        "27.2.2026",
        "yesterday",
        "0000-01-01",
        "\u0662\u0660\u0662\u0666-02-27",
        "9" * 500,
        "2026-02-27T10:00",
    ],
)
def test_what_is_no_day_is_said_with_how_to_write_one(text):
    days = Days.read({"to": text})

    (error,) = days.errors
    assert error.startswith(f"The last day cannot be \u201c{text[:40]}")
    assert error.endswith("Write a day of the calendar like 2026-03-01.")
    assert not days.narrow


def test_days_in_the_wrong_order_are_told():
    assert Days.read({"from": "2026-03-02", "to": "2026-03-01"}).errors == (
        "The first day, 2026-03-02, lies after the last one, 2026-03-01. Change one of them.",
    )


def test_the_ends_of_the_calendar_are_days():
    days = Days.read({"from": "0001-01-01", "to": "9999-12-31"})

    assert (days.since, days.before, days.errors) == (datetime(1, 1, 1, tzinfo=UTC), None, ())
