"""Times on the wire: whole milliseconds since 1970, or ISO texts."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from memadmin.api.opensearch.querying.queries import QueryRefused, Scalar

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"-?\d{1,19}(\.\d{1,19})?", re.ASCII)
_MILLISECOND = timedelta(milliseconds=1)


def read(value: Scalar) -> int:
    """Return the millisecond that a value names; a time without a zone is UTC. Raises QueryRefused."""
    if isinstance(value, bool):
        raise _refused(value)
    if isinstance(value, int | float):
        return math.floor(value)
    if _NUMBER.fullmatch(value):
        return math.floor(float(value)) if "." in value else int(value)
    try:
        time = datetime.fromisoformat(value)
        return millisecond_of(time if time.tzinfo else time.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise _refused(value) from None


def millisecond_of(time: datetime) -> int:
    return (time - EPOCH) // _MILLISECOND


def time_of(millisecond: int) -> datetime | int:
    """Return the time at which a millisecond begins, or -1 or 1 where it lies before or after all times that can be stored."""
    try:
        return EPOCH + timedelta(milliseconds=millisecond)
    except OverflowError:
        return 1 if millisecond > 0 else -1


def _refused(value: Scalar) -> QueryRefused:
    reason = f"failed to parse date field [{str(value)[:100]}] with format [strict_date_time||epoch_millis]"
    return QueryRefused(reason, kind="parse_exception")
