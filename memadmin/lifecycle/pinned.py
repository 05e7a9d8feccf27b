"""All pins of some containers: which of them only a pin keeps, what they cost, and what happens when they are taken away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import connection
from django.db.models import BigIntegerField, BooleanField, CharField, Count, Exists, F, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Coalesce

from memadmin.lifecycle.cuts import NOBODY, aged_sql, exposed_rows
from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.second_person import Bounds, is_active
from memadmin.lifecycle.selection import expired_sql
from memadmin.store import hard_limits, policies
from memadmin.store.models import Container, ItemType, LongTermMemory, Pin, PolicyStatus, PolicyVersion, Session, Subject
from memadmin.store.querysets import PinQuerySet
from memadmin.store.scoring import micros_sql
from retention.rules import RetentionPolicy

SOON = timedelta(days=30)
NO_DAY = "9999-99-99"  # behind every day that a review can have
KINDS = {ItemType.SESSION.value: ItemKind.SESSION, ItemType.LONG_TERM.value: ItemKind.LONG_TERM}
Policies = Mapping[int, RetentionPolicy]  # in force, by container


class PinState(StrEnum):
    """What a list of pins can be narrowed to."""

    PAST_LIMIT = "past-limit"
    PAST_HARD_LIMIT = "past-hard-limit"
    UNREASONED = "unreasoned"
    DUE = "due"
    SOON = "soon"
    NO_REVIEW = "no-review"


class PinSort(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"
    REVIEW = "review"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class PinFilter:
    """Which pins a list has. `text` is looked for in the reasons; `actor` is who pinned."""

    state: PinState | None = None
    item_type: str = ""
    actor: str = ""
    text: str = ""
    subject: Subject | None = None

    @property
    def narrows(self) -> bool:
        return self != PinFilter()


def policies_of(containers: Iterable[Container]) -> dict[int, RetentionPolicy]:
    """Return the policy in force of each container that has one."""
    versions = PolicyVersion.objects.filter(container__in=[container.pk for container in containers], status=PolicyStatus.PUBLISHED)
    return {version.container_id: policy for version in versions if (policy := policies.readable(version)) is not None}


def matching(pins: PinQuerySet, wanted: PinFilter, in_force: Policies, *, now: datetime) -> PinQuerySet:
    """Return the pins that the filter lets through."""
    if wanted.item_type:
        pins = pins.filter(target_type=wanted.item_type)
    if wanted.actor:
        pins = pins.filter(actor=wanted.actor)
    if wanted.subject:
        pins = pins.filter(subject=wanted.subject)
    if wanted.text:
        pins = pins.filter(reason__icontains=wanted.text)
    return _in_state(pins, wanted.state, in_force, now=now)


def _in_state(pins: PinQuerySet, state: PinState | None, in_force: Policies, *, now: datetime) -> PinQuerySet:
    today = now.date()
    if state is PinState.PAST_LIMIT:
        return past_limit(pins, in_force, now=now)
    if state is PinState.PAST_HARD_LIMIT:
        return past_hard_limit(pins, now=now)
    if state is PinState.UNREASONED:
        return pins.unreasoned()
    if state is PinState.DUE:
        return pins.due(today)
    if state is PinState.SOON:
        return pins.due_between(today, today + SOON)
    if state is PinState.NO_REVIEW:
        return pins.filter(review_on__isnull=True)
    return pins


def past_limit(pins: PinQuerySet, in_force: Policies, *, now: datetime) -> PinQuerySet:
    """Return the pins of what a policy in force would evict for its age or its time to live, were it not pinned."""
    past = {item_type: limits for item_type, limits in _limits(in_force, now=now).items() if limits != NOBODY}
    if not past:
        return pins.none()
    # A question to each pin, not IN (SELECT … JOIN …): a join over two columns is taken for nearly empty, and read again for each pin.
    asked = " ".join(f"WHEN '{item_type}' THEN ({_of_pinned(item_type, limits)})" for item_type, limits in past.items())
    condition = f"COALESCE(CASE store_pin.target_type {asked} END, FALSE)"
    return pins.filter(RawSQL(condition, [], output_field=BooleanField()))


def past_hard_limit(pins: PinQuerySet, *, now: datetime) -> PinQuerySet:
    """Return the pins of what is past its container's hard limit, which a pin does not save it from."""
    past = Q()
    for container in Container.objects.filter(hard_limit_days__isnull=False):
        for item_type, rows in hard_limits.past_limit(container, now=now):
            if item_type in KINDS:
                pinned = rows.filter(pinned=True, subject=OuterRef("subject"), uid=OuterRef("target_uid"))
                past |= Q(Exists(pinned), container=container, target_type=item_type)
    return pins.filter(past) if past else pins.none()


