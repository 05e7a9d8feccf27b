"""Rules and reasons in plain words."""

from __future__ import annotations

from retention.victims import Reason

_REASONS = {
    Reason.AGE: "older than the retention rule keeps",
    Reason.COUNT: "beyond the number that the retention rule keeps",
    Reason.TTL: "past its time to live",
    Reason.OVERSIZED: "larger than the user's whole token cap",
    Reason.MAX_RECORDS: "lowest score, beyond the user's cap of memories",
    Reason.MAX_TOKENS: "lowest score, beyond the user's cap of tokens",
}


def reason_in_words(name: str) -> str:
    """Return what a reason means; a name that is no reason of ours is shown as it is."""
    return _REASONS[Reason(name)] if name in set(Reason) else name
