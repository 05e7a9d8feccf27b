"""When a request is due. Dates of the calendar, computed by the rules of each law; a person verifies them. Pure: no clock, no database.

Sources: GDPR article 12(3) with Regulation 1182/71 on periods and dates; ICO, time limits for responding; CCPA regulations section 7021.
"""

from __future__ import annotations

import calendar
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta

GOAL_DAYS = 28  # our own goal: inside every month there is
BEFORE_THE_END = timedelta(days=7)  # our own goal in an extension
CCPA_DAYS = 45
CCPA_EXTENDED_DAYS = 90
CCPA_CONFIRM_DAYS = 10  # working days


@dataclass(frozen=True, slots=True)
class Due:
    """`target` is our own goal, `conservative` what alarms count to, `rolled` the last day in law, never before the other."""

    target: date
    conservative: date
    rolled: date


def due(received_on: date, *, profile: str, extended: bool = False, paused_days: int = 0, holidays: Collection[date] = frozenset()) -> Due:
    """Return the dates of a request received on a day of the installation's legal time zone.

    A pause (GDPR and UK, while identity is being proved) moves all dates by whole days. An extension is counted from the receipt,
    not from the first date: 31 January extends to 30 April. Raises ValueError for a pause under CCPA, which knows none.
    """
    if profile == "ccpa":
        if paused_days:
            raise ValueError("CCPA knows no pause: the 45 days include the time of verifying.")
        last = received_on + timedelta(days=CCPA_EXTENDED_DAYS if extended else CCPA_DAYS)
        return Due(min(received_on + timedelta(days=GOAL_DAYS), last), last, last)
    pause = timedelta(days=paused_days)
    last = months_after(received_on, 3 if extended else 1) + pause
    goal = last - BEFORE_THE_END if extended else received_on + timedelta(days=GOAL_DAYS) + pause
    return Due(min(goal, last), last, working_day(last, holidays))


def months_after(day: date, months: int) -> date:
    """Return the corresponding day so many months later, or the last day of that month where it has none."""
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def working_day(day: date, holidays: Collection[date]) -> date:
    """Return the day, or the next one that is neither on a weekend nor a holiday."""
    while day.weekday() >= calendar.SATURDAY or day in holidays:
        day += timedelta(days=1)
    return day


def confirm_by(received_on: date, *, holidays: Collection[date] = frozenset()) -> date:
    """Return the day by which CCPA wants the receipt confirmed: the tenth working day after it."""
    day = received_on
    for _ in range(CCPA_CONFIRM_DAYS):
        day = working_day(day + timedelta(days=1), holidays)
    return day
