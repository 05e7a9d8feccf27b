from typing import Any, NoReturn

from django.db import models
from django.db.models import Q

from memadmin.audit.querysets import AppendOnly, AppendOnlyQuerySet, EntryQuerySet


class Stream(models.TextChoices):
    GOVERNANCE = "governance", "what people and jobs decided; chained in the transaction of the act"
    ACTIVITY = "activity", "what happened by the thousand; sealed in batches"


class Outcome(models.TextChoices):
    OK = "ok", "done"
    REFUSED = "refused", "refused"
    FAILED = "failed", "failed"


class AppendOnlyModel(models.Model):
    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnly
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly


class AuditEntry(AppendOnlyModel):
    """One act. `leaf` is what was hashed; every other column repeats a field of it for searching, and the verifier compares them.

    No foreign keys: the trail outlives whatever it names. No choices on the columns: a new action is no migration.
    """

    pk = models.CompositePrimaryKey("stream", "seq")
    stream = models.CharField(max_length=16)
    seq = models.BigIntegerField()
    leaf = models.TextField()
    at = models.DateTimeField()
    actor = models.CharField(max_length=100)
    action = models.CharField(max_length=64)
    outcome = models.CharField(max_length=16)
    target = models.CharField(max_length=250)
    request_id = models.CharField(max_length=64, blank=True)
    reason_code = models.CharField(max_length=64, blank=True)
    counts = models.JSONField()
    payload_digest = models.CharField(max_length=64, blank=True)
    prev_hash = models.CharField(max_length=64)
    row_hash = models.CharField(max_length=64)

    objects = EntryQuerySet.as_manager()

    class Meta:
        db_table = "audit_entry"
        constraints = [
            models.CheckConstraint(condition=Q(seq__gte=1), name="audit_entry_seq_from_one"),
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="audit_entry_outcome_known"),
        ]
        indexes = [  # each ends with seq, so that a filtered page of the newest is one short walk
            models.Index(fields=["stream", "actor", "seq"], name="audit_entry_by_actor"),
            models.Index(fields=["stream", "action", "seq"], name="audit_entry_by_action"),
            models.Index(fields=["stream", "target", "seq"], name="audit_entry_by_target"),
            models.Index(fields=["stream", "at", "seq"], name="audit_entry_by_time"),
            models.Index(fields=["stream", "outcome", "seq"], name="audit_entry_by_outcome"),
            models.Index(fields=["stream", "request_id", "seq"], name="audit_entry_by_request"),
        ]

    def __str__(self) -> str:
        return f"{self.stream}/{self.seq}"


class AuditPayload(AppendOnlyModel):
    """What an act said in words, apart from the chain, which holds only its salted digest. The table that a redaction may delete from."""

    pk = models.CompositePrimaryKey("stream", "seq")
    stream = models.CharField(max_length=16)
    seq = models.BigIntegerField()
    salt = models.CharField(max_length=64)
    body = models.TextField()  # canonical JSON as it was digested; a JSON column would reorder its keys

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        db_table = "audit_payload"

    def __str__(self) -> str:
        return f"{self.stream}/{self.seq}"


class AuditPending(models.Model):
    """An act of the activity stream that waits to be sealed. Until then it is not protected; the sealing job comes by every minute."""

    facts = models.TextField()  # canonical JSON of what `log.append` takes
    body = models.TextField(null=True)

    class Meta:
        db_table = "audit_pending"

    def __str__(self) -> str:
        return f"pending/{self.pk}"


class AuditHead(models.Model):
    """The last row of each stream, and the lock that its writers queue on: an empty table has no last row to lock."""

    stream = models.CharField(max_length=16, primary_key=True)
    seq = models.BigIntegerField()
    row_hash = models.CharField(max_length=64)

    class Meta:
        db_table = "audit_head"
        constraints = [models.CheckConstraint(condition=Q(seq__gte=0), name="audit_head_seq_not_negative")]

    def __str__(self) -> str:
        return f"{self.stream}/{self.seq}"


class Verification(models.Model):
    """One look at the log by the job that verifies it: how far it has come, and what it found. No part of the log; it proves nothing."""

    whole = models.BooleanField()  # false: only what came since an earlier checkpoint
    actor = models.CharField(max_length=100)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    exit_code = models.PositiveSmallIntegerField(null=True)  # as of verify_audit_log
    rows = models.BigIntegerField(default=0)
    checkpoint = models.BigIntegerField(default=0)  # the last one when it began; 0: there was none
    found = models.JSONField(default=dict)  # by exit code: how many
    first_findings = models.JSONField(default=list)  # as the command prints them, the worst first
    redacted = models.BigIntegerField(default=0)
    clock_went_back = models.BigIntegerField(default=0)  # how often
    unanchored = models.BigIntegerField(default=0)

    class Meta:
        db_table = "audit_verification"

    @property
    def findings(self) -> int:
        return sum(self.found.values())

    def __str__(self) -> str:
        return f"verification/{self.pk}"
