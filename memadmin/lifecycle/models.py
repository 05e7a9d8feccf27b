"""Retention runs. A preview is a run that nobody has started yet: carrying it out evicts what it named, and nothing else."""

import uuid
from datetime import datetime

from django.db import models
from django.db.models import F, Q

from memadmin.lifecycle.housekeeping import NO_POLICY_DIGEST
from memadmin.lifecycle.querysets import RunQuerySet, VictimQuerySet
from memadmin.lifecycle.totals import Totals
from memadmin.store.models import Container, PolicyVersion, Subject
from retention.rules import MemoryType
from retention.victims import Reason


class Trigger(models.TextChoices):
    PREVIEW = "preview", "preview"
    MANUAL = "manual", "run now"
    NIGHTLY = "nightly", "nightly"
    COMMAND = "command", "command"


class RunState(models.TextChoices):
    PLANNING = "planning", "being planned"
    READY = "ready", "preview"
    WAITING = "waiting", "waiting for a second person"
    QUEUED = "queued", "waiting for a worker"
    RUNNING = "running", "running"
    FINISHED = "finished", "finished"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "called off"
    REFUSED = "refused", "refused by a second person"
    DISCARDED = "discarded", "dropped"


class ItemKind(models.IntegerChoices):
    """The memory types by a small number, in the order in which a run takes them."""

    SESSION = 1, "session"
    LONG_TERM = 2, "long-term memory"
    HISTORY = 3, "history entry"
    WORKING = 4, "working memory"

    @property
    def memory_type(self) -> MemoryType:
        return list(MemoryType)[self.value - 1]


class Run(models.Model):
    """One run over one container, from preview to end. `number` is what people call it by; it never comes back."""

    number = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    container = models.ForeignKey(Container, on_delete=models.PROTECT, related_name="runs", db_index=False)
    trigger = models.CharField(max_length=16, choices=Trigger)
    state = models.CharField(max_length=16, choices=RunState, default=RunState.PLANNING)
    policy_version = models.ForeignKey(PolicyVersion, null=True, on_delete=models.PROTECT, related_name="+")  # null: a policy not published
    document = models.TextField()  # the canonical policy that was judged by
    policy_digest = models.CharField(max_length=64)
    as_of = models.DateTimeField()  # the moment for which ages and scores were computed
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    actor = models.CharField(max_length=100)  # who had it planned
    started_by = models.CharField(max_length=100, blank=True)
    high_water = models.JSONField(default=dict)  # the highest row number of each type when it was planned
    totals = models.JSONField(default=dict)  # see `summary`
    housekeeping = models.JSONField(default=dict)  # what it went by for working memories that no session carries away
    planned = models.BigIntegerField(default=0)  # victims, numbered 1 to planned
    cursor = models.BigIntegerField(default=0)  # how many of them have been dealt with: the sum over its ranges
    removed = models.BigIntegerField(default=0)
    kept = models.BigIntegerField(default=0)
    outcome = models.JSONField(
        default=dict
    )  # what has really gone, by type; what was added since the preview; what is left of a dropped list
    restored = models.BigIntegerField(default=0)
    error_code = models.CharField(max_length=100, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["container"], condition=Q(state__in=["queued", "running"]), name="run_one_live_per_container"),
            models.UniqueConstraint(fields=["container"], condition=Q(state="waiting"), name="run_one_waiting_per_container"),
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_known"),
            models.CheckConstraint(condition=Q(trigger__in=Trigger.values), name="run_trigger_known"),
            models.CheckConstraint(condition=Q(cursor__gte=0, cursor__lte=F("planned")), name="run_cursor_within_plan"),
            models.CheckConstraint(condition=Q(cursor=F("removed") + F("kept")), name="run_accounts_for_each_victim"),
        ]
        indexes = [models.Index(fields=["container", "-number"], name="run_by_container")]

    def __str__(self) -> str:
        return f"run {self.number}"

    @property
    def summary(self) -> Totals:
        """What the run was going to evict."""
        return Totals.from_json(self.totals)

    @property
    def list_dropped_at(self) -> datetime | None:
        """When the list of victims was dropped; None: it is there."""
        at = self.outcome.get("list_dropped_at")
        return datetime.fromisoformat(at) if at else None

    @property
    def is_without_policy(self) -> bool:
        """Whether nothing but the time to live of working memories judged: no policy was in force, and none was tried."""
        return self.policy_version_id is None and self.policy_digest == NO_POLICY_DIGEST

    @property
    def is_live(self) -> bool:
        return self.state in {RunState.QUEUED, RunState.RUNNING}


class Verdict(models.TextChoices):
    ASKED = "asked", "asked for"
    APPROVED = "approved", "approved"
    REFUSED = "refused", "refused"
    VOID = "void", "void"  # the run was called off, replaced or left waiting too long


