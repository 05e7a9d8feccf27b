"""A number before its noun, as sentences have it."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return "1 item", "2 items", "1,000 items"; `many` where the plural is not the noun and an s: "1 memory", "2 memories"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
