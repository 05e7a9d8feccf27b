import uuid

from django.db import models
from django.db.models import Q

from memadmin.store.models.containers import Container, PolicyVersion
from memadmin.store.models.subjects import Subject


class FeedbackKind(models.TextChoices):
    FORGOT = "forgot", "the agent forgot this"
    WRONG = "wrong", "this was wrong"


class FeedbackState(models.TextChoices):
    OPEN = "open", "to be looked into"
    MATCHED = "matched", "matched with an eviction"
    UNRELATED = "unrelated", "not due to an eviction"


class Feedback(models.Model):
    """What somebody noticed in the agent's answers to a user, and the eviction that was the cause, once a person has said so.

    `words` are about a person. The match names the evicted item, its run and policy version, not its text.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    kind = models.CharField(max_length=16, choices=FeedbackKind)
    state = models.CharField(max_length=16, choices=FeedbackState, default=FeedbackState.OPEN)
    words = models.TextField()
    noticed_at = models.DateTimeField()  # when the agent's answer was noticed: what was evicted later is not the cause
    memory_uid = models.UUIDField(null=True)  # what the reporter points at, if anything
    session_uid = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    actor = models.CharField(max_length=100)
    matched_uid = models.UUIDField(null=True)  # the evicted item
    evicted_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=32, blank=True)  # of the eviction
    run_number = models.BigIntegerField(null=True)
    policy_version = models.ForeignKey(PolicyVersion, null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=FeedbackKind.values), name="feedback_kind_known"),
            models.CheckConstraint(condition=Q(state__in=FeedbackState.values), name="feedback_state_known"),
            models.CheckConstraint(condition=~Q(words=""), name="feedback_has_words"),
            models.CheckConstraint(
                condition=Q(state=FeedbackState.MATCHED, matched_uid__isnull=False)
                | (~Q(state=FeedbackState.MATCHED) & Q(matched_uid__isnull=True)),
                name="feedback_matched_names_item",
            ),
        ]
        indexes = [
            models.Index(fields=["subject", "noticed_at", "id"], name="feedback_by_subject"),
            models.Index(fields=["container", "state", "noticed_at", "id"], name="feedback_by_state"),
        ]
