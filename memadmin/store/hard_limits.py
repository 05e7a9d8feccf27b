"""How long anything of a container may be kept at most, pinned or not, and what is older.

Nothing here removes anything: what is past the limit is gathered into a request for erasure, which people review and approve. No run
looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store.models import Archived, Container, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory

LONGEST = 36_500  # days


class InvalidLimit(ValueError):
    """A hard limit is a whole number of days, or there is none."""


@transaction.atomic
def set_limit(container: Container, days: int | None, *, actor: str, now: datetime) -> None:
    """Say after how many days nothing of a container may be kept; None: no limit. Raises InvalidLimit."""
    days = checked(days)
    before = Container.objects.select_for_update().get(pk=container.pk).hard_limit_days
    if before != days:
        Container.objects.filter(pk=container.pk).update(hard_limit_days=days, last_updated_at=now, revision=F("revision") + 1)
        payload = {"hard_limit_days": {"before": before, "after": days}}
        log.append(Action.CONTAINER_LIMIT_SET, actor=actor, target=f"containers/{container.uid}", at=now, payload=payload)
    container.refresh_from_db()


def checked(days: object) -> int | None:
    """Return the limit as it is stored. Raises InvalidLimit: 0, -1 and fractions never mean "for ever"."""
    if days is None:
        return None
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= LONGEST:
        raise InvalidLimit(f"A hard limit is a whole number of days from 1 to {LONGEST:,}, or none.")
    return days


def past_limit(container: Container, *, now: datetime) -> Iterator[tuple[ItemType, QuerySet[Any]]]:
    """Yield what is older than the container's limit, by type; nothing without a limit.

    What goes with something else that is named is left out: the messages of such a session, the history of such a memory. Exactly as old
    as the limit is not past it.
    """
    if container.hard_limit_days is None:
        return
    cutoff = now - timedelta(days=container.hard_limit_days)
    sessions = _older(Session, container, cutoff, now=now)
    memories = _older(LongTermMemory, container, cutoff, now=now)
    said = _older(WorkingMemory, container, cutoff, now=now)
    changes = _older(HistoryEntry, container, cutoff, now=now)
    yield ItemType.SESSION, sessions
    yield ItemType.WORKING, said.exclude(session__in=sessions.values("pk"))
    yield ItemType.LONG_TERM, memories
    yield ItemType.HISTORY, changes.exclude(memory_uid__in=memories.values("uid"))


def passes_at(item: Session | LongTermMemory, days: int | None, *, now: datetime) -> datetime | None:
    """Return the moment from which an item is past a limit of so many days, by the same dates as `past_limit`; None: never."""
    said = item.last_updated_at or item.created_at
    since = said if said is not None and said <= now else item.stored_at
    try:
        return None if days is None else since + timedelta(days=days)
    except OverflowError:  # past the year 9999
        return None


def archived_past_limit(container: Container, *, now: datetime) -> QuerySet[Archived]:
    """Return the copies in the archive of what is older than the limit, however short a time they lie there.

    Of a copy that does not say when its content changed, the time in the archive counts: what it copies is older still.
    """
    if container.hard_limit_days is None:
        return Archived.objects.none()
    cutoff = now - timedelta(days=container.hard_limit_days)
    return Archived.objects.filter(Q(content_at__lt=cutoff) | Q(archived_at__lt=cutoff), container=container)


def _older(model: Any, container: Container, cutoff: datetime, *, now: datetime) -> QuerySet[Any]:
    """Return the rows whose content is older: by its last change, else by its making, else by when it was stored.

    A date that lies ahead says nothing, so the day of storing counts: it is the least age that the row can have.
    """
    stored = Q(stored_at__lt=cutoff)
    if model is HistoryEntry:
        return model.objects.filter(Q(created_at__lt=cutoff) | (Q(created_at=None) | Q(created_at__gt=now)) & stored, container=container)
    made = Q(created_at__lt=cutoff) | (Q(created_at=None) | Q(created_at__gt=now)) & stored
    unknown = Q(last_updated_at=None) & made | Q(last_updated_at__gt=now) & stored
    return model.objects.filter(Q(last_updated_at__lt=cutoff) | unknown, container=container)
