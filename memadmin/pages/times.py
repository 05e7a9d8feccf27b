"""Points in time as people say them."""

from datetime import UTC, datetime

from memadmin.plurals import counted

MINUTE, HOUR, DAY = 60, 3600, 86400
# (below this many seconds, seconds in one unit, its name); months and years are averages, the exact time stands beside them
_UNITS = (
    (HOUR, MINUTE, "minute"),
    (DAY, HOUR, "hour"),
    (60 * DAY, DAY, "day"),
    (730 * DAY, 30.4375 * DAY, "month"),
    (float("inf"), 365.25 * DAY, "year"),
)
JUST_NOW = 45  # seconds


def relative(at: datetime, *, now: datetime) -> str:
    """Return "3 days ago", "in 2 hours" or "just now". Rounds down, so that an age is never called older than it is."""
    seconds = (now - at).total_seconds()
    distance = abs(seconds)
    if distance < JUST_NOW:
        return "just now"
    words = span(distance)
    return f"{words} ago" if seconds > 0 else f"in {words}"


def span(seconds: float) -> str:
    """Return a length of time in its largest fitting unit: "1 minute", "59 days", "2 months"."""
    size, name = next((size, name) for limit, size, name in _UNITS if seconds < limit)
    number = max(int(seconds // size), 1)
    return counted(number, name)


def exact(at: datetime) -> str:
    """Return the full time with its zone, as it is stored: UTC."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(' ', 'seconds')} UTC"  # strftime leaves the zeros of early years out
