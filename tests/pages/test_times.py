from datetime import UTC, datetime, timedelta, timezone

import pytest

from memadmin.pages import times
from tests.factories import NOON


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=44), "just now"),
        (timedelta(seconds=45), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(hours=47), "1 day ago"),
        (timedelta(days=59), "59 days ago"),
        (timedelta(days=61), "2 months ago"),
        (timedelta(days=731), "2 years ago"),
        (timedelta(days=-3), "in 3 days"),
        (timedelta(seconds=-10), "just now"),
    ],
)
def test_times_are_said_as_people_say_them(ago, words):
    assert times.relative(NOON - ago, now=NOON) == words


def test_the_year_one_is_a_time_like_any_other():
    assert times.relative(datetime.min.replace(tzinfo=UTC), now=NOON) == "2,025 years ago"


def test_the_exact_time_is_in_utc():
    assert times.exact(datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))) == "2026-03-01 10:00:00 UTC"
