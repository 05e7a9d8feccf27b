from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memadmin.jobs.cron import InvalidCron, next_after, parse
from tests.factories import NOON


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("0 3 * * *", datetime(2026, 3, 2, 3, tzinfo=UTC)),
        ("*/15 * * * *", datetime(2026, 3, 1, 12, 15, tzinfo=UTC)),
        ("0 12 * * *", datetime(2026, 3, 2, 12, tzinfo=UTC)),
        ("30 6 * * MON-FRI", datetime(2026, 3, 2, 6, 30, tzinfo=UTC)),
        ("0 0 29 feb *", datetime(2028, 2, 29, tzinfo=UTC)),
    ],
)
def test_the_next_time_is_the_first_one_later_than_now(text, following):
    assert next_after(text, NOON) == following


@pytest.mark.parametrize(
    "text",
    [
        *["", "3", "0 3 * *", "0 3 * * * *", "0 3 * * " + "1," * 60 + "1"],
        *["0 25 * * *", "60 3 * * *", "-1 3 * * *", "*/0 * * * *", "1-70000000 * * * *", "0 0 31 2 *", "0 0 30 2 *"],
        *["@daily", "R 3 * * *", "H 3 * * *", "0 3 ? * *", "nightly at three", "\x00 3 * * *", "\u0660 \u0663 * * *"],
    ],
)
def test_what_is_no_cron_time_is_refused(text):
    with pytest.raises(InvalidCron, match="Give five fields"):
        parse(text)


def test_the_refusal_shows_the_text_and_an_example():
    with pytest.raises(InvalidCron) as refused:
        parse("0 25 * * *")

    assert str(refused.value).startswith('"0 25 * * *" does not say when to run.')
    assert '"0 3 * * *" for every night at 03:00 UTC' in str(refused.value)


def test_spaces_and_case_do_not_matter():
    assert parse("  0  3 * * MON ") == "0 3 * * mon"


@pytest.mark.parametrize("month", [3, 10])
def test_a_change_to_or_from_summer_time_neither_skips_nor_repeats_a_night(month):
    """Also when the caller's now stands in a zone that has summer time."""
    nights, at = [], datetime(2026, month, 20, tzinfo=UTC)

    while at < datetime(2026, month, 31, tzinfo=UTC):
        at = next_after("30 2 * * *", at.astimezone(ZoneInfo("Europe/Berlin")))
        nights.append(at)

    assert nights == [datetime(2026, month, day, 2, 30, tzinfo=UTC) for day in range(20, 32)]
