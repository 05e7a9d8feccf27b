"""The vocabulary of reading runs. Every order ends with the key."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.db.models.expressions import RawSQL

if TYPE_CHECKING:
    from memadmin.lifecycle.models import ItemKind, Run
    from memadmin.store.models import Container, Subject


class RunQuerySet(models.QuerySet[Any]):
    def of_container(self, container: Container) -> Self:
        return self.filter(container=container)

    def of_containers(self, containers: models.QuerySet[Any]) -> Self:
        return self.filter(container__in=containers)

    def live(self) -> Self:
        """Waiting for a worker, or being carried out."""
        return self.filter(state__in=["queued", "running"])

    def waiting(self) -> Self:
        """For a second person."""
        return self.filter(state="waiting")

    def previews(self) -> Self:
        """Recorded and not yet carried out, called off or dropped."""
        return self.filter(state="ready")

    def ended(self) -> Self:
        """Finished, failed, called off or refused."""
        return self.filter(state__in=["finished", "failed", "cancelled", "refused"])

    def finished_before(self, moment: datetime) -> Self:
        return self.filter(finished_at__lt=moment)

    def with_a_list(self) -> Self:
        """Whose list of victims has not been dropped."""
        return self.filter(planned__gt=0).exclude(outcome__has_key="list_dropped_at")

    def made_before(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)

    def newest_first(self) -> Self:
        return self.order_by("-number")


class VictimQuerySet(models.QuerySet[Any]):
    def of_run(self, run: Run) -> Self:
        return self.filter(run=run)

    def of_kind(self, kind: ItemKind) -> Self:
        return self.filter(item_kind=kind)

    def of_subject(self, subject: Subject) -> Self:
        return self.filter(subject=subject)

    def for_first_reason(self, bit: int) -> Self:
        """Those whose first reason this is: as they are counted in the totals."""
        return self.annotate(first=models.F("reasons").bitand(2 * bit - 1)).filter(first=bit)

    def dealt_with(self) -> Self:
        """Those that the run has come to: evicted, or passed over."""
        in_range = "SELECT 1 FROM lifecycle_runrange r WHERE r.run_id = v.run_id AND v.seq BETWEEN r.first AND r.cursor"
        in_cluster = (
            "SELECT 1 FROM lifecycle_runcluster c WHERE c.run_id = v.run_id AND c.state <> 'planned' AND v.seq BETWEEN c.first AND c.room"
        )
        reached = f"(EXISTS ({in_range}) OR EXISTS ({in_cluster}))".replace("v.", "lifecycle_runvictim.")
        return self.filter(RawSQL(reached, [], output_field=models.BooleanField()))

    def with_item_ids(self, ids: Iterable[int]) -> Self:
        return self.filter(item_id__in=list(ids))

    def in_order(self) -> Self:
        """The order in which they go."""
        return self.order_by("run_id", "seq")
