"""Requests, read: which are open, which are late, whom they are about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, Self

from django.db import models

TERMINAL = ("closed", "refused", "cancelled", "nothing_held")
ENDED = ("completed", *TERMINAL)


class RequestQuerySet(models.QuerySet[Any]):
    def open(self) -> Self:
        """Those that somebody still has to do something about."""
        return self.exclude(state__in=ENDED)

    def ended(self) -> Self:
        return self.filter(state__in=ENDED)

    def due_by(self, day: date) -> Self:
        return self.open().filter(due_on__lte=day)

    def of_refs(self, refs: Iterable[str]) -> Self:
        """Those that mean one of these users; look-alikes that were not ticked do not count."""
        return self.filter(subjects__subject_ref__in=list(refs), subjects__ticked=True).distinct()

    def soonest_first(self) -> Self:
        return self.order_by("due_on", "id")

    def newest_first(self) -> Self:
        return self.order_by("-number", "-id")
