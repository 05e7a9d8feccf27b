"""What an erasure withholds: what a hold binds, and what hangs on that. The condition stands inside the statements that delete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Value, When

from memadmin.store.models import (
    Archived,
    Feedback,
    HistoryEntry,
    Hold,
    HoldKind,
    HoldScope,
    LongTermMemory,
    Pin,
    Provenance,
    RecallEvent,
    Session,
    Subject,
    WorkingMemory,
)

# By table: the column with the name of what a hold on something else than the user or container may be on.
NAMED_BY: dict[type[models.Model], str] = {
    Session: "uid",
    WorkingMemory: "session__uid",
    LongTermMemory: "uid",
    HistoryEntry: "memory_uid",
    Archived: "uid",
}
# Tables whose rows hang on items and have no copy of the hold: the columns that name the items.
HANGING: dict[type[models.Model], tuple[str, ...]] = {
    Pin: ("target_uid",),
    RecallEvent: ("memory_uid",),
    Feedback: ("memory_uid", "session_uid", "matched_uid"),
    Provenance: (),
}


def must_stay(model: type[models.Model]) -> Q:
    """Return the condition that a hold (not a restriction) binds a row, or what it hangs on: what an erasure withholds.

    A link stays where both of its ends do: else it would name what is erased.
    """
    if model is Provenance:
        return _is_kept("derived_uid", (LongTermMemory, Session)) & _is_kept("source_uid", (Session, WorkingMemory, LongTermMemory))
    if model in HANGING:
        return _is_bound(HANGING[model])
    return Q(held=True) & _is_bound([NAMED_BY[model]])  # the copy first: few rows are held, and only of these it has to be asked why


def with_stays(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Add `stays` to rows of any table: whether an erasure withholds them. A standing hold itself is why something else stays."""
    if rows.model is Hold:
        return rows.annotate(stays=Case(When(released_at=None, kind=HoldKind.HOLD, then=True), default=False))
    if rows.model not in NAMED_BY and (rows.model not in HANGING or not standing().exists()):
        return rows.annotate(stays=Value(False))
    return rows.annotate(stays=Case(When(must_stay(rows.model), then=True), default=False))


def standing() -> QuerySet[Hold]:
    """Return the holds, without restrictions, that have not been released."""
    return Hold.objects.filter(kind=HoldKind.HOLD, released_at__isnull=True)


def may_bind(subject_ids: Iterable[int]) -> bool:
    """Whether a hold stands that may bind something of these users."""
    users = list(subject_ids)
    containers = Subject.objects.filter(pk__in=users).values("container")
    return standing().filter(Q(subject_id__in=users) | Q(scope=HoldScope.CONTAINER, container__in=containers)).exists()


def _is_bound(names: Iterable[str]) -> Q:
    # By the user's key and not by their uid: a row whose user has gone from the database has to be found, and a join would leave it out.
    bound = Q(scope=HoldScope.SUBJECT, subject_id=OuterRef("subject_id")) | Q(
        scope=HoldScope.CONTAINER, container_id=OuterRef("container_id")
    )
    for name in names:
        bound |= Q(target_uid=OuterRef(name))
    return Q(Exists(standing().filter(bound)))


def _is_kept(name: str, among: Iterable[type[models.Model]]) -> Q:
    kept = Q()
    for model in among:
        kept |= Q(Exists(model._default_manager.filter(must_stay(model), uid=OuterRef(name))))
    return kept
