"""What was found for a request, version by version: every thing by name, what will be done with it, and what every place answered."""

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.requests import ErasureRequest
from memadmin.store.locations import Act, ItemClass
from memadmin.store.models import ItemType


class Manifest(models.Model):
    """One discovery. `digest` covers every line of it (see `manifests.digest_of`); a later discovery is a new version."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="manifests")
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, blank=True)  # "": still being made
    cutoff_at = models.DateTimeField()  # what was stored by then is what it is about
    completed_at = models.DateTimeField(null=True)
    frozen_at = models.DateTimeField(null=True)
    items_total = models.BigIntegerField(default=0)
    undecided = models.BigIntegerField(default=0)  # lines of class C and D that wait for the reviewer
    limits = models.JSONField(default=list)  # codes of what could not be looked for
    root = models.CharField(max_length=64, blank=True)  # over the names of all things in it, from when they go
    pinned = models.BigIntegerField(default=0)  # for information: a pin does not stop an erasure
    follows = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="+")  # the one whose execution left something

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "number"], name="manifest_number_once"),
            models.CheckConstraint(condition=Q(completed_at__isnull=True) | ~Q(digest=""), name="manifest_complete_has_digest"),
        ]

    def __str__(self) -> str:
        return f"{self.request} manifest {self.number}"


class Answer(models.TextChoices):
    """What a place said. There is no “skipped”."""

    FOUND = "found", "found"
    ABSENT = "absent", "nothing there"
    CLEARED = "cleared", "goes with what it copies"
    UNREACHABLE = "unreachable", "could not be asked"
    FAILED = "failed", "failed"


class LocationAnswer(models.Model):
    """How one place answered one discovery."""

    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="answers")
    location = models.CharField(max_length=64)
    answer = models.CharField(max_length=16, choices=Answer)
    error_code = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["manifest", "location"], name="answer_once_per_location"),
            models.CheckConstraint(condition=Q(answer__in=Answer.values), name="answer_known"),
        ]

    def __str__(self) -> str:
        return f"{self.manifest}: {self.location} {self.answer}"


class Line(models.Model):
    """The counts of a manifest, by place, class and act: what pages show without reading the items."""

    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="lines")
    location = models.CharField(max_length=64)
    item_class = models.CharField(max_length=1, choices=ItemClass)
    act = models.CharField(max_length=16, choices=Act)
    items = models.BigIntegerField()
    size = models.BigIntegerField()
    oldest_at = models.DateTimeField(null=True)
    newest_at = models.DateTimeField(null=True)
    sample = models.JSONField(default=list)  # names of at most five of them, no text

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["manifest", "location", "item_class", "act"], name="line_once"),
            models.CheckConstraint(condition=Q(items__gte=0, size__gte=0), name="line_counts_not_negative"),
            models.CheckConstraint(condition=Q(item_class__in=ItemClass.values, act__in=Act.values), name="line_words_known"),
        ]

    def __str__(self) -> str:
        return f"{self.manifest}: {self.location} {self.item_class} {self.act}"


class Decision(models.TextChoices):
    NONE = "", "as planned"
    WAITING = "waiting", "waits for the reviewer"
    MADE = "made", "decided"


class ManifestItem(models.Model):
    """One thing that was found, and what will be done with it."""

    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="items", db_index=False)
    location = models.CharField(max_length=64)
    row_key = models.CharField(max_length=100)  # inside the database, as JSON
    row_uid = models.UUIDField()
    item_ref = models.CharField(max_length=64)  # keyed digest of row_uid: what outlives the row and a restore
    subject_id = models.BigIntegerField(null=True)  # whose it is; of class C and D somebody else's
    item_class = models.CharField(max_length=1, choices=ItemClass)
    act = models.CharField(max_length=16, choices=Act)
    reason_code = models.CharField(max_length=64, blank=True)
    review_on = models.DateField(null=True)
    decision = models.CharField(max_length=8, choices=Decision, default=Decision.NONE, blank=True)
    decided_by = models.CharField(max_length=100, blank=True)
    survivors = models.IntegerField(null=True)  # of class C: how many of its sources stay
    size = models.BigIntegerField(default=0)
    dated_at = models.DateTimeField(null=True)
    matched = models.CharField(max_length=16, blank=True, default="", db_default="")  # of class D: see `mentions.Match`
    matched_at = models.CharField(max_length=40, blank=True, default="", db_default="")
    bulk = models.PositiveIntegerField(null=True)  # the number of the decision about many that decided it
    planned = models.CharField(max_length=90, blank=True, default="", db_default="")  # the act and reason before that, parted by a blank

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["manifest", "location", "row_uid"], name="manifest_item_once"),
            models.CheckConstraint(condition=Q(item_class__in=ItemClass.values, act__in=Act.values), name="manifest_item_words_known"),
            models.CheckConstraint(condition=~Q(act="withhold") | ~Q(reason_code=""), name="manifest_item_withheld_with_reason"),
            models.CheckConstraint(condition=Q(decision__in=Decision.values), name="manifest_item_decision_known"),
        ]
        indexes = [
            models.Index(fields=["manifest", "location", "id"], name="manifest_item_in_order"),
            models.Index(fields=["manifest", "row_uid"], name="manifest_item_by_uid"),
            models.Index(fields=["manifest", "id"], condition=~Q(decision=""), name="manifest_item_to_decide"),
            models.Index(fields=["manifest", "location", "id"], condition=~Q(act="delete"), name="manifest_item_not_deleted"),
        ]

    def __str__(self) -> str:
        return f"{self.manifest}: {self.location}/{self.row_uid}"


class BulkDecision(models.Model):
    """One decision about many items that waited, so that it can be undone as a whole."""

    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="bulk_decisions")
    number = models.PositiveIntegerField()  # in its manifest
    act = models.CharField(max_length=16, choices=Act, blank=True)  # "": each as planned
    reason_code = models.CharField(max_length=64, blank=True)
    items = models.BigIntegerField()
    made_by = models.CharField(max_length=100)
    made_at = models.DateTimeField()
    undone_by = models.CharField(max_length=100, blank=True)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["manifest", "number"], name="bulk_decision_number_once"),
            models.CheckConstraint(condition=Q(act__in=["", *Act.values]), name="bulk_decision_act_known"),
        ]

    def __str__(self) -> str:
        return f"{self.manifest} decision {self.number}"


class ScopeItem(models.Model):
    """What the closure of single items has reached: those that were named, what hangs on them, and what was derived from them."""

    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="scope_items", db_index=False)
    item_type = models.CharField(max_length=16, choices=ItemType)
    item_uid = models.UUIDField()
    item_class = models.CharField(max_length=1, choices=ItemClass)
    depth = models.PositiveIntegerField()  # derivations from what was named
    survivors = models.IntegerField(null=True)
    expanded = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["manifest", "item_uid"], name="scope_item_once")]
        indexes = [models.Index(fields=["manifest", "expanded", "id"], name="scope_item_to_expand")]

    def __str__(self) -> str:
        return f"{self.manifest}: {self.item_type}/{self.item_uid}"
