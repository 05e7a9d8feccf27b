import uuid

from django.db import models
from django.db.models import Q

from memadmin.store.models.containers import Container
from memadmin.store.models.links import ItemType
from memadmin.store.models.subjects import Subject


class SuppressedKind(models.TextChoices):
    SUBJECT = "subject", "a user id"
    TEXT = "text", "the text of an item"


class Mode(models.TextChoices):
    """What happens to what arrives again, the strictest first."""

    FENCE = "fence", "refused while the erasure runs, by the database too"
    BLOCK = "block", "refused"
    QUARANTINE = "quarantine", "set aside for a person to release or drop"
    FLAG = "flag", "let in, and people are told"
    LIFTED = "lifted", "let in like anything else"


class Suppression(models.Model):
    """Something was erased and is known again by a keyed digest alone: neither the id nor the text can be read from it.

    Without a container it counts in all of them.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=16, choices=SuppressedKind)
    digest = models.CharField(max_length=64)  # HMAC-SHA256 in hex, see `store.suppression_keys`
    key_id = models.CharField(max_length=32)
    container = models.ForeignKey(Container, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    mode = models.CharField(max_length=16, choices=Mode)
    request_ref = models.CharField(max_length=100)  # what asked for it, as the audit log names it
    since = models.DateTimeField()
    block_until = models.DateTimeField(null=True)  # from here on `block` and `quarantine` count as `flag`; null: they stay
    keep_until = models.DateTimeField(null=True)  # from here on nothing is known of it any more; null: kept
    lifted_by = models.CharField(max_length=100, blank=True)
    lifted_at = models.DateTimeField(null=True)
    lift_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest", "container"], condition=~Q(mode="lifted"), name="suppression_stands_once"),
            models.UniqueConstraint(
                fields=["digest"], condition=~Q(mode="lifted") & Q(container__isnull=True), name="suppression_everywhere_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=SuppressedKind.values), name="suppression_kind_known"),
            models.CheckConstraint(condition=Q(mode__in=Mode.values), name="suppression_mode_known"),
            models.CheckConstraint(
                condition=~Q(mode="lifted") | (~Q(lifted_by="") & ~Q(lift_reason="") & Q(lifted_at__isnull=False)),
                name="suppression_lifted_with_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["kind", "digest"], condition=~Q(mode="lifted"), name="suppression_by_digest"),
            models.Index(fields=["request_ref"], name="suppression_by_request"),
        ]

    def __str__(self) -> str:
        return f"suppressions/{self.uid}"


class Outcome(models.TextChoices):
    QUARANTINED = "quarantined", "set aside"
    FLAGGED = "flagged", "let in and marked"


class Returned(models.Model):
    """An item that met a suppression when it arrived: set aside with its content, or let in and marked here."""

    uid = models.UUIDField()  # of the item
    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    item_type = models.CharField(max_length=16, choices=ItemType)
    outcome = models.CharField(max_length=16, choices=Outcome)
    suppression_uid = models.UUIDField()
    payload = models.BinaryField(null=True)  # sealed, see `store.quarantine`; null for what was let in
    arrived_by = models.CharField(max_length=100)
    arrived_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)  # when what is set aside is dropped unless somebody releases it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["uid", "subject"], name="returned_uid_once"),
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="returned_outcome_known"),
            models.CheckConstraint(condition=~Q(outcome="quarantined") | Q(payload__isnull=False), name="returned_has_content"),
        ]
        indexes = [
            models.Index(fields=["subject", "arrived_at", "id"], name="returned_by_subject"),
            models.Index(fields=["container", "outcome", "arrived_at", "id"], name="returned_by_container"),
            models.Index(fields=["expires_at"], name="returned_by_expiry"),
        ]
