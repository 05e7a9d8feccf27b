"""What binds those whom a request is about right now: holds, restrictions, its own freeze, and what keeps them from coming back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Case, Count, Max, Min, Q, Value, When

from memadmin.erasure.models import ErasureRequest, Kind
from memadmin.store.models import Authority, Hold, HoldKind, HoldScope, Mode, SuppressedKind, Suppression

NOUNS = {
    HoldScope.CONTAINER: ("their whole container", "their whole containers"),
    HoldScope.SUBJECT: ("the user", "users"),
    HoldScope.SESSION: ("a session", "sessions"),
    HoldScope.MEMORY: ("a memory", "memories"),
}


@dataclass(frozen=True, slots=True)
class Bond:
    """Holds of one kind on things of one kind, on the same word. `by` is "" where several people placed them."""

    is_restriction: bool
    is_own: bool  # this request brought it
    what: str
    authority: str
    since: datetime
    by: str
    review_on: date


@dataclass(frozen=True, slots=True)
class Refused:
    """What this request keeps from coming back, and how."""

    mode: Mode
    what: str
    since: datetime
    until: datetime | None


def bonds_of(found: ErasureRequest, subjects: Sequence[Any]) -> list[Bond]:
    """Return what holds and restricts them. One query, however much is held."""
    meant = [row for row in subjects if row.ticked]
    on = Q(request_ref=found.target)
    if Kind(found.kind).is_about_people:
        on |= Q(subject_id__in=[row.subject_id for row in meant if row.subject_id is not None])
        on |= Q(scope=HoldScope.CONTAINER, container_id__in=[row.container_id for row in meant if row.container_id is not None])
    else:
        on |= Q(target_uid__in=found.items.values("item_uid")) | Q(scope=HoldScope.SUBJECT, subject_id__in=found.items.values("subject_id"))
        on |= Q(scope=HoldScope.CONTAINER, container_id__in=found.items.values("container_id"))
    own = Case(When(request_ref=found.target, then=Value(True)), default=Value(False))
    rows = Hold.objects.filter(on, released_at=None).annotate(own=own).values("kind", "scope", "authority", "own").order_by("kind", "scope")
    sums = {"n": Count("pk"), "since": Min("placed_at"), "one": Min("placed_by"), "other": Max("placed_by"), "review": Min("review_on")}
    return [_bond(dict(row)) for row in rows.annotate(**sums)]


def _bond(row: dict[str, Any]) -> Bond:
    one, many = NOUNS[HoldScope(row["scope"])]
    return Bond(
        is_restriction=row["kind"] == HoldKind.RESTRICTION,
        is_own=row["own"],
        what=one if row["n"] == 1 else f"{row['n']:,} {many}",
        authority=str(Authority(row["authority"]).label),
        since=row["since"],
        by=row["one"] if row["one"] == row["other"] else "",
        review_on=row["review"],
    )


def refused_by(found: ErasureRequest) -> list[Refused]:
    """Return what the request has fenced or suppressed, as it counts now. One query, none before it was claimed: it fences then."""
    if not found.attempt:
        return []
    rows = Suppression.objects.filter(request_ref=found.target).exclude(mode=Mode.LIFTED).values("kind", "mode").order_by("kind", "mode")
    sums = {"n": Count("pk"), "first": Min("since"), "until": Max("block_until")}
    return [_refused(dict(row)) for row in rows.annotate(**sums)]


def _refused(row: dict[str, Any]) -> Refused:
    one, many = ("the user", "users") if row["kind"] == SuppressedKind.SUBJECT else ("a text", "texts")
    return Refused(Mode(row["mode"]), one if row["n"] == 1 else f"{row['n']:,} {many}", row["first"], row["until"])
