"""How many requests a token may make in a minute. Counted in the database, so that every web process counts the same."""

from __future__ import annotations

from datetime import datetime

from memadmin.access import tokens
from memadmin.access.models import ApiToken

WINDOW = 60  # seconds


class TooManyRequests(Exception):
    """The token has used up its minute; `retry_after` are the seconds until the next one."""

    def __init__(self, *, limit: int, retry_after: int) -> None:
        super().__init__(f"This token may make {limit} requests a minute. Try again in {retry_after} seconds.")
        self.retry_after = retry_after


def check_rate(token: ApiToken, *, limit: int, now: datetime) -> None:
    """Count this request. Raises TooManyRequests."""
    if tokens.note_use(token, now=now) > limit:
        raise TooManyRequests(limit=limit, retry_after=WINDOW - int(now.timestamp()) % WINDOW)
