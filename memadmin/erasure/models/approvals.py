from django.db import models
from django.db.models import Q

from memadmin.erasure.models.requests import ErasureRequest


class Approval(models.Model):
    """One person's word that one digest may be erased. It holds for that digest, for a time, once."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="approvals")
    approver = models.CharField(max_length=100)
    manifest_digest = models.CharField(max_length=64)
    approved_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    method = models.CharField(max_length=32)  # how they proved that it was them
    single_operator = models.BooleanField(default=False)
    voided_at = models.DateTimeField(null=True)
    void_code = models.CharField(max_length=64, blank=True)
    used_at = models.DateTimeField(null=True)  # when an execution claimed it

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["request"], condition=Q(voided_at__isnull=True, used_at__isnull=True), name="approval_one_standing"
            ),
            models.CheckConstraint(condition=Q(voided_at__isnull=True) | ~Q(void_code=""), name="approval_void_with_code"),
            models.CheckConstraint(condition=Q(voided_at__isnull=True) | Q(used_at__isnull=True), name="approval_used_or_void"),
            models.CheckConstraint(  # a word of a made-up actor is never taken for a person's
                condition=Q(approver__startswith="system/drill.", method="drill")
                | ~Q(approver__startswith="system/drill.") & ~Q(method="drill"),
                name="approval_of_drill_says_so",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.request}: {self.approver}"
