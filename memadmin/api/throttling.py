"""How many requests a token may make in a minute.

The count lies in the database, so that all web processes share one. A process takes its requests from there in portions, because a
write for each of them would cost more than the request: what a process has taken and not used when the minute ends is lost, which is at
most a fiftieth of the limit.
"""

from __future__ import annotations

import threading
from datetime import datetime
from uuid import UUID

from memadmin.access import tokens
from memadmin.access.models import ApiToken

WINDOW = 60  # seconds
PORTIONS = 50  # of the limit


class TooManyRequests(Exception):
    """The token has used up its minute; `retry_after` are the seconds until the next one."""

    def __init__(self, *, limit: int, retry_after: int) -> None:
        super().__init__(f"This token may make {limit} requests a minute. Try again in {retry_after} seconds.")
        self.retry_after = retry_after


class _Portions:
    """What this process may still let through, by token and minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[tuple[UUID, int], int] = {}

    def use(self, token: UUID, minute: int) -> bool:
        """Take one request out of the portion, if there is one left."""
        with self._lock:
            left = self._left.get((token, minute), 0)
            if left:
                self._left[token, minute] = left - 1
            return left > 0

    def fill(self, token: UUID, minute: int, number: int) -> None:
        with self._lock:
            self._left = {key: left for key, left in self._left.items() if key[1] == minute}
            self._left[token, minute] = self._left.get((token, minute), 0) + number


_portions = _Portions()


def check_rate(token: ApiToken, *, limit: int, now: datetime) -> None:
    """Count this request. Raises TooManyRequests."""
    minute = int(now.timestamp() // WINDOW)
    if _portions.use(token.uid, minute):
        return
    portion = max(limit // PORTIONS, 1)
    taken = tokens.note_use(token, now=now, requests=portion)
    granted = min(portion, limit - (taken - portion))
    if granted < 1:
        raise TooManyRequests(limit=limit, retry_after=WINDOW - int(now.timestamp()) % WINDOW)
    _portions.fill(token.uid, minute, granted - 1)
