"""Sessions and the three kinds of memory.

References between these tables carry no database constraint: a memory outlives its session, history outlives its
memory, and a table that is spread over several machines could not hold one. `check_store` verifies them.
"""

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memadmin.store.models.containers import Container
from memadmin.store.models.subjects import Subject
from memadmin.store.querysets import HistoryQuerySet, LongTermQuerySet, SessionQuerySet, WorkingQuerySet


class TimeNote(models.TextChoices):
    """What was assumed when the source's time was read."""

    EXACT = "", "as given"
    DATE_ONLY = "date", "date only: midnight UTC assumed"
    ZONE_ASSUMED = "zone_assumed", "no zone given: UTC assumed"


class Item(models.Model):
    """What every row about a person has."""

    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    # Protected: who deletes a user's or a container's row in a shell is refused, and leaves no memories that nobody owns.
    container = models.ForeignKey(Container, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    external_id = models.CharField(max_length=512, null=True)
    owner = models.CharField(max_length=512, null=True)
    namespace = models.JSONField(default=dict)
    created_at = models.DateTimeField(null=True)  # the source's time; null when it had none
    time_note = models.CharField(max_length=16, choices=TimeNote, default=TimeNote.EXACT, blank=True)
    stored_at = models.DateTimeField(db_default=Now())
    revision = models.PositiveIntegerField(default=1)
    held = models.BooleanField(default=False, db_default=False)  # must not be destroyed; a copy of what `Hold` says, like the next
    restricted = models.BooleanField(default=False, db_default=False)  # and not used either

    class Meta:
        abstract = True


class Session(Item):
    """A conversation of one user. `last_updated_at` moves with its content only."""

    summary = models.TextField(null=True)
    state = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict)
    agents = models.JSONField(default=dict)
    additional_info = models.JSONField(default=dict)
    last_updated_at = models.DateTimeField(null=True)
    pinned = models.BooleanField(default=False)

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["uid", "subject"], name="session_uid_once"),
            models.UniqueConstraint(fields=["subject", "external_id"], name="session_once_per_subject"),
        ]
        indexes = [
            models.Index(fields=["container", "last_updated_at", "id"], condition=Q(pinned=False, held=False), name="session_by_update"),
            models.Index(fields=["subject", "last_updated_at", "id"], name="session_by_subject"),
            models.Index(fields=["container", "external_id"], name="session_by_external_id"),
        ]


class PayloadType(models.TextChoices):
    CONVERSATIONAL = "conversational", "conversational"
    DATA = "data", "data"


class WorkingMemory(Item):
    """One payload that an agent wrote: messages, or data. An event of an agent framework is one row."""

    session = models.ForeignKey(Session, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    session_ref = models.CharField(max_length=512, null=True)  # as the agent wrote it; stays when the session has gone
    sequence = models.BigIntegerField(default=0)  # order inside the session
    payload_type = models.CharField(max_length=16, choices=PayloadType, default=PayloadType.CONVERSATIONAL)
    messages = models.JSONField(default=list)  # [{role, content, …}]
    message_count = models.PositiveIntegerField(default=0)
    message_id = models.IntegerField(null=True)
    structured_data = models.JSONField(null=True)
    structured_data_blob = models.JSONField(null=True)
    binary_data = models.TextField(null=True)
    metadata = models.JSONField(default=dict)
    tags = models.JSONField(default=dict)
    parameters = models.JSONField(default=dict)
    infer = models.BooleanField(default=False)
    checkpoint_id = models.CharField(max_length=512, null=True)
    event_id = models.CharField(max_length=512, null=True)
    invocation_id = models.CharField(max_length=512, null=True)
    author = models.CharField(max_length=512, null=True)
    event = models.JSONField(null=True)
    last_updated_at = models.DateTimeField(null=True)

    objects = WorkingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["uid", "subject"], name="working_uid_once"),
            models.CheckConstraint(condition=Q(payload_type__in=PayloadType.values), name="working_payload_type_known"),
        ]
        indexes = [
            models.Index(fields=["session", "sequence", "id"], name="working_by_session"),
            models.Index(fields=["subject", "created_at", "id"], name="working_by_subject"),
            models.Index(fields=["container", "created_at", "id"], name="working_by_creation"),
            models.Index(fields=["container", "session_ref", "created_at", "id"], condition=Q(session=None), name="working_of_no_session"),
            models.Index(fields=["container", "external_id"], condition=Q(external_id__isnull=False), name="working_by_external_id"),
        ]


class LongTermMemory(Item):
    """A fact that an agent may recall. `last_accessed_at` is null until an agent recalls it; reading it here does not count."""

    text = models.TextField(blank=True)
    parts = models.JSONField(null=True)  # content parts, where the memory is more than text
    author = models.CharField(max_length=512, null=True)
    strategy_id = models.CharField(max_length=512, null=True)
    strategy_type = models.CharField(max_length=64, null=True)
    tags = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict)
    tokens = models.PositiveIntegerField(default=0)
    tokens_method = models.CharField(max_length=32, default="estimate")
    importance = models.FloatField(default=0.5)
    importance_source = models.CharField(max_length=64, default="default")
    hits = models.PositiveIntegerField(default=0)
    last_accessed_at = models.DateTimeField(null=True)
    last_updated_at = models.DateTimeField(null=True)
    pinned = models.BooleanField(default=False)
    fact_key = models.CharField(max_length=512, null=True)
    fact_version = models.BigIntegerField(null=True)
    superseded_by = models.UUIDField(null=True)
    # Derived from the text, see `store.embeddings`: neither archived nor exported. "" waits for a vector, null was never meant to have one.
    embedding = models.BinaryField(null=True)
    embedding_model = models.CharField(max_length=200, null=True)

    objects = LongTermQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["uid", "subject"], name="longterm_uid_once"),
            models.CheckConstraint(condition=Q(importance__gte=0, importance__lte=1), name="longterm_importance_0_to_1"),
        ]
        indexes = [
            models.Index(fields=["container", "external_id"], condition=Q(external_id__isnull=False), name="longterm_by_external_id"),
            models.Index(fields=["id"], condition=Q(embedding_model=""), name="longterm_to_embed"),
        ]
        # The covering indexes that retention reads are made per database in migration 0002.


class HistoryAction(models.TextChoices):
    ADD = "ADD", "added"
    UPDATE = "UPDATE", "updated"
    DELETE = "DELETE", "deleted"


class HistoryEntry(Item):
    """One change of a long-term memory, kept after the memory has gone."""

    memory_uid = models.UUIDField(null=True)
    memory_ref = models.CharField(max_length=512, null=True)  # the source's id of the memory
    action = models.CharField(max_length=8, choices=HistoryAction, null=True)  # null: a failed inference, see `error`
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    error = models.TextField(null=True)
    actor = models.CharField(max_length=100, blank=True)
    tags = models.JSONField(default=dict)
    pinned = models.BooleanField(default=False)

    objects = HistoryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["uid", "subject"], name="history_uid_once"),
            models.CheckConstraint(condition=Q(action__isnull=True) | Q(action__in=HistoryAction.values), name="history_action_known"),
        ]
        indexes = [
            models.Index(fields=["memory_uid", "id"], name="history_by_memory"),
            models.Index(fields=["subject", "created_at", "id"], name="history_by_subject"),
            models.Index(fields=["container", "created_at", "id"], condition=Q(pinned=False, held=False), name="history_by_exposure"),
            models.Index(fields=["container", "external_id"], condition=Q(external_id__isnull=False), name="history_by_external_id"),
        ]
