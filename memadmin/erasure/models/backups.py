"""The inventory of backups: copies of everything, which an erasure does not reach and which end by themselves on a day."""

import uuid

from django.db import models
from django.db.models import F, Q


class BackupKind(models.TextChoices):
    PG_DUMP = "pg_dump", "dump of the database"
    PG_BASEBACKUP = "pg_basebackup", "copy of PostgreSQL's files"
    WAL = "wal", "archive of PostgreSQL's log"
    SQLITE_COPY = "sqlite_copy", "copy of the SQLite file"
    SNAPSHOT = "snapshot", "snapshot of a disk or machine"
    EXPORT = "export", "export of memories"


class BackupRecord(models.Model):
    """One backup. It has ended when somebody has confirmed it, with what shows it: a day that has passed destroys nothing."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=16, choices=BackupKind)
    label = models.CharField(max_length=200)  # where it lies and what it is called there
    started_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    audit_seq = models.BigIntegerField()  # the last entry of the log that it can have
    key_id = models.CharField(max_length=64, blank=True)  # of the key that it is encrypted with, which has to go with it
    recorded_by = models.CharField(max_length=100)
    recorded_at = models.DateTimeField()
    destroyed_at = models.DateTimeField(null=True)
    destroyed_by = models.CharField(max_length=100, blank=True)
    destroyed_proof = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "label", "started_at"], name="backup_once"),
            models.CheckConstraint(condition=Q(kind__in=BackupKind.values), name="backup_kind_known"),
            models.CheckConstraint(condition=Q(expires_at__gte=F("started_at")), name="backup_expires_after_it_began"),
            models.CheckConstraint(condition=Q(destroyed_at__isnull=True) | ~Q(destroyed_proof=""), name="backup_destroyed_with_proof"),
        ]
        indexes = [models.Index(fields=["started_at", "id"], name="backup_by_start")]

    def __str__(self) -> str:
        return f"backups/{self.uid}"


class InventoryCheck(models.Model):
    """Somebody's word that every backup begun until then is in the inventory. Nobody else can know that one was forgotten."""

    checked_at = models.DateTimeField()
    checked_by = models.CharField(max_length=100)
    standing = models.PositiveIntegerField()  # backups that had not ended

    def __str__(self) -> str:
        return f"inventory of {self.checked_at:%Y-%m-%d}"
