"""What was corrected for a request, by keyed digests of the words that were wrong, and where these words still stand."""

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.requests import ErasureRequest
from memadmin.store.models import ItemType


class Correction(models.Model):
    """One text that was corrected. `before_ref` knows the wrong words again, and says nothing of them."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="corrections")
    item_type = models.CharField(max_length=16, choices=ItemType)
    item_uid = models.UUIDField()
    before_ref = models.CharField(max_length=64)
    key_id = models.CharField(max_length=64)
    is_short = models.BooleanField()  # too few words to be known again in anything but the item itself and its copies
    corrected_at = models.DateTimeField()
    checked_at = models.DateTimeField(null=True)  # when it was last looked for these words everywhere

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "item_uid", "before_ref"], name="erasure_correction_once"),
            models.CheckConstraint(condition=Q(item_type__in=ItemType.values), name="erasure_correction_type_known"),
        ]

    def __str__(self) -> str:
        return f"{self.request}: {self.item_type}/{self.item_uid}"


class WrongLeft(models.Model):
    """A row that still says what was wrong."""

    correction = models.ForeignKey(Correction, on_delete=models.CASCADE, related_name="left")
    location = models.CharField(max_length=50)
    row_uid = models.UUIDField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["correction", "location", "row_uid"], name="erasure_wrong_left_once")]

    def __str__(self) -> str:
        return f"{self.location}/{self.row_uid}"
