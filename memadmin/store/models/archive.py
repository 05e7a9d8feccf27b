from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memadmin.store.models.containers import Container
from memadmin.store.models.links import ItemType
from memadmin.store.models.subjects import Subject
from memadmin.store.querysets import ArchivedQuerySet


class Archived(models.Model):
    """A compressed copy of an evicted memory, or of a session with its messages. Never on the read path."""

    uid = models.UUIDField()  # of the item itself: a restored item is the same item
    container = models.ForeignKey(Container, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    item_type = models.CharField(max_length=16, choices=ItemType)
    owner = models.CharField(max_length=512, null=True)  # who wrote the item, so that its writer is known while only the copy is left
    payload = models.BinaryField()  # JSON, mostly under zlib, see `store.archive`
    reason = models.CharField(max_length=32)
    run_number = models.BigIntegerField(null=True)
    archived_at = models.DateTimeField(db_default=Now())
    content_at = models.DateTimeField(null=True)  # when what it copies last changed; null: copied before this was noted
    expires_at = models.DateTimeField(null=True)  # the last moment at which it can be restored; null: kept
    held = models.BooleanField(default=False, db_default=False)  # neither expires nor is dropped
    restricted = models.BooleanField(default=False, db_default=False)

    objects = ArchivedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["uid", "subject"], name="archived_uid_once"),
            models.CheckConstraint(condition=Q(item_type__in=[ItemType.SESSION, ItemType.LONG_TERM]), name="archived_type_known"),
        ]
        indexes = [
            models.Index(fields=["subject", "archived_at", "id"], name="archived_by_subject"),
            models.Index(fields=["run_number", "id"], name="archived_by_run"),
            models.Index(fields=["expires_at"], name="archived_by_expiry"),
        ]
