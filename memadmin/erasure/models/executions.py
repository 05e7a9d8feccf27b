"""What an execution has done, place by place. Counts move in the transaction of the rows."""

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.requests import ErasureRequest

COUNTS = ("erased", "redacted", "rederived", "absent", "withheld")


class PlaceOutcome(models.Model):
    """`absent` had gone before it was its turn; `withheld` is kept for a legal reason, or came under a hold meanwhile."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="outcomes")
    location = models.CharField(max_length=64)
    erased = models.BigIntegerField(default=0)
    redacted = models.BigIntegerField(default=0)
    rederived = models.BigIntegerField(default=0)
    absent = models.BigIntegerField(default=0)
    withheld = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "location"], name="outcome_once_per_location"),
            *(models.CheckConstraint(condition=Q(**{f"{name}__gte": 0}), name=f"outcome_{name}_not_negative") for name in COUNTS),
        ]

    def __str__(self) -> str:
        return f"{self.request}: {self.location}"
