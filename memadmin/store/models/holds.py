import uuid

from django.db import models
from django.db.models import Q

from memadmin.store.models.containers import Container
from memadmin.store.models.subjects import Subject


class HoldKind(models.TextChoices):
    HOLD = "hold", "must not be destroyed"
    RESTRICTION = "restriction", "kept, but not used"


class HoldScope(models.TextChoices):
    """What a hold binds, named as targets are named in the audit log."""

    CONTAINER = "containers", "a container and everybody in it"
    SUBJECT = "subjects", "a user and everything about them"
    SESSION = "sessions", "a session and its messages"
    MEMORY = "long-term", "a long-term memory and its history"


class Authority(models.TextChoices):
    """On whose word it is kept. The reason in words stands beside it."""

    LEGAL_CLAIM = "legal_claim", "establishment, exercise or defence of legal claims"
    LEGAL_OBLIGATION = "legal_obligation", "a legal duty to keep it"
    COURT_ORDER = "court_order", "an order of a court or an authority"
    INVESTIGATION = "investigation", "an investigation that is under way"
    ACCURACY_CONTESTED = "accuracy_contested", "the person says that it is wrong, and this is being checked"
    UNLAWFUL_BUT_KEPT = "unlawful_but_kept", "the person asked for restriction in place of erasure"
    OBJECTION_PENDING = "objection_pending", "the person objected, and this is being weighed"
    REQUEST_PENDING = "request_pending", "a request of the person is being looked at"
    RESTRICTION_ASKED = "restriction_asked", "the person asked that it is not used"


class Hold(models.Model):
    """Why something must not be destroyed, or not be used. `held` and `restricted` on rows are copies of this.

    The row stays when the hold is released: who kept what, and on whose word, is asked for later.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=16, choices=HoldKind)
    scope = models.CharField(max_length=16, choices=HoldScope)
    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    subject = models.ForeignKey(Subject, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    target_uid = models.UUIDField()
    authority = models.CharField(max_length=32, choices=Authority)
    reason = models.TextField()
    request_ref = models.CharField(max_length=100, blank=True, default="")  # the request that brought it, as the audit log names it
    placed_by = models.CharField(max_length=100)
    placed_at = models.DateTimeField()
    review_on = models.DateField()
    notice_sent_on = models.DateField(null=True)  # a person is told before a restriction is lifted: GDPR 18(3)
    notice_by = models.CharField(max_length=100, blank=True)
    released_by = models.CharField(max_length=100, blank=True)
    released_at = models.DateTimeField(null=True)
    release_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["target_uid", "kind", "authority"], condition=Q(released_at__isnull=True), name="hold_stands_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=HoldKind.values), name="hold_kind_known"),
            models.CheckConstraint(condition=Q(scope__in=HoldScope.values), name="hold_scope_known"),
            models.CheckConstraint(condition=Q(authority__in=Authority.values), name="hold_authority_known"),
            models.CheckConstraint(condition=~Q(reason=""), name="hold_has_reason"),
            models.CheckConstraint(
                condition=Q(released_at__isnull=True) | (~Q(released_by="") & ~Q(release_reason="")), name="hold_released_with_reason"
            ),
            models.CheckConstraint(
                condition=Q(released_at__isnull=True) | ~Q(kind="restriction") | Q(notice_sent_on__isnull=False),
                name="hold_restriction_lifted_after_notice",
            ),
        ]
        indexes = [
            models.Index(fields=["target_uid"], condition=Q(released_at__isnull=True), name="hold_by_target"),
            models.Index(fields=["container", "scope"], condition=Q(released_at__isnull=True), name="hold_by_container"),
            models.Index(fields=["review_on"], condition=Q(released_at__isnull=True), name="hold_by_review"),
        ]

    def __str__(self) -> str:
        return f"holds/{self.uid}"
