"""Who and what came again after an erasure: set aside until somebody decides, or let in and marked.

A user is marked whose id was erased and who is let in again; an item, whose text was erased. Both end when the suppression is lifted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Sum

from memadmin.access.visibility import Viewer, visible_subjects, within
from memadmin.store import quarantine
from memadmin.store.models import Mode, Outcome, Returned, Subject, Suppression

OF_ID = Q(suppressed=Mode.FLAG) & (Q(sessions__gt=0) | Q(working__gt=0) | Q(long_term__gt=0) | Q(history__gt=0))
ITEMS = F("sessions") + F("working") + F("long_term") + F("history")


@dataclass(frozen=True, slots=True)
class Came:
    """How many users and items, and since when; nothing came where both are 0."""

    users: int = 0
    items: int = 0
    since: datetime | None = None


def set_aside(viewer: Viewer | None) -> Came:
    """Return what waits for a decision, of the containers that are seen; None sees all."""
    rows = quarantine.waiting() if viewer is None else within(viewer, quarantine.waiting())
    return Came(**rows.aggregate(users=Count("subject", distinct=True), items=Count("pk"), since=Min("arrived_at")))


def marked_users(viewer: Viewer) -> QuerySet[Subject]:
    """Return whose id was erased and who is let in again, or of whom an item is marked."""
    return visible_subjects(viewer).filter(OF_ID | Exists(_marked_texts().filter(subject=OuterRef("pk"))))


def marked(viewer: Viewer | None, *, since: datetime | None = None) -> Came:
    """Return whom and what was let in and marked, of the containers that are seen (None: of all), since a time if one is given."""
    of_id = (Subject.objects.all() if viewer is None else visible_subjects(viewer)).filter(OF_ID)
    texts = _marked_texts().exclude(subject__suppressed=Mode.FLAG)
    texts = texts if viewer is None else within(viewer, texts)
    if since is not None:
        of_id, texts = of_id.filter(stored_at__gte=since), texts.filter(arrived_at__gte=since)
    users = of_id.aggregate(users=Count("pk"), items=Sum(ITEMS), since=Min("stored_at"))
    items = texts.aggregate(users=Count("subject", distinct=True), items=Count("pk"), since=Min("arrived_at"))
    first = [each["since"] for each in (users, items) if each["since"]]
    return Came(users["users"] + items["users"], (users["items"] or 0) + items["items"], min(first, default=None))


def texts_of(subject_ids: list[int]) -> dict[int, int]:
    """Return how many items of these users are marked for their text."""
    rows = _marked_texts().filter(subject__in=subject_ids).order_by()
    return dict(rows.values_list("subject").annotate(Count("pk")))


def _marked_texts() -> QuerySet[Returned]:
    standing = Suppression.objects.filter(uid=OuterRef("suppression_uid")).exclude(mode=Mode.LIFTED)
    return Returned.objects.filter(Exists(standing), outcome=Outcome.FLAGGED)
