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
    words = models.PositiveIntegerField(null=True)  # how many; null: they are not looked for inside longer texts
    words_ref = models.CharField(max_length=64, blank=True)  # digest of the words alone, without the signs between them
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
    """A row that still says what was wrong: just that, or among other words, with which somebody may find it to be right."""

    correction = models.ForeignKey(Correction, on_delete=models.CASCADE, related_name="left")
    location = models.CharField(max_length=50)
    row_uid = models.UUIDField()
    inside = models.BooleanField(default=False)  # among other words
    left_by = models.CharField(max_length=100, blank=True)  # who found that it is right as it stands

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["correction", "location", "row_uid"], name="erasure_wrong_left_once"),
            models.CheckConstraint(condition=Q(left_by="") | Q(inside=True), name="erasure_only_longer_texts_are_left"),
        ]

    def __str__(self) -> str:
        return f"{self.location}/{self.row_uid}"
