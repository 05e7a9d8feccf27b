"""What a rule may know of one memory: dates, counts and flags, never its text."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """One session, long-term memory or history entry as a rule sees it. Dates are aware; None means the source gave none."""

    key: int
    subject: int = 0
    created_at: datetime | None = None
    last_updated_at: datetime | None = None
    last_accessed_at: datetime | None = None
    hits: int = 0
    importance: float = 0.5
    tokens: int = 0
    pinned: bool = False
    held: bool = False

    @property
    def exempt(self) -> bool:
        """True when no eviction rule may choose it, whatever its age or score."""
        return self.pinned or self.held