class Approval(models.Model):
    """What a second person was asked about one run, and what they said. `digest` names the very list of victims."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="approval")
    verdict = models.CharField(max_length=16, choices=Verdict, default=Verdict.ASKED)
    items = models.BigIntegerField()
    digest = models.CharField(max_length=64)
    asked_by = models.CharField(max_length=100)
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()  # of the question, then of the approval
    decided_by = models.CharField(max_length=100, blank=True)
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)  # of a refusal

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(verdict__in=Verdict.values), name="approval_verdict_known"),
            models.CheckConstraint(
                condition=~Q(verdict__in=["approved", "refused"]) | ~Q(decided_by="") & Q(decided_at__isnull=False),
                name="approval_decided_by_somebody",
            ),
            models.CheckConstraint(condition=~Q(verdict="refused") | ~Q(reason=""), name="approval_refused_with_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.run}: {self.verdict}"


class RunVictim(models.Model):
    """One item that a run names. It holds no text; the item's own row or archive copy does.

    `revision` and `last_accessed_at` are as they were when it was chosen: an item that differs by then is kept.
    """

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, related_name="victims", db_constraint=False, db_index=False)
    seq = models.IntegerField()
    item_kind = models.SmallIntegerField(choices=ItemKind)
    item_id = models.BigIntegerField()
    item_uid = models.UUIDField()
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    reasons = models.SmallIntegerField()  # a set of `Reason.bit`
    score = models.IntegerField(null=True)  # millionths; null where no relevance rule judged it
    tokens = models.IntegerField()
    revision = models.IntegerField()
    last_accessed_at = models.DateTimeField(null=True)
    dated_at = models.DateTimeField(null=True)  # the time that its first reason counts from

    objects = VictimQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["subject"], name="victim_by_subject")
        ]  # a user's few rows: not by run, so that equal keys share room

    @property
    def all_reasons(self) -> tuple[Reason, ...]:
        return Reason.from_bits(self.reasons)

    @property
    def reason(self) -> Reason:
        """The first that holds is *the* reason."""
        return self.all_reasons[0]


class RunRange(models.Model):
    """A stretch of a run's victims, all of one type, that one worker at a time works off from its beginning.

    Who holds the lock on the row has the range: the lock goes with the worker, however it ends.
    """

    pk = models.CompositePrimaryKey("run_id", "first")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, related_name="ranges", db_constraint=False, db_index=False)
    first = models.IntegerField()
    last = models.IntegerField()
    cursor = models.IntegerField()  # the last victim that has been dealt with; `first` - 1 before any has
    item_kind = models.SmallIntegerField(choices=ItemKind)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(last__gte=F("first")), name="run_range_not_empty"),
            models.CheckConstraint(condition=Q(cursor__gte=F("first") - 1, cursor__lte=F("last")), name="run_range_cursor_within"),
        ]


class ClusterState(models.TextChoices):
    PLANNED = "planned", "to be summarised"
    WRITTEN = "written", "summarised"
    KEPT = "kept", "kept: no summary could be made"
    DISSOLVED = "dissolved", "no cluster any more"  # too few were as they had been; the others went one by one


class RunCluster(models.Model):
    """Victims of one user that are alike, side by side in the run's list, and become one summary instead of going one by one.

    They lie outside of the run's ranges. A cluster changes its state once, together with what becomes of its victims.
    """

    pk = models.CompositePrimaryKey("run_id", "number")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, related_name="clusters", db_constraint=False, db_index=False)
    number = models.IntegerField()
    first = models.IntegerField()  # victims, by their `seq`
    last = models.IntegerField()
    room = models.IntegerField()  # the last one of further victims behind them, which go only if the summary takes their place
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    most_tokens = models.IntegerField()  # a longer summary would not fit into the user's caps
    state = models.CharField(max_length=16, choices=ClusterState, default=ClusterState.PLANNED)
    why = models.CharField(max_length=32, blank=True)  # no summary could be made
    summary_uid = models.UUIDField(null=True)
    summary_tokens = models.IntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(last__gt=F("first"), room__gte=F("last")), name="run_cluster_of_two_or_more"),
            models.CheckConstraint(condition=Q(state__in=ClusterState.values), name="run_cluster_state_known"),
            models.CheckConstraint(condition=~Q(state="written") | Q(summary_uid__isnull=False), name="run_cluster_names_its_summary"),
        ]

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class Kept(models.TextChoices):
    """Why a victim was kept after all."""

    PINNED = "pinned", "pinned since"
    HELD = "held", "held since"
    READ = "read", "recalled since"
    CHANGED = "changed", "changed since"
    SESSION = "session", "its session is there"
    GONE = "gone", "gone already"
    UNSUMMARISED = "unsummarised", "no summary could be made"


class RunKept(models.Model):
    """A victim that the run passed over. Every other one up to the cursor of its range was evicted."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, related_name="exceptions", db_constraint=False, db_index=False)
    seq = models.IntegerField()
    why = models.CharField(max_length=16, choices=Kept)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(why__in=Kept.values), name="run_kept_why_known")]
