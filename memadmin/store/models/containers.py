import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memadmin.store.querysets import ContainerQuerySet


class PolicyState(models.TextChoices):
    NEVER_SET = "never_set", "never set"
    SET = "set", "set"
    OPTED_OUT = "opted_out", "opted out"


class Container(models.Model):
    """A memory container: one agent application's memories, with one retention policy."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    external_id = models.CharField(max_length=512, null=True, unique=True)
    name = models.CharField(max_length=512)
    description = models.TextField(blank=True)
    owner = models.JSONField(null=True)
    tenant = models.CharField(max_length=512, null=True)
    backend_roles = models.JSONField(default=list)
    configuration = models.JSONField(default=dict)  # opaque: what the wire format carries and we do not act on
    sessions_enabled = models.BooleanField(default=True)
    history_enabled = models.BooleanField(default=True)
    orphan_baseline_at = models.DateTimeField(null=True)  # when orphans were first looked for; it never moves
    summarise_from = models.PositiveSmallIntegerField(null=True)  # alike memories that become one summary instead of going; null: none do
    removes_unattributed = models.BooleanField(default=False)  # working memories that name no session, user or agent
    policy_state = models.CharField(max_length=16, choices=PolicyState, default=PolicyState.NEVER_SET)
    archive_days = models.PositiveIntegerField(null=True, default=30)  # null: evicted memories are deleted at once
    hard_limit_days = models.PositiveIntegerField(
        null=True
    )  # what is older is put before people to be erased, pins included; null: nothing is
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(null=True)
    last_updated_at = models.DateTimeField(null=True)
    stored_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)  # gone for the API; what was left in it stays for people to see
    held = models.BooleanField(default=False, db_default=False)  # for the users it gets from now on
    restricted = models.BooleanField(default=False, db_default=False)

    objects = ContainerQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="container_has_name"),
            models.CheckConstraint(condition=Q(policy_state__in=PolicyState.values), name="container_policy_state_known"),
            models.CheckConstraint(
                condition=Q(summarise_from__isnull=True) | Q(summarise_from__gte=2, summarise_from__lte=12),
                name="container_summarises_from_two",
            ),
            models.CheckConstraint(condition=Q(archive_days__isnull=True) | Q(archive_days__gte=1), name="container_archive_days_positive"),
            models.CheckConstraint(
                condition=Q(hard_limit_days__isnull=True) | Q(hard_limit_days__gte=1), name="container_hard_limit_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PolicyStatus(models.TextChoices):
    DRAFT = "draft", "draft"
    SCHEDULED = "scheduled", "scheduled"
    PUBLISHED = "published", "published"
    SUPERSEDED = "superseded", "superseded"
    DROPPED = "dropped", "dropped"


class PolicyVersion(models.Model):
    """One version of a container's policy: the canonical JSON of `retention.policy` and its digest.

    A draft may be edited, which `revision` counts; what was published or scheduled never changes again.
    """

    container = models.ForeignKey(Container, on_delete=models.PROTECT, related_name="policy_versions")
    number = models.PositiveIntegerField()
    document = models.TextField()
    digest = models.CharField(max_length=64)
    status = models.CharField(max_length=16, choices=PolicyStatus, default=PolicyStatus.DRAFT)
    note = models.TextField(blank=True)
    author = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    base = models.PositiveIntegerField(null=True)  # the version in force that it was made over; null: there was none
    revision = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=100, blank=True)  # who edited the draft last
    changed_at = models.DateTimeField(null=True)
    copied_from = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    publish_at = models.DateTimeField(null=True)  # while scheduled
    scheduled_by = models.CharField(max_length=100, blank=True)
    refused_at = models.DateTimeField(null=True)  # when its time had come and it could not be published
    refused_because = models.CharField(max_length=32, blank=True)  # a code
    published_by = models.CharField(max_length=100, blank=True)
    published_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["container", "number"], name="policy_number_once"),
            models.UniqueConstraint(fields=["container"], condition=Q(status="published"), name="policy_one_published"),
            models.UniqueConstraint(fields=["container"], condition=Q(status="scheduled"), name="policy_one_scheduled"),
            models.CheckConstraint(condition=Q(status__in=PolicyStatus.values), name="policy_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=["draft", "scheduled", "dropped"]) | Q(published_at__isnull=False), name="policy_published_has_time"
            ),
            models.CheckConstraint(
                condition=Q(status="scheduled", publish_at__isnull=False) | ~Q(status="scheduled") & Q(publish_at__isnull=True),
                name="policy_scheduled_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.container} v{self.number}"


class Setting(models.Model):
    """One run-time setting that somebody has changed; defaults and ranges stand in `settings_registry`."""

    key = models.CharField(max_length=200, primary_key=True)
    value = models.JSONField()
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=100)
