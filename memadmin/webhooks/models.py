"""Who is told of what happens, and what was told. A body holds uids, numbers and codes: no text, no user id."""

import uuid

from django.db import models
from django.db.models import Q

from memadmin.store.models import Container


class Event(models.TextChoices):
    POLICY_PUBLISHED = "policy.published", "a retention policy came into force"
    RUN_FINISHED = "run.finished", "a retention run came to its end"
    ERASURE_FOUND_AGAIN = "erasure.found_again", "something that was erased was found again"
    MEMORY_EVICTED = "memory.evicted", "a run evicted these memories and sessions"
    ERASURE_DUE = "erasure.due", "a request of a person is late or due within a week, told daily"
    ERASURE_CAME_AGAIN = (
        "erasure.came_again",
        "something that was erased came again: it waits set aside, or was let in and marked; told daily",
    )
    AUDIT_NOT_WHOLE = "audit.not_whole", "a verification found that the audit log is not whole, or could not be carried out"


class Subscription(models.Model):
    """An address that is told. `told_to` is the last entry of the log that it heard of, `within` how far that entry's run is told."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    url = models.CharField(max_length=2000)
    secret = models.CharField(max_length=100)  # what we sign with, so it cannot be kept as a hash
    events = models.JSONField(default=list)
    all_containers = models.BooleanField(default=False)
    containers = models.ManyToManyField(Container, related_name="+")
    enabled = models.BooleanField(default=True)
    created_by = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    told_to = models.BigIntegerField()
    within = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.uid)


class State(models.TextChoices):
    PENDING = "pending", "on its way"
    DELIVERED = "delivered", "delivered"
    FAILED = "failed", "given up"


class Delivery(models.Model):
    """One event on its way to one address. Its uid is the event's id there: the receiver can tell a repetition."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=32, choices=Event)
    body = models.TextField()
    state = models.CharField(max_length=16, choices=State, default=State.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    status = models.PositiveIntegerField(null=True)  # of the last answer
    error_code = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(state__in=State.values), name="delivery_state_known")]
        indexes = [
            models.Index(fields=["due_at", "id"], condition=Q(state="pending"), name="delivery_due"),
            models.Index(fields=["subscription", "-id"], name="delivery_by_subscription"),
            models.Index(fields=["ended_at"], condition=~Q(state="pending"), name="delivery_ended"),
        ]

    def __str__(self) -> str:
        return str(self.uid)
