"""What was asked for, by which way, for whom, and how far it is. Words that people wrote are kept apart, in notes that can be purged."""

import uuid

from django.db import models
from django.db.models import Q

from memadmin.erasure.models.drills import Drill
from memadmin.erasure.querysets import RequestQuerySet
from memadmin.store.models import Container, ItemType


class Kind(models.TextChoices):
    SUBJECT = "erase_subject", "erase a person"
    SESSION = "erase_session", "erase one session"
    MESSAGE = "erase_message", "erase one message or event"
    MEMORY = "erase_memory", "erase one memory"
    TOPIC = "erase_topic", "erase a topic"
    STORAGE_LIMIT = "storage_limit", "erase what is past its container's hard limit"
    RECTIFY = "rectify", "correct what is wrong"
    RESTRICT = "restrict", "keep, but do not use"
    ACCESS = "access", "give access"

    @property
    def erases(self) -> bool:
        return self not in {Kind.RECTIFY, Kind.RESTRICT, Kind.ACCESS}

    @property
    def is_taken_in(self) -> bool:
        """Whether people or applications ask for it. What is past a hard limit is gathered by the clock alone."""
        return self is not Kind.STORAGE_LIMIT

    @property
    def is_about_people(self) -> bool:
        """Whether it takes users, ticked one by one, rather than single items."""
        return self in {Kind.SUBJECT, Kind.RECTIFY, Kind.RESTRICT, Kind.ACCESS}


class Ground(models.TextChoices):
    """Why it may be asked for: GDPR articles 15, 16, 17(1)(a) to (f) and 18(1)(a) to (d). `grounds` says which go with which kind."""

    ACCESS = "15", "to know what is stored about them"
    INACCURATE = "16_inaccurate", "what is stored is inaccurate"
    INCOMPLETE = "16_incomplete", "what is stored is incomplete"

    NOT_NEEDED = "17_1_a", "no longer needed for its purpose"
    CONSENT_WITHDRAWN = "17_1_b", "consent withdrawn"
    OBJECTION = "17_1_c", "objection to the processing"
    UNLAWFUL = "17_1_d", "processed unlawfully"
    LEGAL_DUTY = "17_1_e", "a legal duty to erase"
    CHILD = "17_1_f", "collected from a child"
    ACCURACY_CONTESTED = "18_1_a", "accuracy contested, while it is being checked"
    UNLAWFUL_BUT_KEPT = "18_1_b", "processed unlawfully, and to be restricted in place of erased"
    NEEDED_FOR_CLAIMS = "18_1_c", "no longer needed here, but needed by the person for legal claims"
    OBJECTION_PENDING = "18_1_d", "objection to the processing, while it is being weighed"
    STORAGE_LIMIT = "5_1_e", "kept longer than the container allows"
    OTHER = "other", "another right of the person"


class Profile(models.TextChoices):
    """Whose deadlines count."""

    GDPR = "gdpr", "GDPR"
    UK = "uk", "UK GDPR"
    CCPA = "ccpa", "CCPA"


class Channel(models.TextChoices):
    PAGE = "page", "on a page"
    API = "api", "over the API"
    COMMAND = "command", "by a command"
    NIGHTLY = "nightly", "gathered at night"
    DRILL = "drill", "by a drill"
    LEDGER = "ledger", "from the ledger, after a backup was put back"


class IdentityLevel(models.IntegerChoices):
    """How it is known that the request comes from the person. What was shown is not kept, only who saw it and when."""

    APPLICATION = 0, "the agent's application vouches for it"
    TOKEN = 1, "answered from the known e-mail or phone"
    SIGNED_IN = 2, "signed in anew for it"
    DOCUMENTS = 3, "documents seen"


