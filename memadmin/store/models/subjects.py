import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memadmin.store.models.containers import Container
from memadmin.store.querysets import SubjectQuerySet

COUNTERS = ("sessions", "pinned_sessions", "working", "messages", "long_term", "pinned_long_term", "tokens", "history", "archived")


class Subject(models.Model):
    """One user of one container, or (user_id null) the memories of the container that name no user.

    The counters move in the transaction that moves the rows. `tokens` adds up the long-term memories;
    `messages` the messages inside the working memories.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    container = models.ForeignKey(Container, on_delete=models.PROTECT, related_name="subjects", db_index=False)
    user_id = models.CharField(max_length=512, null=True)
    canonical_id = models.CharField(max_length=2048, blank=True)
    epoch = models.BigIntegerField(default=1, db_default=1)  # moves when the person is fenced: what was read before is not written after
    suppressed = models.CharField(max_length=16, blank=True, default="", db_default="")  # the mode of a suppression of this id, or ""
    held = models.BooleanField(default=False, db_default=False)
    restricted = models.BooleanField(default=False, db_default=False)
    has_holds = models.BooleanField(default=False, db_default=False)  # on this user, the container, or anything of this user
    stored_at = models.DateTimeField(db_default=Now())
    sessions = models.BigIntegerField(default=0)
    pinned_sessions = models.BigIntegerField(default=0)
    working = models.BigIntegerField(default=0)
    messages = models.BigIntegerField(default=0)
    long_term = models.BigIntegerField(default=0)
    pinned_long_term = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)
    history = models.BigIntegerField(default=0)
    archived = models.BigIntegerField(default=0)

    objects = SubjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["container", "user_id"], name="subject_once_per_container"),
            models.UniqueConstraint(fields=["container"], condition=Q(user_id__isnull=True), name="subject_one_unattributed"),
            *(models.CheckConstraint(condition=Q(**{f"{name}__gte": 0}), name=f"subject_{name}_not_negative") for name in COUNTERS),
        ]
        indexes = [
            models.Index(fields=["container", "canonical_id"], name="subject_by_canonical"),
            models.Index(fields=["container", "long_term"], name="subject_by_long_term"),
            models.Index(fields=["container", "tokens"], name="subject_by_tokens"),
            models.Index(fields=["suppressed"], condition=~Q(suppressed=""), name="subject_by_suppression"),
        ]

    def __str__(self) -> str:
        return str(self.uid)
