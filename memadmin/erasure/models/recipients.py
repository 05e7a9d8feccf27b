"""Who was given copies, and what each is told when something is erased. Ids stand sealed, and only as long as they are needed."""

import uuid

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.requests import ErasureRequest
from memadmin.store.models import Container


class RecipientKind(models.TextChoices):
    WEBHOOK = "webhook", "a program that is told by a signed message"
    EXPORT = "export", "whoever gets exports; told by a person"
    MANUAL = "manual", "somebody who is told by a person"

    @property
    def is_automatic(self) -> bool:
        return self is RecipientKind.WEBHOOK


class Recipient(models.Model):
    """Somebody outside who gets data from these containers, or from all. The row stays when it ends: people may ask who they were."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=8, choices=RecipientKind)
    contact = models.CharField(max_length=2000)  # an address of the web, or how a person reaches them
    given = models.CharField(max_length=400)  # what they get
    secret = models.BinaryField(null=True)  # sealed: what messages to them are signed with
    all_containers = models.BooleanField(default=False)
    containers = models.ManyToManyField(Container, related_name="+")
    created_by = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    ended_by = models.CharField(max_length=100, blank=True)
    ended_at = models.DateTimeField(null=True)  # they get nothing any more; they are still told of what they got

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=RecipientKind.values), name="recipient_kind_known"),
            models.CheckConstraint(condition=~Q(kind="webhook") | Q(secret__isnull=False), name="recipient_signed_with_secret"),
        ]

    def __str__(self) -> str:
        return f"recipients/{self.uid}"


class NoticeState(models.TextChoices):
    PENDING = "pending", "not told yet"
    SENT = "sent", "told, no answer yet"
    ACKED = "acked", "acknowledged"
    FAILED = "failed", "could not be told"
    IMPOSSIBLE = "impossible", "cannot be told"
    DISPROPORTIONATE = "disproportionate", "telling would take an effort out of proportion"


OPEN_STATES = (NoticeState.PENDING, NoticeState.SENT, NoticeState.FAILED)


class RecipientNotice(models.Model):
    """One message to one recipient about one request. Its uid is the notice's id there: the receiver can tell a repetition."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="notices")
    recipient = models.ForeignKey(Recipient, on_delete=models.PROTECT, related_name="+")
    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    part = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=16, choices=NoticeState, default=NoticeState.PENDING)
    references = models.BinaryField(null=True)  # sealed: by which names they know what it is about; null once it is not needed
    by_own_id = models.PositiveIntegerField(default=0)  # how many users it names by the recipient's own id
    by_our_id = models.PositiveIntegerField(default=0)  # users for whom no such id was known
    attempts = models.PositiveIntegerField(default=0)
    made_at = models.DateTimeField()
    answer_by = models.DateField()
    due_at = models.DateTimeField()  # of the next attempt
    sent_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=100, blank=True)
    status = models.PositiveIntegerField(null=True)  # of the last answer
    error_code = models.CharField(max_length=100, blank=True)
    reason = models.CharField(max_length=1000, blank=True)  # why they were not told, for the person

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "recipient", "container", "part"], name="notice_once"),
            models.CheckConstraint(condition=Q(state__in=NoticeState.values), name="notice_state_known"),
            models.CheckConstraint(
                condition=~Q(state__in=["impossible", "disproportionate"]) | ~Q(reason=""), name="notice_not_told_with_reason"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["pending", "sent", "failed"]) | Q(references__isnull=False), name="notice_open_has_references"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["pending", "sent", "failed"]) | Q(references__isnull=True, ended_at__isnull=False),
                name="notice_ended_holds_nothing",
            ),
        ]
        indexes = [models.Index(fields=["due_at", "id"], condition=Q(state__in=["pending", "sent"]), name="notice_due")]

    def __str__(self) -> str:
        return f"notices/{self.uid}"