class Status(models.TextChoices):
    RECEIVED = "received", "received"
    DISCOVERING = "discovering", "being looked for"
    REVIEW = "review", "in review"
    AWAITING_APPROVAL = "awaiting_approval", "waits for approval"
    APPROVED = "approved", "approved"
    EXECUTING = "executing", "being erased"
    STALLED = "stalled", "stalled"
    VERIFYING = "verifying", "being verified"
    RESIDUE_FOUND = "residue_found", "residue found"
    COMPLETED = "completed", "completed"
    CLOSED = "closed", "closed"
    REFUSED = "refused", "refused"
    CANCELLED = "cancelled", "cancelled"
    NOTHING_HELD = "nothing_held", "nothing held"


class ErasureRequest(models.Model):
    """One request from intake to its end: codes and times. Names of the person stand in `RequestSubject`, texts in `RequestNote`, what was
    corrected in `Correction`.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    number = models.BigIntegerField(unique=True)  # what people call it by
    kind = models.CharField(max_length=16, choices=Kind)
    ground = models.CharField(max_length=16, choices=Ground)
    profile = models.CharField(max_length=8, choices=Profile)
    channel = models.CharField(max_length=8, choices=Channel)
    state = models.CharField(max_length=20, choices=Status, default=Status.RECEIVED)
    state_since = models.DateTimeField()
    received_at = models.DateTimeField()
    target_on = models.DateField()  # our own goal
    due_on = models.DateField()  # the date that alarms count to: nothing is gained from a weekend
    rolled_on = models.DateField()  # the date in law, moved on from a weekend or holiday
    extended_at = models.DateTimeField(null=True)
    extension_code = models.CharField(max_length=64, blank=True)
    extension_noticed_on = models.DateField(null=True)  # when the person was told, with the reason
    identity_level = models.SmallIntegerField(choices=IdentityLevel, null=True)  # null: not verified
    identity_by = models.CharField(max_length=100, blank=True)
    identity_at = models.DateTimeField(null=True)
    paused_on = models.DateField(null=True)  # waiting for proof of identity since; null: the clock runs
    paused_days = models.PositiveIntegerField(default=0)
    opened_by = models.CharField(max_length=100)
    reviewed_by = models.CharField(max_length=100, blank=True)  # who froze the manifest
    manifest_number = models.PositiveIntegerField(null=True)  # the version that counts
    manifest_digest = models.CharField(max_length=64, blank=True)  # of the frozen one
    duplicate_of = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    follows = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")  # a new try at an ended one
    drill = models.OneToOneField(Drill, null=True, on_delete=models.PROTECT, related_name="request")  # null: it is a real one
    idempotency_key = models.CharField(max_length=64, null=True)  # a digest of what the sender gave
    attempt = models.PositiveIntegerField(default=0)
    execution_token = models.CharField(max_length=64, blank=True)  # a digest of the token of the execution, single use
    single_operator = models.BooleanField(default=False)
    freezes = models.BooleanField(default=False, db_default=False)  # whoever it is about is restricted until it ends
    outcome_code = models.CharField(max_length=64, blank=True)
    error_code = models.CharField(max_length=100, blank=True)
    completed_at = models.DateTimeField(null=True)
    told_on = models.DateField(null=True)  # when the person was told that the erasure is done
    told_by = models.CharField(max_length=100, blank=True, default="", db_default="")  # who noted it
    purged_at = models.DateTimeField(null=True)  # when names and notes went

    objects = RequestQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(number__gte=1), name="erasure_number_from_one"),
            *(
                models.CheckConstraint(condition=Q(**{f"{name}__in": choices.values}), name=f"erasure_{name}_known")
                for name, choices in (("kind", Kind), ("ground", Ground), ("profile", Profile), ("channel", Channel), ("state", Status))
            ),
            models.CheckConstraint(
                condition=Q(identity_level__isnull=True) | Q(identity_level__in=IdentityLevel.values), name="erasure_identity_known"
            ),
            models.CheckConstraint(
                condition=Q(extended_at__isnull=True) | Q(extension_noticed_on__isnull=False) & ~Q(extension_code=""),
                name="erasure_extension_has_notice",
            ),
            models.CheckConstraint(condition=~Q(state="refused") | ~Q(outcome_code=""), name="erasure_refused_with_code"),
            models.CheckConstraint(
                condition=Q(state__in=["received", "discovering", "review", "refused", "cancelled", "nothing_held"])
                | ~Q(manifest_digest="")
                | Q(kind__in=["rectify", "restrict", "access"]),
                name="erasure_frozen_from_approval_on",
            ),
            models.CheckConstraint(
                condition=~Q(profile="ccpa") | Q(paused_on__isnull=True, paused_days=0), name="erasure_ccpa_never_pauses"
            ),
            models.CheckConstraint(
                condition=Q(channel="drill", drill__isnull=False) | ~Q(channel="drill") & Q(drill__isnull=True),
                name="erasure_drill_says_so",
            ),
            models.UniqueConstraint(fields=["channel", "idempotency_key"], name="erasure_once_per_key"),
        ]
        indexes = [models.Index(fields=["state", "due_on", "id"], name="erasure_by_state")]

    def __str__(self) -> str:
        return f"request {self.number}"

    @property
    def target(self) -> str:
        """How the audit log, holds and suppressions name it."""
        return f"erasure/{self.uid}"


class Origin(models.TextChoices):
    GIVEN = "given", "named in the request"
    LOOK_ALIKE = "look_alike", "looks like the id that was named"
    PART = "part", "begins with the id that was named, and a sign that parts it"
    ALIAS = "alias", "another name to search for, which is no user"


class RequestSubject(models.Model):
    """One user that a request names, or that looks like one it names. Only those ticked in are meant. Raw ids go when the request ends."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="subjects")
    container = models.ForeignKey(Container, null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)  # null: in none
    subject_id = models.BigIntegerField(null=True)  # null: no container has such a user (any more)
    subject_uid = models.UUIDField(null=True)
    user_id = models.CharField(max_length=512, null=True)  # null once it is purged
    subject_ref = models.CharField(max_length=64, blank=True)  # keyed digest of container and raw id; "" once it is forgotten
    key_id = models.CharField(max_length=64)
    origin = models.CharField(max_length=16, choices=Origin)
    ticked = models.BooleanField(null=True)  # null: nobody has decided yet

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "subject_ref"], condition=~Q(subject_ref=""), name="erasure_subject_once"),
            models.CheckConstraint(condition=Q(origin__in=Origin.values), name="erasure_origin_known"),
        ]
        indexes = [models.Index(fields=["subject_ref"], name="erasure_subject_by_ref")]

    def __str__(self) -> str:
        return f"{self.request}: {self.subject_ref[:8]}"


