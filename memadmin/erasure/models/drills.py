"""Drills: the whole workflow, tried out on a made-up person in a container of its own."""

import uuid

from django.db import models
from django.db.models import Q


class DrillState(models.TextChoices):
    RUNNING = "running", "under way"
    PASSED = "passed", "passed"
    FAILED = "failed", "failed"


class Drill(models.Model):
    """One drill and its report. The made-up ids follow from the uid and the installation's secret, and are stored nowhere here."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    state = models.CharField(max_length=8, choices=DrillState, default=DrillState.RUNNING)
    requested_by = models.CharField(max_length=100)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    container_id = models.BigIntegerField(null=True)  # made for it, and removed at its end
    failures = models.JSONField(default=list)  # codes of what was not as it should be
    rows = models.JSONField(default=list)  # [table, key] of what was planted besides the person's own rows
    neighbour_digest = models.CharField(max_length=64, blank=True)  # of every row of the neighbour, before
    neighbour_same = models.BooleanField(null=True)
    traces_before = models.BigIntegerField(null=True)  # of the made-up words in the bytes of the file, or the planner's statistics
    traces_after = models.BigIntegerField(null=True)
    tidied = models.BooleanField(default=False)  # nothing planted is left

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=DrillState.values), name="drill_state_known"),
            models.CheckConstraint(condition=Q(state="running") | Q(ended_at__isnull=False), name="drill_ended_has_time"),
            models.UniqueConstraint(fields=["state"], condition=Q(state="running"), name="drill_one_at_a_time"),
        ]

    def __str__(self) -> str:
        return f"drill {self.uid}"


class DrillPlace(models.Model):
    """What a drill planted in one place, and what became of it."""

    drill = models.ForeignKey(Drill, on_delete=models.CASCADE, related_name="places")
    location = models.CharField(max_length=64)
    planted = models.PositiveIntegerField()
    found = models.PositiveIntegerField(default=0)  # by the search
    erased = models.PositiveIntegerField(default=0)  # or their words taken out
    left = models.PositiveIntegerField(null=True)  # seen by the verification, null: it has not looked

    class Meta:
        constraints = [models.UniqueConstraint(fields=["drill", "location"], name="drill_place_once")]

    def __str__(self) -> str:
        return f"{self.drill}: {self.location}"