def _of_pinned(item_type: str, what: str) -> str:
    """Return the SELECT of what is asked of the row that a pin is about, which the index of pinned rows answers."""
    table = SOURCES[KINDS[item_type]].table
    return f"SELECT {what} FROM {table} m WHERE m.subject_id = store_pin.subject_id AND m.uid = store_pin.target_uid AND m.pinned"


def _limits(in_force: Policies, *, now: datetime) -> dict[str, str]:
    """Return for each type the condition for what is past a limit of its container. It stands over `m` and the pin's container."""
    return {item_type: _limits_of(kind, in_force, now=now) for item_type, kind in KINDS.items()}


def _limits_of(kind: ItemKind, in_force: Policies, *, now: datetime) -> str:
    containers: dict[str, list[int]] = {}  # by condition: many containers have the same limits
    for number, policy in sorted(in_force.items()):
        containers.setdefault(_limit(kind, policy, now=now), []).append(number)
    containers.pop(NOBODY, None)
    parts = [f"store_pin.container_id IN ({', '.join(map(str, keys))}) AND ({limit})" for limit, keys in containers.items()]
    return " OR ".join(parts) or NOBODY


def _limit(kind: ItemKind, policy: RetentionPolicy, *, now: datetime) -> str:
    limits = [aged_sql(SOURCES[kind], policy.rule(kind.memory_type), now=now)]
    if kind is ItemKind.LONG_TERM:
        limits.append(expired_sql(policy.relevance, now=now))
    return " OR ".join(limit for limit in limits if limit != NOBODY) or NOBODY


def keyed(pins: PinQuerySet, sort: PinSort) -> QuerySet[Pin]:
    """Add `key`, to page by: a whole number, or for the day of review a text."""
    if sort is PinSort.REVIEW:
        return pins.annotate(key=Coalesce(Cast("review_on", CharField()), Value(NO_DAY)))
    if sort is PinSort.TOKENS:
        return pins.weighed().annotate(key=F("tokens"))
    return pins.annotate(key=RawSQL(micros_sql("store_pin.created_at"), [], output_field=BigIntegerField()))


@dataclass(frozen=True, slots=True)
class PinTotals:
    """Sums over all pins of a list, counted in the database."""

    pins: int
    memories: int
    sessions: int
    users: int
    tokens: int
    unreasoned: int
    due: int
    soon: int
    no_review: int
    past_limit: int
    past_hard_limit: int

    def of_state(self, state: PinState | None) -> int:
        """Return how many of the pins are in a state, None for all of them."""
        return self.pins if state is None else int(getattr(self, state.value.replace("-", "_")))


def totals_of(pins: PinQuerySet, in_force: Policies, *, now: datetime) -> PinTotals:
    today = now.date()
    memories = Q(target_type=ItemType.LONG_TERM)
    due, soon = Q(review_on__lte=today), Q(review_on__gt=today, review_on__lte=today + SOON)
    sums = pins.aggregate(
        pins=Count("id"),
        memories=Count("id", filter=memories),
        sessions=Count("id", filter=~memories),
        users=Count("subject", distinct=True),
        due=Count("id", filter=due),
        soon=Count("id", filter=soon),
        no_review=Count("id", filter=Q(review_on__isnull=True)),
    )
    tokens, past = _weight_and_past(pins, in_force, now=now) if sums["pins"] else (0, 0)
    past_hard = past_hard_limit(pins, now=now).count() if sums["pins"] else 0
    return PinTotals(**sums, tokens=tokens, past_limit=past, past_hard_limit=past_hard, unreasoned=pins.unreasoned().count())


def _weight_and_past(pins: PinQuerySet, in_force: Policies, *, now: datetime) -> tuple[int, int]:
    """Return what the pinned memories weigh together, and how many pins are of something past a limit.

    By a join: here all rows are read, and one by one that takes twice as long. An outer join, since its size is never underrated.
    """
    chosen, parameters = pins.order_by().values("container_id", "subject_id", "target_type", "target_uid").query.sql_with_params()
    tokens = past = 0
    for item_type, limits in _limits(in_force, now=now).items():
        weight = "SUM(m.tokens)" if item_type == ItemType.LONG_TERM else "0"
        join = "ON m.subject_id = store_pin.subject_id AND m.uid = store_pin.target_uid AND m.pinned"
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT COALESCE({weight}, 0), COUNT(CASE WHEN {limits} THEN 1 END) FROM ({chosen}) AS store_pin "
                f"LEFT JOIN {SOURCES[KINDS[item_type]].table} m {join} WHERE store_pin.target_type = '{item_type}'",
                parameters,
            )
            found = cursor.fetchone()
        tokens, past = tokens + int(found[0]), past + int(found[1])
    return tokens, past


