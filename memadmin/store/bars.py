"""What must be left as it is for the sake of an erasure: parts that restoring, runs and deleting must not know register look-ups here.

An undo is refused after an erasure was asked for: what comes back then would lie outside of what was looked through and approved. A run
passes over whoever is being erased, or copies would lie in the archive of which the manifest does not know. A container goes after what is
asked about it has been settled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memadmin.store.models import Archived, Container

Bar = Callable[[Sequence[Archived]], set[int]]
Busy = Callable[[], str]
Asked = Callable[[Container], bool]
BARS: list[Bar] = []
BUSY: list[Busy] = []
ASKED: list[Asked] = []


def register(bar: Bar) -> Bar:
    """Ask this function, as a decorator, which archived copies (by key) must stay where they are."""
    BARS.append(bar)
    return bar


def barred(copies: Sequence[Archived]) -> set[int]:
    """Return the keys of those copies that must stay in the archive for now."""
    return set().union(*(bar(copies) for bar in BARS)) if copies else set()


def register_busy(busy: Busy) -> Busy:
    """Ask this function, as a decorator, for a SELECT of the keys of users who are being erased; "" where nobody is."""
    BUSY.append(busy)
    return busy


def being_erased() -> str:
    """Return a SELECT of the keys of users who are being erased right now, "" where nobody is."""
    return " UNION ALL ".join(filter(None, (busy() for busy in BUSY)))


def register_asked(asked: Asked) -> Asked:
    """Ask this function, as a decorator, whether an erasure is asked for, or under way, in a container."""
    ASKED.append(asked)
    return asked


def is_asked_about(container: Container) -> bool:
    return any(asked(container) for asked in ASKED)
