"""What was proved at the end of a request. Rows are never changed: a certificate that was wrong is followed by another one."""

import uuid

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.requests import ErasureRequest


class Level(models.TextChoices):
    """How far the erasure has come, and with that the title of the certificate."""

    LIVE = "live", "erased from the live systems"
    PARTLY = "partly", "partly refused: some of it is kept for a legal reason"
    NOTHING_HELD = "nothing_held", "nothing was held"
    CLOSED = "closed", "erased, and the backups from before have expired"
    CLOSED_PARTLY = "closed_partly", "partly refused; of what was erased the backups from before have expired"
    DRILL = "drill", "drill with a made-up person"


class Certificate(models.Model):
    """`document` is the canonical text that was signed; the other columns repeat what lists need. It names no person and no memory."""

    serial = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    request = models.ForeignKey(ErasureRequest, on_delete=models.PROTECT, related_name="certificates")
    level = models.CharField(max_length=16, choices=Level)
    document = models.TextField()
    digest = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)
    public_key = models.CharField(max_length=64)
    key_id = models.CharField(max_length=64)
    issued_at = models.DateTimeField()
    follows = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")  # the one that it replaces

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(level__in=Level.values), name="certificate_level_known"),
            models.UniqueConstraint(fields=["follows"], name="certificate_followed_once"),
        ]

    def __str__(self) -> str:
        return f"certificate {self.serial}"


class Commitment(models.Model):
    """By which a person shows, with their receipt, that a certificate is about them. Nothing of an id follows from it."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="commitments")
    value = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "value"], name="commitment_once")]

    def __str__(self) -> str:
        return f"{self.request}: {self.value[:8]}"
