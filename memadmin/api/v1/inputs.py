"""What requests may say. Fields that nobody knows are refused, so that a slip of the pen is not taken for an answer."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, NoReturn

from rest_framework import serializers

from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome, Stream
from memadmin.outbound import addresses
from memadmin.store.hard_limits import LONGEST
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.models import HistoryAction
from memadmin.transfer.decoding import LONGEST_TEXT
from memadmin.transfer.times import EARLIEST_YEAR
from memadmin.webhooks.models import Event

MOST_LISTED = 100
LATEST_YEAR = 9998  # a zone could carry a later one over the end of the calendar


class Text(serializers.CharField):
    """A text exactly as written, blanks at its ends too."""

    def __init__(self, *, longest: int, **options: Any) -> None:
        super().__init__(max_length=longest, trim_whitespace=False, **options)


class Id(Text):
    def __init__(self, **options: Any) -> None:
        super().__init__(longest=MAX_ID_LENGTH, **options)


class Choice(serializers.ChoiceField):
    """One of a few words. A refusal names them."""

    MOST_NAMED = 20

    def fail(self, key: str, **details: Any) -> NoReturn:
        names = [str(name) for name in self.choices]
        if key == "invalid_choice" and len(names) <= self.MOST_NAMED:
            raise serializers.ValidationError(f"“{str(details['input'])[:60]}” is not one of: {', '.join(names)}.", key)
        super().fail(key, **details)


class Number(serializers.FloatField):
    """JSON's true is no 1."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)


class Whole(serializers.IntegerField):
    """A number of JSON: no text, no true, no 1.5."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class Time(serializers.DateTimeField):
    def to_internal_value(self, value: Any) -> datetime:
        time: datetime = super().to_internal_value(value)
        if not EARLIEST_YEAR <= time.year <= LATEST_YEAR:
            raise serializers.ValidationError(f"A time lies between the years {EARLIEST_YEAR} and {LATEST_YEAR}.")
        return time.astimezone(UTC)


class ShortList(serializers.ListField):
    """A list whose length is looked at before what it holds: a hundred thousand items would make as many complaints."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and len(data) > (self.max_length or 0):
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


class Input(serializers.Serializer[Any]):
    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            raise serializers.ValidationError({name[:100]: ["There is no such field."] for name in unknown[:10]})
        return super().to_internal_value(data)


class NewMemory(Input):
    """A long-term memory. `id`: the writer's own id of it. Without a user it belongs to nobody in particular."""

    text = Text(longest=LONGEST_TEXT)
    user_id = Id(required=False, allow_null=True, allow_blank=True)
    id = Id(required=False)
    tags = serializers.DictField(required=False)
    metadata = serializers.DictField(required=False)
    namespace = serializers.DictField(required=False)
    importance = Number(required=False, min_value=0, max_value=1)
    strategy_id = Id(required=False)
    strategy_type = Text(longest=64, required=False)
    fact_key = Id(required=False)
    author = Id(required=False)
    created_at = Time(required=False)


class MemoryChange(Input):
    """`revision` is that of the version which the change was made from."""

    revision = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    text = Text(longest=LONGEST_TEXT, required=False)
    tags = serializers.DictField(required=False)


def coming(review_on: date | None, *, now: datetime) -> date | None:
    """Return a day of review, if there is one, or raise ValidationError: nobody would be reminded on a day that is over."""
    if review_on is not None and review_on < now.date():
        raise serializers.ValidationError({"review_on": ["This day is over."]})
    return review_on


class NewPin(Input):
    reason = serializers.CharField(max_length=2_000)
    review_on = serializers.DateField(required=False, allow_null=True)


class PinSeen(Input):
    """A pin by the uid of what it pins, as it was read."""

    uid = serializers.UUIDField()
    revision = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class PinReview(Input):
    """`review_on`: when to look again, for `keep`; without it no day is set."""

    action = Choice(["keep", "unpin"])
    pins = ShortList(child=PinSeen(), min_length=1, max_length=MOST_LISTED)
    reason = serializers.CharField(max_length=1_000)
    review_on = serializers.DateField(required=False, allow_null=True)


class NewHistory(Input):
    """An entry in the history of a long-term memory, which need not be there any more."""

    memory_uid = serializers.UUIDField()
    action = Choice(HistoryAction.choices)
    user_id = Id(required=False, allow_null=True, allow_blank=True)
    before = serializers.DictField(required=False, allow_null=True)
    after = serializers.DictField(required=False, allow_null=True)
    created_at = Time(required=False)


class Question(Input):
    """`query`: what is asked; without one the best memories by score come.

    `session_id`, `invocation_id`: during what the agent asks; a memory counts once in an invocation, however often it comes back.
    """

    user_id = Id(allow_null=True, allow_blank=True)
    query = Text(longest=10_000, required=False, allow_blank=True)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=50, default=10)
    session_id = Id(required=False)
    invocation_id = Id(required=False)


