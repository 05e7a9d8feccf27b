"""What answers look like. The dictionaries themselves are made in `rendering`; these describe them for the schema."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

Json = serializers.DictField  # any JSON object


class NullableUuid(serializers.UUIDField):
    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)


class Moment(serializers.DateTimeField):
    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)


class ProblemItem(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()
    attr = serializers.CharField(allow_null=True)


PROBLEM_TYPES = [("validation_error", "validation_error"), ("client_error", "client_error"), ("server_error", "server_error")]


class Problem(serializers.Serializer[Any]):
    type = serializers.ChoiceField(PROBLEM_TYPES)
    errors = ProblemItem(many=True)  # type: ignore[assignment]


class ConflictProblem(Problem):
    """A conflict. Where two versions of one thing contradict each other, both are here."""

    yours = serializers.JSONField(required=False)
    current = serializers.JSONField(required=False)


class Term(serializers.Serializer[Any]):
    name = serializers.CharField()
    raw = serializers.FloatField()
    weight = serializers.FloatField()
    points = serializers.FloatField()


class Explanation(serializers.Serializer[Any]):
    """Why the memory is kept or goes. `reasons`: what the policy in force would evict it for now; none: it stays."""

    score = serializers.FloatField()
    terms = Term(many=True)
    basis = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField())
    falls_below_at = Moment()


class Memory(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    id = serializers.CharField()
    container = serializers.CharField()
    user_id = serializers.CharField(allow_null=True)
    owner = serializers.CharField(allow_null=True)
    text = serializers.CharField()
    tags = serializers.JSONField()
    metadata = serializers.JSONField()
    namespace = serializers.JSONField()
    strategy_id = serializers.CharField(allow_null=True)
    strategy_type = serializers.CharField(allow_null=True)
    fact_key = serializers.CharField(allow_null=True)
    importance = serializers.FloatField()
    tokens = serializers.IntegerField()
    hits = serializers.IntegerField()
    created_at = Moment()
    last_updated_at = Moment()
    last_accessed_at = Moment()
    pinned = serializers.BooleanField()
    held = serializers.BooleanField()
    revision = serializers.IntegerField()


class PinShape(serializers.Serializer[Any]):
    reason = serializers.CharField()
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    review_on = serializers.DateField(allow_null=True)


class SourceShape(serializers.Serializer[Any]):
    type = serializers.CharField()
    uid = serializers.UUIDField()


class MemoryDetail(Memory):
    """`sources`: the messages, sessions and memories that it was made of, also those that have gone since."""

    explanation = Explanation()
    pin = PinShape(allow_null=True)
    sources = SourceShape(many=True)


class SetAside(serializers.Serializer[Any]):
    """Something of what was erased has come again, and waits for a person to let it in. `status`: set_aside."""

    uid = serializers.UUIDField()
    status = serializers.CharField()


class ListedMemory(Memory):
    explanation = Explanation()


class RecalledMemory(Memory):
    """`words`: how many different words of the question it holds. `score`: as before this recall."""

    words = serializers.IntegerField()
    score = serializers.FloatField()


class Recall(serializers.Serializer[Any]):
    items = RecalledMemory(many=True)


class History(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    user_id = serializers.CharField(allow_null=True)
    memory_uid = NullableUuid()
    action = serializers.CharField(allow_null=True)
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    created_at = Moment()
    actor = serializers.CharField()


class AuditEntryShape(serializers.Serializer[Any]):
    stream = serializers.CharField()
    seq = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    action = serializers.CharField()
    outcome = serializers.CharField()
    target = serializers.CharField()
    request_id = serializers.CharField()
    reason_code = serializers.CharField()
    counts = Json()
    payload_digest = serializers.CharField()
    row_hash = serializers.CharField()


class ContainerShape(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    policy_state = serializers.CharField()
    policy_version = serializers.IntegerField(allow_null=True)
    sessions_enabled = serializers.BooleanField()
    history_enabled = serializers.BooleanField()
    archive_days = serializers.IntegerField(allow_null=True)
    summarise_from = serializers.IntegerField(allow_null=True)
    hard_limit_days = serializers.IntegerField(allow_null=True)
    created_at = Moment()
    revision = serializers.IntegerField()


class UserShape(serializers.Serializer[Any]):
    """A user with the live counters."""

    uid = serializers.UUIDField()
    user_id = serializers.CharField()
    sessions = serializers.IntegerField()
    working = serializers.IntegerField()
    messages = serializers.IntegerField()
    long_term = serializers.IntegerField()
    pinned_long_term = serializers.IntegerField()
    tokens = serializers.IntegerField()
    history = serializers.IntegerField()
    archived = serializers.IntegerField()


class TypeTotals(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    tokens = serializers.IntegerField()
    by_reason = serializers.DictField(child=serializers.IntegerField())
    working = serializers.IntegerField()
    messages = serializers.IntegerField()
    left_for_later = serializers.IntegerField()
    exempt_past_limit = serializers.IntegerField()
    stored = serializers.IntegerField()
    pinned = serializers.IntegerField()


class Totals(serializers.Serializer[Any]):
    by_type = serializers.DictField(child=TypeTotals())
    users = serializers.IntegerField()


class Victim(serializers.Serializer[Any]):
    """`kept`: why a run has passed it over; null where it has not, or not yet."""

    type = serializers.CharField()
    uid = serializers.UUIDField()
    user_uid = serializers.UUIDField()
    reason = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField())
    score = serializers.FloatField(allow_null=True)
    tokens = serializers.IntegerField()
    dated_at = Moment()
    kept = serializers.CharField(allow_null=True)


class Warned(serializers.Serializer[Any]):
    code = serializers.CharField()
    text = serializers.CharField()
    loud = serializers.BooleanField()


class Preview(serializers.Serializer[Any]):
    totals = Totals()
    warnings = Warned(many=True)
    items = Victim(many=True)


class PolicyVersionShape(serializers.Serializer[Any]):
    """`status`: draft, scheduled, published, superseded or dropped. `base`: the version in force that it was made over."""

    number = serializers.IntegerField()
    status = serializers.CharField()
    policy = serializers.JSONField()
    digest = serializers.CharField()
    note = serializers.CharField()
    base = serializers.IntegerField(allow_null=True)
    revision = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    changed_at = Moment()
    publish_at = Moment()
    refused_at = Moment()
    refused_because = serializers.CharField()
    published_at = Moment()


class ChangeShape(serializers.Serializer[Any]):
    """`effect`: more or less goes by it, or other items do. null: no limit, or no relevance rule."""

    field = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    effect = serializers.CharField()
    sentence = serializers.CharField()


class DifferencesShape(serializers.Serializer[Any]):
    old = serializers.IntegerField(allow_null=True)
    new = serializers.IntegerField()
    changes = ChangeShape(many=True)


class CopiedShape(serializers.Serializer[Any]):
    items = PolicyVersionShape(many=True)


class ApprovalShape(serializers.Serializer[Any]):
    """What a second person was asked about a run. `verdict`: asked, approved, refused or void; `digest` names the list of victims."""

    verdict = serializers.CharField()
    items = serializers.IntegerField()
    digest = serializers.CharField()
    asked_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_at = Moment()
    reason = serializers.CharField()


class RunShape(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    uid = serializers.UUIDField()
    container = serializers.CharField()
    state = serializers.CharField()
    trigger = serializers.CharField()
    policy_version = serializers.IntegerField(allow_null=True)
    as_of = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    started_at = Moment()
    finished_at = Moment()
    planned = serializers.IntegerField()
    removed = serializers.IntegerField()
    kept = serializers.IntegerField()
    restored = serializers.IntegerField()
    error_code = serializers.CharField()
    totals = Totals()
    approval = ApprovalShape(allow_null=True)


class RegisteredPin(serializers.Serializer[Any]):
    """`uid` is that of what is pinned; `present` false: it has gone. `past`: the limits that only the pin keeps it from."""

    uid = serializers.UUIDField()
    type = serializers.CharField()
    user_id = serializers.CharField(allow_null=True)
    user_uid = serializers.UUIDField()
    reason = serializers.CharField()
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    review_on = serializers.DateField(allow_null=True)
    reviewed_at = Moment()
    reviewed_by = serializers.CharField()
    revision = serializers.IntegerField()
    tokens = serializers.IntegerField()
    present = serializers.BooleanField()
    past = serializers.ListField(child=serializers.CharField())


class PinsReviewed(serializers.Serializer[Any]):
    """`changed`: left as they are, because they are not as they were read."""

    done = serializers.ListField(child=serializers.UUIDField())
    changed = serializers.ListField(child=serializers.UUIDField())


class ArchivedShape(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    type = serializers.CharField()
    user_uid = serializers.UUIDField()
    reason = serializers.CharField()
    run_number = serializers.IntegerField(allow_null=True)
    archived_at = serializers.DateTimeField()
    expires_at = Moment()


class RestoredShape(serializers.Serializer[Any]):
    """`refused`: its erasure was asked for or has been carried out, and it is not put back."""

    items = serializers.IntegerField()
    already_there = serializers.IntegerField()
    refused = serializers.IntegerField()


class RestoredSeveral(RestoredShape):
    """`queued`: a worker puts them back. `would_go_again`: at least so many the next run evicts, these or others in their place."""

    queued = serializers.BooleanField()
    coming = serializers.IntegerField()
    past_limits = serializers.IntegerField()
    would_go_again = serializers.IntegerField()
    expired = serializers.IntegerField()


class WebhookShape(serializers.Serializer[Any]):
    """`containers` null: all."""

    uid = serializers.UUIDField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    containers = serializers.ListField(child=serializers.CharField(), allow_null=True)
    enabled = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class NewWebhookShape(WebhookShape):
    """`secret` signs what is sent, and is shown this once; null where a repeated request is answered."""

    secret = serializers.CharField(allow_null=True)


class DeliveryShape(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    event = serializers.CharField()
    state = serializers.CharField()
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True)
    error_code = serializers.CharField()
    created_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField()
    ended_at = Moment()


def page_of(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Return the shape of one page of a list: `next` is the cursor of the page behind it, null on the last one."""
    name = item.__name__.removesuffix("Shape")
    fields = {"items": item(many=True), "next": serializers.CharField(allow_null=True)}
    return type(f"{name}Page", (serializers.Serializer,), fields)
