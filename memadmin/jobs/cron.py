"""Cron times: five fields, read in UTC, so that no hour is skipped or repeated when clocks change for summer."""

import re
from datetime import UTC, datetime

from croniter import CroniterError, croniter

_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat"
_FIELD = re.compile(rf"(?:[0-9*,/-]|{_NAMES})+", re.IGNORECASE | re.ASCII)  # croniter also takes random and hashed times; we do not
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)  # only asked whether any time follows
LONGEST = 100


class InvalidCron(ValueError):
    """The text is not a cron time. The message says what one looks like."""

    def __init__(self, text: str) -> None:
        shown = text if len(text) <= LONGEST else text[:LONGEST] + "…"
        super().__init__(
            f'"{shown}" does not say when to run. Give five fields: minute, hour, day of month, month, day of week,'
            ' for example "0 3 * * *" for every night at 03:00 UTC.'
        )


def parse(text: str) -> str:
    """Return the cron text with single spaces. Raises InvalidCron, also for a date that never comes (31 February)."""
    fields = text.split()
    if len(text) > LONGEST or len(fields) != 5 or not all(_FIELD.fullmatch(field) for field in fields):
        raise InvalidCron(text)
    try:
        croniter(" ".join(fields), _SOME_DAY).get_next(datetime)
    except CroniterError:
        raise InvalidCron(text) from None
    return " ".join(fields).lower()


def next_after(text: str, now: datetime) -> datetime:
    """Return the first time of the cron text that is later than `now`, in UTC. Raises InvalidCron."""
    following: datetime = croniter(parse(text), now.astimezone(UTC)).get_next(datetime)
    return following