class PolicyToTry(Input):
    """A policy that need not be saved: `{"retention": {type: {retention_days, max_count}}, "relevance": {…}}`. Without: that in force."""

    policy = serializers.DictField(required=False, allow_null=True)
    limit = serializers.IntegerField(required=False, min_value=0, max_value=MOST_LISTED, default=10)


class NewRun(Input):
    policy = serializers.DictField(required=False, allow_null=True)


class HardLimit(Input):
    """`days`: nothing is to be kept for longer; null: there is no hard limit."""

    days = Whole(min_value=1, max_value=LONGEST, allow_null=True)


class NewDraft(Input):
    policy = serializers.DictField()
    note = Text(longest=1_000, required=False, allow_blank=True, default="")


class DraftChange(Input):
    """`revision` is that of the draft which the change was made from."""

    revision = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    policy = serializers.DictField()
    note = Text(longest=1_000, required=False, allow_blank=True)


class BaseSeen(Input):
    """`base`: the number of the version in force that was seen; null: none was."""

    base = serializers.IntegerField(min_value=1, max_value=2**31 - 1, allow_null=True)


class Publication(BaseSeen):
    digest = serializers.RegexField(r"\A[0-9a-f]{64}\Z")
    publish_at = Time(required=False, allow_null=True)


class CopyTo(Input):
    containers = ShortList(child=Id(), min_length=1, max_length=1_000)


class Approval(Input):
    """`digest`: of the list of victims that was seen."""

    digest = serializers.RegexField(r"\A[0-9a-f]{64}\Z")


class Refusal(Input):
    reason = serializers.CharField(max_length=2_000)


class RestoreSeveral(Input):
    """Either `uids`, or a `user_id` (null: what is nobody's in particular); `since` narrows to what was evicted then or later."""

    uids = ShortList(child=serializers.UUIDField(), required=False, min_length=1, max_length=MOST_LISTED)
    user_id = Id(required=False, allow_null=True, allow_blank=True)
    since = Time(required=False)
    force = serializers.BooleanField(required=False, default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("uids" in attrs) == ("user_id" in attrs):
            raise serializers.ValidationError("Name either uids or a user_id.")
        if "uids" in attrs and "since" in attrs:
            raise serializers.ValidationError({"since": ["It narrows the archive of a user, not named items."]})
        return attrs


class NewWebhook(Input):
    """`containers`: of which to tell; without them, of all that there are and will be."""

    url = Text(longest=addresses.LONGEST)
    events = ShortList(child=Choice(Event.choices), min_length=1, max_length=len(Event.choices))
    containers = ShortList(child=Id(), required=False, min_length=1, max_length=1_000)


class WebhookChange(Input):
    """`enabled` false pauses a subscription; true lets it go on where it stopped."""

    enabled = serializers.BooleanField()


class Forced(Input):
    """`force`: also where the next run would evict again what comes back."""

    force = serializers.BooleanField(required=False, default=False)


class Nothing(Input):
    """No body is needed."""


class ListQuery(serializers.Serializer[Any]):
    cursor = serializers.CharField(required=False, max_length=2_000)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_LISTED, default=20)


class AuditFilters(serializers.Serializer[Any]):
    """`since` and `until` are instants: entries of `since` and later, and before `until`."""

    stream = Choice(Stream.choices, required=False, default=Stream.GOVERNANCE)
    action = serializers.ListField(child=Choice(Action.choices), required=False, max_length=50)
    outcome = Choice(Outcome.choices, required=False)
    actor = Text(longest=100, required=False)
    target = Text(longest=250, required=False)
    request_id = Text(longest=64, required=False)
    since = Time(required=False)
    until = Time(required=False)


class AuditQuery(AuditFilters, ListQuery):
    pass


class AuditExportQuery(AuditFilters):
    form = Choice(["ndjson", "csv"], required=False, default="ndjson")


class TwoVersions(serializers.Serializer[Any]):
    old = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    new = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class UserQuery(ListQuery):
    user_id = Id(required=False, allow_blank=True)


class PinQuery(ListQuery):
    state = Choice(["past-limit", "unreasoned", "due", "soon", "no-review"], required=False)
    type = Choice(["sessions", "long-term"], required=False)


class MemoryQuery(ListQuery):
    """`user_id`: whose memories; without it those that belong to nobody in particular."""

    user_id = Id(required=False, allow_blank=True)
    text = Text(longest=1_000, required=False)
    sort = Choice(["score", "created", "accessed", "tokens", "hits"], required=False, default="score")
    state = Choice(["pinned", "exposed", "expired", "unread", "undated"], required=False)
    strategy = Text(longest=64, required=False)


class DeleteQuery(serializers.Serializer[Any]):
    """A pinned memory is only deleted with `force` and a reason."""

    force = serializers.BooleanField(required=False, default=False)
    reason = serializers.CharField(required=False, max_length=2_000)


class ExportQuery(serializers.Serializer[Any]):
    user_id = Id(required=False, allow_blank=True)
