"""What independent looks at the database have found after an erasure."""

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.manifests import Manifest
from memadmin.erasure.models.requests import ErasureRequest


class Outcome(models.TextChoices):
    RUNNING = "running", "under way"
    CLEAN = "clean", "nothing but what was to stay"
    RESIDUE = "residue", "something is left, or has gone that was to stay"
    BLIND = "blind", "a control was not seen: this look proves nothing"


class Verification(models.Model):
    """One look over the whole database. It is `clean` only if every control was seen and exactly what was withheld was found."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="verifications")
    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.RUNNING)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    controls = models.PositiveIntegerField(default=0)  # columns in which a control was planted
    controls_seen = models.PositiveIntegerField(default=0)
    tables = models.PositiveIntegerField(default=0)  # looked through
    expected = models.BigIntegerField(default=0)  # rows that were to stay
    found = models.BigIntegerField(default=0)  # of them

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "number"], name="verification_number_once"),
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="verification_outcome_known"),
            models.CheckConstraint(condition=Q(outcome="running") | Q(ended_at__isnull=False), name="verification_ended_has_time"),
            models.CheckConstraint(condition=Q(controls_seen__lte=models.F("controls")), name="verification_sees_what_was_planted"),
        ]

    def __str__(self) -> str:
        return f"{self.request}: verification {self.number}"


class FindingKind(models.TextChoices):
    RESIDUE = "residue", "is still there"
    MISSING = "missing", "was to stay and has gone"
    BLIND = "blind", "its control was not seen"


class Finding(models.Model):
    """Something that is not as it should be: in which column of which table, and how many rows of it."""

    verification = models.ForeignKey(Verification, on_delete=models.CASCADE, related_name="findings")
    kind = models.CharField(max_length=8, choices=FindingKind)
    table = models.CharField(max_length=100)  # or the place on disk
    column = models.CharField(max_length=100, blank=True)
    rows = models.BigIntegerField()
    sample = models.CharField(max_length=100, blank=True)  # the key of one of them

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["verification", "kind", "table", "column"], name="finding_once"),
            models.CheckConstraint(condition=Q(kind__in=FindingKind.values), name="finding_kind_known"),
            models.CheckConstraint(condition=Q(rows__gte=1), name="finding_has_rows"),
        ]

    def __str__(self) -> str:
        return f"{self.verification}: {self.kind} {self.table}.{self.column}"
