"""Policies replayed over the recalls of a container: what each would have lost. Reads only, one user at a time.

It sees what is stored. A recall of a memory that has gone since cannot be replayed, and is counted as such; a recall that was not
recorded happened, as far as it knows, before the first night.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memadmin.lifecycle.explain import facts_of
from memadmin.store.models import Container, LongTermMemory, RecallEvent, Subject
from retention.backtest import Loss, Past, PastMemory, replay
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy

NIGHT = timedelta(days=1)
COLUMNS = ("id", "uid", "fact_key", "created_at", "last_updated_at", "last_accessed_at", "hits", "importance", "tokens", "pinned", "held")


@dataclass(frozen=True, slots=True)
class Window:
    """The time whose recalls are replayed: `since` is also the first night."""

    since: datetime
    until: datetime

    @property
    def nights(self) -> list[datetime]:
        return [self.since + number * NIGHT for number in range(max(1, -(-(self.until - self.since) // NIGHT)))]


@dataclass(frozen=True, slots=True)
class Backtest:
    """What each policy would have lost, by its name. `recorded` recalls lie in the window; `gone` are of memories that are not stored now.

    Where only some users were looked at, `users` is less than `users_recorded`, and all the rest is of those.
    """

    losses: Mapping[str, Loss]
    window: Window
    recorded: int = 0
    gone: int = 0
    users: int = 0
    users_recorded: int = 0
    not_replayed: tuple[str, ...] = field(default=())

    @property
    def is_sample(self) -> bool:
        return self.users < self.users_recorded


def backtest(
    container: Container, policies: Mapping[str, RetentionPolicy], *, window: Window, most_memories: int | None = None
) -> Backtest:
    """Replay the recalls of the window under each policy. Holds one user's memories at a time, and no lock.

    `most_memories`: look at users in the order of their uid, which is random, until so many memories were read.
    """
    losses = dict.fromkeys(policies, Loss())
    recorded = gone = users = read = 0
    recalled, nights = _recalled_subjects(container, window), window.nights
    for subject_id, size in recalled:
        if most_memories is not None and users and read + size > most_memories:
            break
        past, of_window, lost_track = _past_of(subject_id, window)
        for name, policy in policies.items():
            losses[name] += replay(past, policy, nights=nights, until=window.until)
        recorded, gone, users, read = recorded + of_window, gone + lost_track, users + 1, read + size
    counted = sorted({limit for policy in policies.values() for limit in _container_wide(policy)})
    return Backtest(losses, window, recorded, gone, users, len(recalled), tuple(counted))


def varied(policy: RetentionPolicy, **changes: Any) -> RetentionPolicy:
    """Return the policy with other values in its relevance rule, which the default one is where it has none."""
    rule = policy.relevance or RelevanceRule()
    values = {name: getattr(rule, name) for name in ("ttl_days", "max_records", "max_tokens", "half_life_hours", "weights")}
    return RetentionPolicy(policy.rules, RelevanceRule(**{**values, **changes}))


def _recalled_subjects(container: Container, window: Window) -> Sequence[tuple[int, int]]:
    """Return the users with recalls in the window and how many memories they have, in the order of their uid."""
    events = RecallEvent.objects.filter(container=container, at__gte=window.since, at__lt=window.until)
    subjects = Subject.objects.filter(pk__in=events.values("subject_id").distinct()).order_by("uid")
    return list(subjects.values_list("pk", "long_term"))


def _past_of(subject_id: int, window: Window) -> tuple[Past, int, int]:
    """Return one user's memories with their recalls, how many recalls of the window there are, and of how many the memory has gone."""
    memories = list(LongTermMemory.objects.filter(subject=subject_id).only(*COLUMNS, "subject_id").order_by("id"))
    of_memory: dict[UUID, list[datetime]] = {memory.uid: [] for memory in memories}
    by_key = {memory.fact_key: memory for memory in memories if memory.fact_key}
    recorded = gone = 0
    for uid, fact_key, at in _events(subject_id):
        heir = by_key.get(fact_key) if fact_key and uid not in of_memory else None
        follows = heir is not None and (heir.created_at is None or heir.created_at <= at)
        times = of_memory.get(heir.uid if heir is not None and follows else uid)
        in_window = window.since <= at < window.until
        recorded, gone = recorded + in_window, gone + (in_window and times is None)
        if times is not None:
            times.append(at)
    return Past(PastMemory(facts_of(memory), tuple(of_memory[memory.uid])) for memory in memories), recorded, gone


def _events(subject_id: int) -> Iterator[tuple[UUID, str | None, datetime]]:
    events = RecallEvent.objects.filter(subject=subject_id).order_by("at", "id")
    return events.values_list("memory_uid", "fact_key", "at").iterator(chunk_size=2_000)


def _container_wide(policy: RetentionPolicy) -> list[str]:
    has_count = policy.rule(MemoryType.LONG_TERM).count_limit is not None
    return ["long-term.max_count"] if has_count else []
