"""Copies of what is held about a person, made for them: sealed, handed out once, gone after some days.

The tables are not named `erasure_…`: those are the papers of requests, which a verification leaves out. These hold a person's data.
"""

import uuid

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.requests import ErasureRequest
from memadmin.store.models import Subject


class ExportState(models.TextChoices):
    BUILDING = "building", "being made"
    READY = "ready", "made, not handed out"
    HANDED_OUT = "handed_out", "its link was handed out"
    COLLECTED = "collected", "collected"
    EXPIRED = "expired", "expired"
    WITHDRAWN = "withdrawn", "withdrawn"
    ERASED = "erased", "erased with the person"
    FAILED = "failed", "could not be made"


LIVE = (ExportState.BUILDING, ExportState.READY, ExportState.HANDED_OUT)


class AccessExport(models.Model):
    """One export: codes, numbers and times. What it says lies sealed in `ExportPart`, and the key of that under another key here."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    request = models.ForeignKey(ErasureRequest, on_delete=models.PROTECT, related_name="access_exports")
    manifest_number = models.PositiveIntegerField()  # what was found, and so what is in it
    state = models.CharField(max_length=16, choices=ExportState, default=ExportState.BUILDING)
    started_by = models.CharField(max_length=100)
    started_at = models.DateTimeField()
    made_at = models.DateTimeField(null=True)
    handed_by = models.CharField(max_length=100, blank=True)
    handed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)  # null: still being made
    ended_at = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=100, blank=True)
    wrapped_key = models.BinaryField(null=True)  # under the server's key, once handed out under the code that nobody here knows
    code_digest = models.CharField(max_length=64, blank=True)
    included = models.JSONField(default=dict)  # by place: how many things are in it
    left_out = models.JSONField(default=dict)  # by "place class reason": how many are not
    files = models.JSONField(default=list)  # name, parts, bytes and SHA-256 of each file

    class Meta:
        db_table = "access_exports_export"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ExportState.values), name="access_export_state_known"),
            models.UniqueConstraint(fields=["request"], condition=Q(state__in=LIVE), name="access_export_one_live"),
            models.CheckConstraint(
                condition=Q(state__in=LIVE) | Q(wrapped_key__isnull=True) & Q(ended_at__isnull=False), name="access_export_ended_has_no_key"
            ),
            models.CheckConstraint(condition=~Q(state="handed_out") | ~Q(code_digest=""), name="access_export_handed_out_has_code"),
        ]
        indexes = [models.Index(fields=["expires_at"], condition=Q(state__in=LIVE), name="access_export_by_expiry")]

    def __str__(self) -> str:
        return f"access-exports/{self.uid}"


class ExportSubject(models.Model):
    """Whom an export is about. It stays as long as the export's parts."""

    export = models.ForeignKey(AccessExport, on_delete=models.CASCADE, related_name="subjects")
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)

    class Meta:
        db_table = "access_exports_subject"
        constraints = [models.UniqueConstraint(fields=["export", "subject"], name="access_export_subject_once")]

    def __str__(self) -> str:
        return f"{self.export}: {self.pk}"


class ExportPart(models.Model):
    """One piece of one file, compressed and sealed, see `access_exports.sealing`."""

    export = models.ForeignKey(AccessExport, on_delete=models.CASCADE, related_name="parts", db_index=False)
    file = models.CharField(max_length=40)  # our own name
    number = models.PositiveIntegerField()
    sealed = models.BinaryField()

    class Meta:
        db_table = "access_exports_part"
        constraints = [models.UniqueConstraint(fields=["export", "file", "number"], name="access_export_part_once")]

    def __str__(self) -> str:
        return f"{self.export}: {self.file} {self.number}"
