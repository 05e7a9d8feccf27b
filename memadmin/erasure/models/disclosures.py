"""Of whom a recipient was given data, and by which id it knows them. That id is sealed, and ends with the notice of their erasure."""

import uuid

from django.db import models
from django.db.models import F, Q

from memadmin.erasure.models.recipients import Recipient
from memadmin.store.models import Container


class Disclosure(models.Model):
    """One recipient has data of one user of one container: since when, until when, and by which id of its own it knows them.

    The user has no foreign key: the row must not keep alive whom an erasure removes before it is read for the last time, by the notice.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    recipient = models.ForeignKey(Recipient, on_delete=models.PROTECT, related_name="disclosures", db_index=False)
    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    subject_id = models.BigIntegerField(db_index=True)
    own_id = models.BinaryField(null=True)  # sealed; null: they know the user by the id of the agents, as far as anybody has said
    own_ref = models.CharField(max_length=64, blank=True)  # keyed digest of it, to know it again
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["recipient", "subject_id", "own_ref"], name="disclosure_once"),
            models.CheckConstraint(
                condition=Q(own_id__isnull=True, own_ref="") | Q(own_id__isnull=False) & ~Q(own_ref=""), name="disclosure_own_id_has_ref"
            ),
            models.CheckConstraint(condition=Q(first_at__lte=F("last_at")), name="disclosure_first_before_last"),
        ]

    def __str__(self) -> str:
        return f"disclosures/{self.uid}"
