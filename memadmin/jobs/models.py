"""Work that must survive a killed process: jobs, the times of their schedules, and the workers' sign of life."""

import uuid

from django.db import models
from django.db.models import F, Q

from memadmin.jobs.querysets import JobQuerySet


class JobState(models.TextChoices):
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


LIVE = [JobState.QUEUED.value, JobState.RUNNING.value]


class Job(models.Model):
    """A unit of work. While it runs, a lease says which process may write on it; an expired lease is free to take.

    `target` and `error_code` name things (`runs/12`, `ValueError`) and never quote a person's data.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=100)
    target = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=16, choices=JobState, default=JobState.QUEUED)
    ready_at = models.DateTimeField(null=True)  # not before this time; null: at once
    lease_until = models.DateTimeField(null=True)
    leased_by = models.CharField(max_length=200, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)  # starts since a stretch of work last ended well
    max_attempts = models.PositiveSmallIntegerField(default=5)
    cursor = models.JSONField(null=True)  # where the next step begins; only the handler knows what it means
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(null=True)
    error_code = models.CharField(max_length=100, blank=True)  # class name of the last failure
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    requested_by = models.CharField(max_length=100)

    objects = JobQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "target"], condition=Q(state__in=LIVE), name="job_one_live_per_target"),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_known"),
            models.CheckConstraint(
                condition=Q(state="running", lease_until__isnull=False) & ~Q(leased_by="")
                | ~Q(state="running") & Q(lease_until__isnull=True, leased_by=""),
                name="job_leased_while_running",
            ),
            models.CheckConstraint(
                condition=Q(state__in=LIVE, finished_at__isnull=True) | ~Q(state__in=LIVE) & Q(finished_at__isnull=False),
                name="job_finished_has_time",
            ),
            models.CheckConstraint(condition=Q(attempts__lte=F("max_attempts")), name="job_attempts_bounded"),
        ]
        indexes = [
            models.Index(fields=["state", "finished_at"], name="job_state_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()

    @property
    def is_live(self) -> bool:
        return self.state in LIVE


class Heartbeat(models.Model):
    """When something last showed that it lives. The row `worker` is what the watchdog reads."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()


class Schedule(models.Model):
    """When a kind of job is started by the clock. Cron times are UTC. With `interval_hours` it starts so often, whatever its times say."""

    kind = models.CharField(max_length=100, primary_key=True)
    cron = models.CharField(max_length=100)
    interval_hours = models.PositiveSmallIntegerField(null=True)
    enabled = models.BooleanField(default=True)
    next_run_at = models.DateTimeField()
    last_run_at = models.DateTimeField(null=True)
    last_job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")

    def __str__(self) -> str:
        return f"{self.kind} {self.cron}"