def pinned_tokens(subject_ids: Iterable[int]) -> dict[int, int]:
    """Return what all pinned memories of each user weigh together."""
    rows = LongTermMemory.objects.filter(subject_id__in=list(subject_ids), pinned=True).values_list("subject_id")
    return {subject: int(tokens or 0) for subject, tokens in rows.annotate(weight=Sum("tokens"))}


def items_of(pins: Sequence[Pin]) -> dict[int, LongTermMemory | Session]:
    """Return what is pinned, by the pin's key, without texts. What has gone is left out."""
    found: dict[tuple[Any, int], LongTermMemory | Session] = {}
    uids = [pin.target_uid for pin in pins]
    for row in LongTermMemory.objects.with_uids(uids).defer("text", "parts", "metadata", "tags", "namespace", "embedding"):
        found[row.uid, row.subject_id] = row
    for row in Session.objects.with_uids(uids).defer("summary", "state", "metadata", "agents", "additional_info", "namespace"):
        found[row.uid, row.subject_id] = row
    return {pin.pk: found[pin.target_uid, pin.subject_id] for pin in pins if (pin.target_uid, pin.subject_id) in found}


@dataclass(frozen=True, slots=True)
class Freed:
    """What comes of taking pins away in one container: `go` are past an age or a time to live, `over` exceed the largest number."""

    container: Container
    memories: int = 0
    sessions: int = 0
    go: int = 0
    over: int = 0
    of_stored: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # by type: what would go of how many are stored

    @property
    def more(self) -> int:
        """At least so many more items would go at the next run."""
        return self.go + self.over

    @property
    def large(self) -> bool:
        """True when what would go besides makes a run large by itself."""
        return Bounds.now().exceeded(self.more, self.of_stored.values())

    @property
    def waits(self) -> bool:
        """True when that run will wait for a second person."""
        return self.large and is_active(self.container)


def freed_by_unpinning(pins: PinQuerySet, *, now: datetime) -> list[Freed]:
    """Return, container by container, what the next run would take besides if these pins were gone.

    A cap of the relevance rule takes no more for it: it counts pinned memories already, so others stay in the place of those unpinned.
    """
    counts = list(pins.values("container_id", "target_type").annotate(n=Count("id")).order_by("container_id", "target_type"))
    containers = Container.objects.in_bulk({row["container_id"] for row in counts})
    by_container: dict[int, dict[str, int]] = {key: {} for key in sorted(containers)}
    for row in counts:
        by_container[row["container_id"]][row["target_type"]] = row["n"]
    return [_freed(containers[key], numbers, pins, now=now) for key, numbers in by_container.items()]


def _freed(container: Container, numbers: Mapping[str, int], pins: PinQuerySet, *, now: datetime) -> Freed:
    policy = policies.current(container)
    memories, sessions = numbers.get(ItemType.LONG_TERM, 0), numbers.get(ItemType.SESSION, 0)
    if policy is None:
        return Freed(container, memories, sessions)
    going = past_limit(pins.filter(container=container), {container.pk: policy}, now=now)
    aged: dict[str, int] = dict(going.values_list("target_type").annotate(n=Count("id")))
    over = {name: _over_number(container, policy, name, numbers.get(name, 0), aged.get(name, 0)) for name in KINDS}
    stored = {name: (aged.get(name, 0) + over[name], _stored(container, KINDS[name])) for name in KINDS}
    return Freed(container, memories, sessions, go=sum(aged.values()), over=sum(over.values()), of_stored=stored)


def _over_number(container: Container, policy: RetentionPolicy, item_type: str, unpinned: int, aged: int) -> int:
    """Return how many more of a type exceed its largest number, besides those that their age takes."""
    kind = KINDS[item_type]
    limit = policy.rule(kind.memory_type).count_limit
    if limit is None or not unpinned:
        return 0
    exposed = exposed_rows(container, SOURCES[kind])
    more = max(0, exposed + unpinned - limit) - max(0, exposed - limit)
    return max(0, more - aged)


def _stored(container: Container, kind: ItemKind) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COALESCE(SUM({SOURCES[kind].stored}), 0) FROM store_subject WHERE container_id = {container.pk}")
        return int(cursor.fetchone()[0])


def review_day(pin: Pin, *, today: date) -> str:
    """Return whether a pin's review is "overdue", "due" today, "soon", "later", or "none"."""
    if pin.review_on is None:
        return "none"
    if pin.review_on <= today:
        return "due" if pin.review_on == today else "overdue"
    return "soon" if pin.review_on <= today + SOON else "later"
