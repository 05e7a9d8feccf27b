"""What must not be put back while somebody decides about it: parts that restoring must not know register a look-up here.

An undo is refused after an erasure was asked for: what comes back then would lie outside of what was looked through and approved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memadmin.store.models import Archived

Bar = Callable[[Sequence[Archived]], set[int]]
BARS: list[Bar] = []


def register(bar: Bar) -> Bar:
    """Ask this function, as a decorator, which archived copies (by key) must stay where they are."""
    BARS.append(bar)
    return bar


def barred(copies: Sequence[Archived]) -> set[int]:
    """Return the keys of those copies that must stay in the archive for now."""
    return set().union(*(bar(copies) for bar in BARS)) if copies else set()
