from django.db import models
from django.db.models import Q

from memadmin.store.models.containers import Container
from memadmin.store.models.subjects import Subject
from memadmin.store.querysets import PinQuerySet


class ItemType(models.TextChoices):
    """The four memory types, by their names in the field."""

    SESSION = "sessions", "session"
    WORKING = "working", "working memory"
    LONG_TERM = "long-term", "long-term memory"
    HISTORY = "history", "history entry"


class Provenance(models.Model):
    """A derived item came out of a source item. Kept when either of them has gone."""

    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    derived_type = models.CharField(max_length=16, choices=ItemType)
    derived_uid = models.UUIDField()
    source_type = models.CharField(max_length=16, choices=ItemType)
    source_uid = models.UUIDField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["derived_uid", "source_uid", "subject"], name="provenance_once"),
            models.CheckConstraint(
                condition=Q(source_type__in=ItemType.values, derived_type__in=ItemType.values), name="provenance_types_known"
            ),
        ]
        indexes = [models.Index(fields=["source_uid"], name="provenance_by_source")]


class Pin(models.Model):
    """Why a session or a long-term memory is exempt from eviction. `pinned` on the row is a copy of this."""

    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    target_type = models.CharField(max_length=16, choices=ItemType)
    target_uid = models.UUIDField()
    reason = models.TextField()
    actor = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    review_on = models.DateField(null=True)
    reviewed_at = models.DateTimeField(null=True)  # when somebody last looked at it again and kept it
    reviewed_by = models.CharField(max_length=100, blank=True, default="", db_default="")
    revision = models.PositiveIntegerField(default=1, db_default=1)

    objects = PinQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["target_uid", "subject"], name="pin_once"),
            models.CheckConstraint(condition=Q(target_type__in=[ItemType.SESSION, ItemType.LONG_TERM]), name="pin_target_type_pinnable"),
            models.CheckConstraint(condition=~Q(reason=""), name="pin_has_reason"),
        ]
