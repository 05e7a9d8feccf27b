"""What comes of putting archived items back, in numbers: whom it brings over a cap, and what the next run would take again.

It reads only. Copies are opened to look at dates and tokens, so at most LOOKED_AT of them; beyond that the numbers are lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from memadmin.lifecycle.warnings import Warned, why_nothing_runs
from memadmin.plurals import counted
from memadmin.store import archive, policies
from memadmin.store.archive import unpack
from memadmin.store.models import Archived, Container, ItemType, LongTermMemory, Session, Subject
from memadmin.store.querysets import still_restorable
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy

LOOKED_AT = 5_000
USERS_NAMED = 5


@dataclass(frozen=True, slots=True)
class UserOver:
    """One user whom the restore brings over a cap. Numbers without those that come back and are past an age or a TTL."""

    subject: Subject
    held: int
    held_tokens: int
    coming: int
    coming_tokens: int
    max_records: int | None
    max_tokens: int | None

    @property
    def too_many(self) -> int:
        """At least so many the next run evicts for the cap of memories, besides what it would evict anyway."""
        return _beyond(self.held + self.coming, self.max_records) - _beyond(self.held, self.max_records)

    @property
    def too_heavy(self) -> int:
        """By so many tokens more than now the user is over the cap of tokens."""
        return _beyond(self.held_tokens + self.coming_tokens, self.max_tokens) - _beyond(self.held_tokens, self.max_tokens)


@dataclass(frozen=True, slots=True)
class Comeback:
    """The numbers. `items` are within their time in the archive, `expired` past it.

    Of the items `there` are in the store again, and `barred` stay because their erasure was asked for or has been carried out; the others
    are `memories` and `sessions` that come back, of which `past` are past an age or a TTL of the policy in force.
    """

    items: int = 0
    memories: int = 0
    sessions: int = 0
    expired: int = 0
    there: int = 0
    barred: int = 0
    past: int = 0
    over: tuple[UserOver, ...] = ()
    looked_at: int = 0
    containers: tuple[Container, ...] = ()
    blocked: Warned | None = None

    @property
    def coming(self) -> int:
        return self.items - self.there - self.barred

    @property
    def again(self) -> int:
        """At least so many of them, or others in their place, would go at the next run."""
        return self.past + sum(user.too_many for user in self.over)

    @property
    def warns(self) -> bool:
        return bool(self.past or self.over)

    @property
    def whole(self) -> bool:
        """Whether every copy was looked at."""
        return self.looked_at >= self.items


def look_ahead(copies: QuerySet[Archived], *, now: datetime) -> Comeback:
    """Return what comes of putting these copies back now."""
    in_time = copies.filter(still_restorable(now))
    sums = in_time.aggregate(items=Count("id"), memories=Count("id", filter=Q(item_type=ItemType.LONG_TERM)))
    page = list(in_time.select_related("subject").order_by("id")[:LOOKED_AT])
    back, staying = _back(page), archive.staying(page, now=now)
    there = [copy for copy in page if copy.uid in back]
    barred = [copy for copy in page if copy.uid not in back and copy.pk in staying]
    by_container: dict[int, list[Archived]] = {copy.container_id: [] for copy in page}
    for copy in page:
        if copy.uid not in back and copy.pk not in staying:
            by_container[copy.container_id].append(copy)
    containers = tuple(Container.objects.filter(pk__in=by_container).order_by("id"))
    parts = [_of_container(container, by_container[container.pk], now=now) for container in containers]
    memories = sums["memories"] - sum(copy.item_type == ItemType.LONG_TERM for copy in there + barred)
    blocked = [why for container in containers if (why := why_nothing_runs(container))]
    return Comeback(
        items=sums["items"],
        memories=memories,
        sessions=sums["items"] - len(there) - len(barred) - memories,
        expired=copies.count() - sums["items"],
        there=len(there),
        barred=len(barred),
        past=sum(part.past for part in parts),
        over=tuple(sorted((user for part in parts for user in part.over), key=lambda user: (-user.too_many, user.subject.pk))),
        looked_at=len(page),
        containers=containers,
        blocked=blocked[0] if len(blocked) == len(containers) and blocked else None,
    )


def in_words(found: Comeback) -> str:
    """Say in one sentence, without names, why to think again."""
    parts = [f"{found.past:,} past an age or a time to live"] if found.past else []
    parts += [f"{counted(len(found.over), 'user')} over a cap"] if found.over else []
    them = f"{found.coming:,} would come back"
    again = f"the next run would evict at least {found.again:,} again"
    return f"{them}, with {' and '.join(parts)}: {again}. Pin what must stay, or raise the limit."


def why_nothing_comes(found: Comeback) -> str:
    """Say in one sentence why none of the items that are within their time comes back."""
    if found.barred:
        return f"Nothing is restored: of {found.barred:,} in the archive the erasure was asked for or has been carried out."
    return "Nothing is restored: all of it came back by itself meanwhile, and the newer form stays."


def _back(page: Iterable[Archived]) -> set[UUID]:
    """Return which of them are in the store again."""
    uids = [copy.uid for copy in page]
    rows = (model.objects.with_uids(uids).values_list("uid", flat=True) for model in (LongTermMemory, Session))
    return {uid for found in rows for uid in found}


@dataclass(slots=True)
class _Part:
    past: int = 0
    over: list[UserOver] = field(default_factory=list)


def _of_container(container: Container, copies: Iterable[Archived], *, now: datetime) -> _Part:
    policy = policies.current(container)
    if policy is None:
        return _Part()
    part, coming = _Part(), dict[int, tuple[int, int]]()
    for copy in copies:
        row = unpack(copy.payload)["row"]
        if _is_past(row, copy.item_type, policy, now=now):
            part.past += 1
        elif copy.item_type == ItemType.LONG_TERM:
            items, tokens = coming.get(copy.subject_id, (0, 0))
            coming[copy.subject_id] = items + 1, tokens + int(row.get("tokens") or 0)
    if policy.relevance is not None:
        part.over = list(_over(policy.relevance, coming))
    return part


def _over(rule: RelevanceRule, coming: dict[int, tuple[int, int]]) -> Iterator[UserOver]:
    for subject in Subject.objects.filter(pk__in=coming).order_by("pk"):
        items, tokens = coming[subject.pk]
        held, weight = subject.long_term, subject.tokens
        user = UserOver(subject, held, weight, items, tokens, rule.max_records, rule.max_tokens)
        if user.too_many or user.too_heavy:
            yield user


def _is_past(row: dict[str, Any], item_type: str, policy: RetentionPolicy, *, now: datetime) -> bool:
    """Whether a limit of the policy takes the item for its dates. A pin that comes back with it keeps it."""
    if row.get("pinned"):
        return False
    memory_type = MemoryType.SESSIONS if item_type == ItemType.SESSION else MemoryType.LONG_TERM
    ttl = policy.relevance.ttl if policy.relevance and memory_type is MemoryType.LONG_TERM else None
    limits = [(row.get("last_updated_at"), policy.rule(memory_type).age_limit), (row.get("created_at"), ttl)]
    return any(_is_older(since, limit, now=now) for since, limit in limits)


def _is_older(since: str | None, limit: timedelta | None, *, now: datetime) -> bool:
    return since is not None and limit is not None and datetime.fromisoformat(since) < now - limit


def _beyond(held: int, cap: int | None) -> int:
    return 0 if cap is None else max(0, held - cap)
