"""Do the rows agree with each other? What no constraint of the database can hold is verified here, and repaired on request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Exists, F, Model, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import counters, fencing, held_copies
from memadmin.store.models import (
    Archived,
    Container,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    PolicyState,
    PolicyStatus,
    PolicyVersion,
    Session,
    Subject,
    WorkingMemory,
)
from memadmin.store.models.subjects import COUNTERS

PAGE = 1_000  # subjects compared at a time: constant memory at any size


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement: what kind, which row (by uid or number), and the two values."""

    kind: str
    target: str
    stored: int
    found: int


def check(*, repair: bool = False) -> Iterator[Finding]:
    """Yield every disagreement. With `repair` counters and pin flags are set right, from the rows, as they are found."""
    yield from _check_pins(repair=repair)
    yield from _check_holds(repair=repair)
    yield from _check_counters(repair=repair)
    yield from _check_homes()
    yield from _check_policies()


@transaction.atomic
def repair(*, actor: str, now: datetime) -> list[Finding]:
    """Set right what `check` can, write down how many disagreements there were of each kind, and return them all."""
    findings = list(check(repair=True))
    if findings:
        log.append(Action.STORE_REPAIRED, actor=actor, target="store/check", at=now, counts=Counter(each.kind for each in findings))
    return findings


def recount(subject_ids: list[int]) -> dict[int, dict[str, int]]:
    """Return the counters of subjects as their rows say."""
    counts: dict[int, dict[str, int]] = {key: dict.fromkeys(COUNTERS, 0) for key in subject_ids}
    for row in _per_subject(Session, subject_ids, sessions=Count("id"), pinned_sessions=Count("id", filter=Q(pinned=True))):
        counts[row.pop("subject_id")].update(row)
    for row in _per_subject(WorkingMemory, subject_ids, working=Count("id"), messages=_sum("message_count")):
        counts[row.pop("subject_id")].update(row)
    for row in _per_subject(
        LongTermMemory, subject_ids, long_term=Count("id"), tokens_held=_sum("tokens"), pinned_long_term=Count("id", filter=Q(pinned=True))
    ):
        key, row["tokens"] = row.pop("subject_id"), row.pop("tokens_held")
        counts[key].update(row)
    for row in _per_subject(HistoryEntry, subject_ids, history=Count("id")):
        counts[row.pop("subject_id")].update(row)
    for row in _per_subject(Archived, subject_ids, archived=Count("id")):
        counts[row.pop("subject_id")].update(row)
    return counts


def _sum(column: str) -> Coalesce:
    return Coalesce(Sum(column), Value(0))


def _per_subject(model: type[Model], subject_ids: list[int], **aggregates: Any) -> QuerySet[Any, dict[str, Any]]:
    return model._default_manager.filter(subject_id__in=subject_ids).values("subject_id").annotate(**aggregates).order_by("subject_id")


def _check_counters(*, repair: bool) -> Iterator[Finding]:
    last = 0
    while page := list(Subject.objects.filter(id__gt=last).order_by("id").values_list("id", flat=True)[:PAGE]):
        yield from _check_counters_of(page, repair=repair)
        last = page[-1]


@transaction.atomic
def _check_counters_of(subject_ids: list[int], *, repair: bool) -> list[Finding]:
    counters.lock(subject_ids)  # nobody moves a row or a counter between the two looks
    counted = recount(subject_ids)
    findings = []
    for subject in Subject.objects.filter(id__in=subject_ids).order_by("id"):
        wrong = {name: value for name, value in counted[subject.pk].items() if getattr(subject, name) != value}
        findings += [Finding(f"counter.{name}", f"users/{subject.uid}", getattr(subject, name), value) for name, value in wrong.items()]
        if wrong and repair:
            Subject.objects.filter(pk=subject.pk).update(**wrong)
    return findings


def _check_pins(*, repair: bool) -> Iterator[Finding]:
    """A flag without a pin, or a pin without a flag. The pin, which has the reason, is what counts."""
    for model, item_type in ((Session, ItemType.SESSION), (LongTermMemory, ItemType.LONG_TERM)):
        has_pin = Exists(Pin.objects.filter(target_uid=OuterRef("uid"), subject_id=OuterRef("subject_id")))
        for row in model.objects.annotate(has_pin=has_pin).exclude(pinned=F("has_pin")).order_by("id").iterator():
            yield Finding("pin.flag", f"{item_type}/{row.uid}", int(row.pinned), int(row.has_pin))
            if repair:
                with transaction.atomic():
                    counters.lock([row.subject_id])
                    model.objects.filter(pk=row.pk).update(pinned=row.has_pin)
        owned = Exists(model.objects.filter(uid=OuterRef("target_uid"), subject_id=OuterRef("subject_id")))
        for pin in Pin.objects.filter(~owned, target_type=item_type).order_by("id").iterator():
            yield Finding("pin.without_item", f"{item_type}/{pin.target_uid}", 1, 0)
            if repair:
                Pin.objects.filter(pk=pin.pk)._raw_delete(connection.alias)


def _check_holds(*, repair: bool) -> Iterator[Finding]:
    """A row whose copy of the holds is not what they say, and the triggers that refuse rows of the fenced."""
    for row, subject_id in list(held_copies.differing()):
        yield Finding("hold.copy", row, 0, 1)
        if repair:
            with transaction.atomic():
                counters.lock([subject_id])
                subject = Subject.objects.filter(pk=subject_id).first()
                if subject is not None:
                    held_copies.copy_holds(container_id=subject.container_id, subject_id=subject_id)
    for name in fencing.missing(connection):
        yield Finding("fence.missing", f"triggers/{name}", 0, 1)


def _check_homes() -> Iterator[Finding]:
    """An item whose subject is missing, or belongs to another container."""
    home = Subject.objects.filter(id=OuterRef("subject_id"), container_id=OuterRef("container_id"))
    for model in (Session, WorkingMemory, LongTermMemory, HistoryEntry, Archived):
        for row in model._default_manager.filter(~Exists(home)).order_by("id").iterator():
            yield Finding("item.without_subject", f"{model._meta.model_name}/{row.uid}", row.subject_id, 0)


def _check_policies() -> Iterator[Finding]:
    """A container is `set` exactly when one version is published."""
    in_force = Exists(PolicyVersion.objects.filter(container=OuterRef("pk"), status=PolicyStatus.PUBLISHED))
    for container in Container.objects.annotate(in_force=in_force).order_by("id"):
        is_set = container.policy_state == PolicyState.SET
        if is_set != container.in_force:
            yield Finding("policy.state", f"containers/{container.uid}", int(is_set), int(container.in_force))
