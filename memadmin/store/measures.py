"""What to know before a policy is set: how much each user has, how fast it grows, and how long sessions are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncWeek

from memadmin.store.models import Container, LongTermMemory, Session, Subject, WorkingMemory

SHARES = (50, 90, 99, 100)  # percent
SESSIONS = 10_000  # the latest ones whose events are counted


@dataclass(frozen=True, slots=True)
class Spread:
    """How a number is spread over `of` things: at each share of SHARES the value that so many percent do not exceed."""

    of: int
    at: tuple[int, ...]

    @property
    def by_share(self) -> list[tuple[int, int]]:
        return list(zip(SHARES, self.at, strict=True))


@dataclass(frozen=True, slots=True)
class Week:
    """`begin` is its Monday. Memories that were created in it and are still there."""

    begin: date
    created: int


@dataclass(frozen=True, slots=True)
class Measures:
    memories: Spread
    tokens: Spread
    events: Spread  # of the latest sessions
    sessions_left_out: int
    weeks: tuple[Week, ...]


def measure(container: Container, *, now: datetime, weeks: int = 12) -> Measures:
    """Return the figures of a container. Users are those that have an id; the latest SESSIONS sessions are looked at."""
    users = Subject.objects.of_container(container).attributed()
    latest = list(Session.objects.filter(container=container).newest_first().values_list("pk", flat=True)[: SESSIONS + 1])
    events = _events_of(latest[:SESSIONS])
    left_out = 0 if len(latest) <= SESSIONS else Session.objects.filter(container=container).count() - SESSIONS
    return Measures(
        memories=_of_users(users, "long_term"),
        tokens=_of_users(users, "tokens"),
        events=Spread(len(events), tuple(events[_place(len(events), share)] if events else 0 for share in SHARES)),
        sessions_left_out=left_out,
        weeks=_weeks(container, now=now, weeks=weeks),
    )


def _of_users(users: QuerySet[Subject], counter: str) -> Spread:
    number = users.count()
    ordered = users.order_by(counter, "pk").values_list(counter, flat=True)
    return Spread(number, tuple(ordered[_place(number, share)] if number else 0 for share in SHARES))


def _place(number: int, share: int) -> int:
    """Return the place, from 0, of the value that `share` percent of so many do not exceed (nearest rank)."""
    return max(0, -(-number * share // 100) - 1)


def _events_of(sessions: Sequence[int]) -> list[int]:
    """Return the number of working memories of each session, the fewest first."""
    found = WorkingMemory.objects.filter(session__in=sessions).values("session").annotate(n=Count("id")).values_list("session", "n")
    counted = dict(found.order_by("session"))
    return sorted(counted.get(key, 0) for key in sessions)


def _weeks(container: Container, *, now: datetime, weeks: int) -> tuple[Week, ...]:
    monday = now.date() - timedelta(days=now.weekday() + 7 * (weeks - 1))
    begin = datetime(monday.year, monday.month, monday.day, tzinfo=now.tzinfo)
    rows = LongTermMemory.objects.filter(container=container, created_at__gte=begin, created_at__lte=now)
    counted = rows.annotate(week=TruncWeek("created_at")).values("week").annotate(n=Count("id")).order_by("week")
    created = {row["week"].date(): row["n"] for row in counted}
    return tuple(Week(on, created.get(on, 0)) for on in (monday + timedelta(days=7 * number) for number in range(weeks)))
