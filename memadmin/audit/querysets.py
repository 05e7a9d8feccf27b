"""The vocabulary of reading the log, and the refusal to change it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NoReturn, Self

from django.db import models


class AppendOnly(Exception):
    """Rows of the log are added, never changed or deleted."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """The triggers refuse as well; this refuses earlier and says why."""

    def update(self, **values: Any) -> NoReturn:
        raise AppendOnly

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly

    def delete(self) -> NoReturn:
        raise AppendOnly


class EntryQuerySet(AppendOnlyQuerySet):
    def in_stream(self, stream: str) -> Self:
        """Start here: every index of the table begins with the stream."""
        return self.filter(stream=stream)

    def by_actor(self, actor: str) -> Self:
        return self.filter(actor=actor)

    def of_actions(self, actions: Iterable[str]) -> Self:
        return self.filter(action__in=list(actions))

    def on_target(self, target: str) -> Self:
        return self.filter(target=target)

    def not_before(self, instant: datetime) -> Self:
        return self.filter(at__gte=instant)

    def earlier_than(self, instant: datetime) -> Self:
        return self.filter(at__lt=instant)

    def newest_first(self) -> Self:
        """By seq, which is the order of the acts; clocks go back, seq does not."""
        return self.order_by("-seq", "-stream")

    def below(self, seq: int) -> Self:
        """The page after the one that ended with `seq`."""
        return self.filter(seq__lt=seq)
