"""Evictions by day, and how often an eviction was the cause of what people reported: by the policy version that it was under.

Only sessions and long-term memories are counted: what an agent can no longer recall. Evictions are dated by the start of their run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, Count, F, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce, TruncDate

from memadmin.lifecycle.models import Run
from memadmin.store.models import Container, Feedback, FeedbackKind, FeedbackState, PolicyVersion
from retention.rules import MemoryType

COUNTED = (MemoryType.SESSIONS, MemoryType.LONG_TERM)


@dataclass(frozen=True, slots=True)
class Day:
    on: date
    evicted: int = 0
    noticed: Mapping[FeedbackKind, int] = field(default_factory=dict)

    @property
    def reports(self) -> int:
        return sum(self.noticed.values())


@dataclass(frozen=True, slots=True)
class Rate:
    """One policy version. `reports` were noticed from its first eviction on; `missed` are its evictions that one or more of them name."""

    version: PolicyVersion
    evicted: int
    reports: int
    missed: int

    @property
    def is_known(self) -> bool:
        """Without any report nobody knows whether something is missed: that is not 0 %."""
        return self.reports > 0

    @property
    def share(self) -> float:
        return self.missed / self.evicted if self.evicted else 0.0


def by_day(containers: QuerySet[Container], *, now: datetime, days: int = 30) -> list[Day]:
    """Return the last days (UTC), today among them, each with what was evicted and what was noticed."""
    first = now.date() - timedelta(days=days - 1)
    runs = _runs(containers).filter(started_at__date__gte=first).values(on=TruncDate("started_at")).annotate(evicted=_evicted())
    evicted = {row["on"]: int(row["evicted"] or 0) for row in runs.order_by("on")}
    reports = Feedback.objects.filter(container__in=containers, noticed_at__date__gte=first)
    noticed: dict[date, dict[FeedbackKind, int]] = {}
    for row in reports.values("kind", on=TruncDate("noticed_at")).annotate(n=Count("id")).order_by("on", "kind"):
        noticed.setdefault(row["on"], {})[FeedbackKind(row["kind"])] = row["n"]
    every = [first + timedelta(days=number) for number in range(days)]
    return [Day(on, evicted.get(on, 0), noticed.get(on, {})) for on in every]


def by_version(containers: QuerySet[Container], *, limit: int = 10) -> list[Rate]:
    """Return the versions under which something was evicted, those that evicted last first."""
    runs = _runs(containers).filter(policy_version__isnull=False).values("policy_version")
    sums = runs.annotate(evicted=_evicted(), since=Min("started_at"), last=Max("number"))
    rows = list(sums.filter(evicted__gt=0).order_by("-last")[:limit])
    versions = PolicyVersion.objects.select_related("container").in_bulk([row["policy_version"] for row in rows])
    return [_rate(versions[row["policy_version"]], row) for row in rows]


def _rate(version: PolicyVersion, row: Mapping[str, Any]) -> Rate:
    of_container = Feedback.objects.filter(container=version.container_id)
    matched = Q(state=FeedbackState.MATCHED, policy_version=version)
    reports = of_container.filter(matched | Q(noticed_at__gte=row["since"])).count()
    missed = of_container.filter(matched).values("matched_uid", "run_number").distinct().count()
    return Rate(version, int(row["evicted"]), reports, missed)


def _runs(containers: QuerySet[Container]) -> QuerySet[Run]:
    return Run.objects.filter(container__in=containers, removed__gt=0, started_at__isnull=False)


def _evicted() -> Sum:
    items = [Cast(KeyTextTransform("items", KeyTransform(each.value, F("outcome"))), BigIntegerField()) for each in COUNTED]
    total = Coalesce(items[0], Value(0)) + Coalesce(items[1], Value(0))
    return Sum(total, output_field=BigIntegerField())
