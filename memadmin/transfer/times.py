"""Times as other systems write them, read into UTC instants. A time that could mean two things is refused, never guessed."""

import functools
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import NamedTuple

from memadmin.transfer.problems import Refused

EXACT, DATE_ONLY, ZONE_ASSUMED = "", "date", "zone_assumed"  # the values of store.models.TimeNote

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST_YEAR = 1900  # before it lie the zero times of .NET, Go, Windows and spreadsheets, which mean "none"
MICROSECONDS_IN = {"seconds": Decimal(10**6), "milliseconds": Decimal(10**3), "microseconds": Decimal(1), "nanoseconds": Decimal("0.001")}
# Every range runs from March 1973 to November 2286, so no two overlap; what falls between them is refused.
RANGES = {"seconds": (10**8, 10**10), "milliseconds": (10**11, 10**13), "microseconds": (10**14, 10**16), "nanoseconds": (10**17, 10**19)}

_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,12})?")
_ISO = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:(?<=:[0-9]{2}:[0-9]{2})[.,](?P<fraction>[0-9]{1,18}))?"
    r" ?(?P<zone>[Zz]|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_LONGEST = 64


class ReadTime(NamedTuple):
    """An instant, and what was assumed to read it ("", "date" or "zone_assumed")."""

    at: datetime
    note: str


def read_time(value: object, *, field: str, earliest: int = EARLIEST_YEAR) -> ReadTime | None:
    """Return the instant that `value` names, or None where the source has none (null or blank).

    Numbers are epoch seconds, milliseconds, microseconds or nanoseconds, told apart by size; 0 is 1970. Text is ISO 8601
    (without a zone: UTC, noted), a date (midnight UTC, noted) or such a number. Digits past the microsecond are cut.
    Raises Refused with the field for anything else, and for years before `earliest`.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        read = _read(value)
    except Refused as problem:
        raise Refused(problem.code, problem.words, field=field) from None
    if read.at.year < earliest:
        words = f"the year {read.at.year} is before {earliest}; leave the time out where there is none"
        raise Refused("time_out_of_range", words, field=field)
    return read


def _read(value: object) -> ReadTime:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise Refused("time_unreadable", "a time is text or a number")
    if isinstance(value, str):
        return _read_text(value.strip())
    if isinstance(value, int) and abs(value) >= 10**20:
        raise Refused("time_out_of_range", "this number is too large for a time")
    return ReadTime(_from_epoch(Decimal(repr(value))), EXACT)


def _read_text(text: str) -> ReadTime:
    if len(text) > _LONGEST:
        raise Refused("time_unreadable", f"a time of {len(text)} characters (at most {_LONGEST})")
    if _NUMBER.fullmatch(text):
        return ReadTime(_from_epoch(Decimal(text)), EXACT)
    match = _ISO.fullmatch(text)
    if match is None:
        raise Refused("time_unreadable", "not ISO 8601 (2025-03-04T10:00:00Z), not a date and not an epoch number")
    return _from_iso(*match.groups())


def _from_iso(date: str, clock: str | None, fraction: str | None, zone: str | None) -> ReadTime:
    try:
        at = datetime.fromisoformat(f"{date}T{clock or '00:00'}{f'.{fraction[:6]:0<6}' if fraction else ''}").replace(tzinfo=_zone(zone))
        at = at if at.tzinfo is UTC else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused("time_out_of_range", "no such day, hour or offset, or an instant outside the years 1 to 9999") from None
    if clock is None:
        return ReadTime(at, DATE_ONLY)
    return ReadTime(at, EXACT if zone else ZONE_ASSUMED)


@functools.lru_cache(maxsize=200)  # more than there are in use
def _zone(text: str | None) -> timezone:
    if text is None or text.upper() in {"Z", "UTC"}:
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if minutes > 59:
        raise ValueError(text)
    return timezone(sign * timedelta(hours=hours, minutes=minutes))


def _from_epoch(number: Decimal) -> datetime:
    if not number.is_finite():
        raise Refused("time_unreadable", "not a finite number")
    if number == 0:
        return EPOCH
    if number < 0:
        raise Refused("time_out_of_range", "a negative epoch number")
    for unit, (start, end) in RANGES.items():
        if start <= number < end:
            return EPOCH + timedelta(microseconds=int(number * MICROSECONDS_IN[unit]))
    raise Refused("time_ambiguous", "neither epoch seconds (9 or 10 digits) nor milli- (12, 13), micro- (15, 16) or nanoseconds (18, 19)")
