"""Later looks for what was erased: by digests alone, since nobody knows any more who it was."""

import uuid

from django.db import models
from django.db.models import Q


class RecheckKind(models.TextChoices):
    NIGHTLY = "nightly", "users"
    WEEKLY = "weekly", "everything that is stored"


class Recheck(models.Model):
    """One look. It has seen everything once it has ended."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=8, choices=RecheckKind)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    looked_at = models.BigIntegerField(default=0)  # rows
    found = models.BigIntegerField(default=0)  # of them, new ones

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(kind__in=RecheckKind.values), name="recheck_kind_known")]

    def __str__(self) -> str:
        return f"rechecks/{self.uid}"


class FoundAgainKind(models.TextChoices):
    STAYED = "stayed", "a user who was erased is there, older than the erasure"
    CAME_BACK = "came_back", "a user who is refused is there, newer than the erasure"
    NAMED = "named", "the id of a user who is refused stands in it"
    TEXT = "text", "an erased text that is refused stands in it"


class FoundAgain(models.Model):
    """Something that was erased and is there, by the digest that knows it. An alarm until somebody has said what it was."""

    recheck = models.ForeignKey(Recheck, on_delete=models.CASCADE, related_name="findings")
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=16, choices=FoundAgainKind)
    suppression_uid = models.UUIDField()
    request_ref = models.CharField(max_length=100)
    table = models.CharField(max_length=100)
    column = models.CharField(max_length=100)
    row_key = models.CharField(max_length=100)
    found_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=100, blank=True)
    reason = models.CharField(max_length=400, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["suppression_uid", "table", "column", "row_key"], name="found_again_once"),
            models.CheckConstraint(condition=Q(kind__in=FoundAgainKind.values), name="found_again_kind_known"),
            models.CheckConstraint(condition=Q(settled_at__isnull=True) | ~Q(reason=""), name="found_again_settled_with_reason"),
        ]
        indexes = [models.Index(fields=["id"], condition=Q(settled_at__isnull=True), name="found_again_open")]

    def __str__(self) -> str:
        return f"found-again/{self.uid}"
