"""Which working memories no session carries away, and which of them go: the reference meaning. Nothing is deleted here.

Invariant: a working memory whose session is in the store is never chosen; it goes together with its session. What is held stays.
A missing date never condemns.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from retention.victims import Reason

SESSIONS_CAP = 50_000  # ids of lost sessions whose messages one run takes


@dataclass(frozen=True, slots=True)
class WorkingFacts:
    """One working memory as the rules see it. `session_ref` is the id of its session as the agent wrote it."""

    key: int
    created_at: datetime | None = None
    session_ref: str | None = None
    has_session: bool = False  # a session of this id is in the container
    held: bool = False  # a legal hold keeps it
    names_somebody: bool = False  # a user or an agent, or a session in a form that cannot be looked up


@dataclass(frozen=True, slots=True)
class Terms:
    """What a container goes by. None switches a rule off: without `ttl` nothing expires, without `orphan_age` nobody looks for orphans."""

    ttl: timedelta | None = None  # from creation, where a container keeps no sessions
    orphan_age: timedelta | None = None  # from creation, and the grace since the baseline
    baseline_at: datetime | None = None  # when orphans were first looked for
    unattributed: bool = False  # whether what names no session, user or agent goes too

    def grace_is_over(self, now: datetime) -> bool:
        """Whether orphans have been looked for long enough to be taken. The very moment at which the grace ends counts."""
        return self.orphan_age is not None and self.baseline_at is not None and now >= self.baseline_at + self.orphan_age


@dataclass(frozen=True, slots=True)
class LostMemory:
    """A working memory that goes, and why."""

    key: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Sweep:
    """Who goes, by key, and how many ids of lost sessions are left for later runs."""

    victims: tuple[LostMemory, ...] = ()
    left_for_later: int = 0


def sweep(memories: Iterable[WorkingFacts], terms: Terms, *, now: datetime, seed: str = "", cap: int = SESSIONS_CAP) -> Sweep:
    """Return which working memories of one container go at `now`: those past the TTL, the orphans, and the unattributed ones.

    A memory exactly as old as its limit is kept. Orphans are taken by the id of their session, in the order in which the ids first came,
    at most `cap` ids in one run, from a place that `seed` draws and round to the beginning. Source: OpenSearch memory retention,
    "Orphan sweep"; there the cap counts the ids looked at, here those that are lost.
    """
    alone = sorted((m for m in memories if not m.has_session and not m.held), key=lambda m: m.key)
    found = [LostMemory(m.key, Reason.TTL) for m in alone if terms.ttl is not None and _older(m, terms.ttl, now)]
    if terms.orphan_age is None or not terms.grace_is_over(now):
        return Sweep(tuple(found))
    aged = [m for m in alone if _older(m, terms.orphan_age, now)]
    lost = list(dict.fromkeys(m.session_ref for m in aged if m.session_ref is not None))
    taken = _round(lost, first_of(len(lost), seed=seed, cap=cap), cap)
    found += [LostMemory(m.key, Reason.ORPHAN) for m in aged if m.session_ref in taken]
    if terms.unattributed:
        found += [LostMemory(m.key, Reason.UNATTRIBUTED) for m in aged if m.session_ref is None and not m.names_somebody]
    return Sweep(tuple(sorted(found, key=lambda victim: victim.key)), max(0, len(lost) - cap))


def first_of(number: int, *, seed: str, cap: int = SESSIONS_CAP) -> int:
    """Return the place at which a run begins among so many lost ids: drawn by the seed where it cannot take them all, else 0.

    The same seed draws the same place, so that a preview can be made again.
    """
    if number <= cap:
        return 0
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]) % number


def _round(ids: list[str], first: int, cap: int) -> set[str]:
    return set((ids[first:] + ids[:first])[:cap])


def _older(facts: WorkingFacts, limit: timedelta, now: datetime) -> bool:
    return facts.created_at is not None and facts.created_at < now - limit
