"""Jobs, read: whose turn it is, whose worker has died."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import F, Q

from memadmin.jobs import limits


class JobQuerySet(models.QuerySet[Any]):
    def live(self) -> Self:
        return self.filter(state__in=["queued", "running"])

    def ready(self, now: datetime) -> Self:
        """Queued, and not told to wait. A wait longer than any we set was written by a wrong clock and does not count."""
        return self.filter(_ready(now))

    def abandoned(self, now: datetime) -> Self:
        """Running, but the lease is over, or so far ahead that only a wrong clock can have written it."""
        return self.filter(_abandoned(now))

    def free_to_take(self, now: datetime) -> Self:
        return self.filter(_ready(now) | _abandoned(now), attempts__lt=F("max_attempts"))

    def leased_by(self, token: str) -> Self:
        return self.filter(state="running", leased_by=token)

    def failed_since(self, moment: datetime) -> Self:
        return self.filter(state="failed", finished_at__gt=moment)

    def finished_before(self, cutoff: datetime) -> Self:
        return self.filter(finished_at__lt=cutoff)

    def oldest_first(self) -> Self:
        return self.order_by("created_at", "id")

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")


def _ready(now: datetime) -> Q:
    return Q(state="queued") & (Q(ready_at=None) | Q(ready_at__lte=now) | Q(ready_at__gt=now + 2 * limits.LONGEST_WAIT))


def _abandoned(now: datetime) -> Q:
    return Q(state="running") & (Q(lease_until__lt=now) | Q(lease_until__gt=now + 2 * limits.LEASE))