class RequestItem(models.Model):
    """One session, message or memory that a request names: the list is fixed when it is opened, and never a query."""

    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="items")
    item_type = models.CharField(max_length=16, choices=ItemType)
    item_uid = models.UUIDField(null=True)  # null, and no digest, once it is forgotten
    item_ref = models.CharField(max_length=64, blank=True)
    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)
    subject_id = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "item_uid"], name="erasure_item_once"),
            models.CheckConstraint(condition=Q(item_type__in=ItemType.values), name="erasure_item_type_known"),
        ]
        indexes = [models.Index(fields=["item_uid"], name="erasure_item_by_uid")]

    def __str__(self) -> str:
        return f"{self.request}: {self.item_type}/{self.item_uid}"


class NoteKind(models.TextChoices):
    NOTE = "note", "note"
    LETTER = "letter", "letter to the person"
    REASON = "reason", "reason"


class RequestNote(models.Model):
    """What people wrote about a request. Kept apart, and purged when it is closed."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    request = models.ForeignKey(ErasureRequest, on_delete=models.CASCADE, related_name="notes")
    kind = models.CharField(max_length=8, choices=NoteKind, default=NoteKind.NOTE)
    text = models.TextField()
    author = models.CharField(max_length=100)
    written_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="erasure_note_says_something"),
            models.CheckConstraint(condition=Q(kind__in=NoteKind.values), name="erasure_note_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.request}: {self.kind}"
