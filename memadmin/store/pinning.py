"""Pins: who exempts what from eviction, and why."""

from __future__ import annotations

import json
from datetime import date, datetime

from django.db import connection, transaction
from django.db.models import F

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload, Stream
from memadmin.store import counters
from memadmin.store.models import ItemType, LongTermMemory, Pin, Session
from memadmin.store.querysets import PINNED_AT_THE_SOURCE, PINNED_OVER_API
from memadmin.store.text import says_something

__all__ = [
    "PINNED_AT_THE_SOURCE",
    "PINNED_OVER_API",
    "AlreadyPinned",
    "Changed",
    "Gone",
    "NoReason",
    "NotPinned",
    "keep",
    "pin",
    "pin_again",
    "unpin",
    "unpin_reviewed",
]

Pinnable = Session | LongTermMemory


class Gone(Exception):
    """The item is not in the store any more."""


class AlreadyPinned(Exception):
    """Somebody has pinned the item meanwhile."""


class NotPinned(Exception):
    """There is no pin to take away."""


class Changed(Exception):
    """Somebody has reviewed the pin, or taken it away, since it was looked at."""


class NoReason(Exception):
    """A pin needs a reason that the next person understands."""


@transaction.atomic
def pin(item: Pinnable, *, reason: str, actor: str, now: datetime, review_on: date | None = None) -> Pin:
    """Exempt an item from eviction. Its age does not change. Raises NoReason, Gone or AlreadyPinned."""
    if not says_something(reason):
        raise NoReason("Say why this is to be kept: the next person will ask.")
    _flag(item, pinned=True, error=AlreadyPinned("This is pinned already."))
    made = Pin.objects.create(
        container_id=item.container_id,
        subject_id=item.subject_id,
        target_type=_type_of(item),
        target_uid=item.uid,
        reason=reason.strip(),
        actor=actor,
        created_at=now,
        review_on=review_on,
    )
    action = Action.SESSION_PINNED if isinstance(item, Session) else Action.MEMORY_PINNED
    log.append(action, actor=actor, target=_target(item), at=now, payload={"reason": made.reason})
    return made


@transaction.atomic
def unpin(item: Pinnable, *, actor: str, now: datetime, reason: str = "") -> None:
    """Take the pin away: the item may go at the next run. Raises Gone or NotPinned."""
    _flag(item, pinned=False, error=NotPinned("This is not pinned."))
    had = Pin.objects.filter(target_uid=item.uid, subject_id=item.subject_id).first()
    taken = {"reason": had.reason, "review_on": had.review_on.isoformat() if had.review_on else None} if had else None
    Pin.objects.filter(target_uid=item.uid, subject_id=item.subject_id)._raw_delete(connection.alias)
    log.append(_unpinned(item), actor=actor, target=_target(item), at=now, payload={"reason": reason.strip(), "pin": taken})


@transaction.atomic
def pin_again(item: Pinnable, *, actor: str, now: datetime) -> Pin:
    """Undo the last unpinning: the pin comes back with its reason. Raises NotPinned where none was taken, else as `pin`."""
    entry = AuditEntry.objects.filter(stream=Stream.GOVERNANCE, action=_unpinned(item), target=_target(item)).order_by("-seq").first()
    payload = AuditPayload.objects.filter(stream=entry.stream, seq=entry.seq).first() if entry else None
    taken = json.loads(payload.body)["pin"] if payload else None
    if not taken:
        raise NotPinned("There is no pin to bring back.")
    review_on = date.fromisoformat(taken["review_on"]) if taken["review_on"] else None
    return pin(item, reason=taken["reason"], actor=actor, now=now, review_on=review_on)


@transaction.atomic
def keep(pin: Pin, *, reason: str, actor: str, now: datetime, review_on: date | None) -> None:
    """Note that a pin was looked at again and stays, and when to look next. Raises NoReason, and Changed when it is not as it was seen.

    The reason given becomes the pin's where it has none that says anything; otherwise the pin's own stays and the log has both.
    """
    if not says_something(reason):
        raise NoReason("Say why these stay or go: the next person will ask.")
    seen = _seen(pin)
    before = {"reason": seen.reason, "review_on": seen.review_on.isoformat() if seen.review_on else None}
    says_nothing = Pin.objects.filter(pk=seen.pk).unreasoned().exists()
    values = {"reason": reason.strip()} if says_nothing else {}
    Pin.objects.filter(pk=seen.pk).update(**values, review_on=review_on, reviewed_at=now, reviewed_by=actor, revision=F("revision") + 1)
    payload = {"reason": reason.strip(), "review_on": review_on.isoformat() if review_on else None, "before": before}
    log.append(Action.PIN_REVIEWED, actor=actor, target=f"{seen.target_type}/{seen.target_uid}", at=now, payload=payload)


@transaction.atomic
def unpin_reviewed(pin: Pin, *, reason: str, actor: str, now: datetime) -> None:
    """Like `unpin`, for a pin as somebody saw it in a list. Raises NoReason, Gone, and Changed when it is not as it was seen."""
    if not says_something(reason):
        raise NoReason("Say why these stay or go: the next person will ask.")
    seen = _seen(pin)
    model: type[Pinnable] = Session if seen.target_type == ItemType.SESSION else LongTermMemory
    item = model.objects.filter(uid=seen.target_uid, subject_id=seen.subject_id).first()
    if item is None:
        raise Gone("This is not in the store any more.")
    try:
        unpin(item, actor=actor, now=now, reason=reason)
    except NotPinned:
        raise Changed from None


def _seen(pin: Pin) -> Pin:
    """Return the pin if it is as it was looked at, with its user locked."""
    counters.lock([pin.subject_id])
    same: Pin | None = Pin.objects.filter(pk=pin.pk, subject_id=pin.subject_id, revision=pin.revision).first()
    if same is None:
        raise Changed("Somebody has reviewed or unpinned this meanwhile.")
    return same


def _type_of(item: Pinnable) -> ItemType:
    return ItemType.SESSION if isinstance(item, Session) else ItemType.LONG_TERM


def _target(item: Pinnable) -> str:
    return f"{_type_of(item)}/{item.uid}"


def _unpinned(item: Pinnable) -> Action:
    return Action.SESSION_UNPINNED if isinstance(item, Session) else Action.MEMORY_UNPINNED


def _flag(item: Pinnable, *, pinned: bool, error: Exception) -> None:
    """Set the flag by compare-and-set and move the counter; raise the error if it stands like that already."""
    counters.lock([item.subject_id])
    rows = type(item).objects.filter(pk=item.pk, subject_id=item.subject_id)  # a session may have become another user's
    if not rows.filter(pinned=not pinned).update(pinned=pinned, revision=F("revision") + 1):
        if rows.exists():
            raise error
        raise Gone("This is not in the store any more.")
    moves = counters.Moves()
    moves.add(item.subject_id, **{"pinned_sessions" if isinstance(item, Session) else "pinned_long_term": 1 if pinned else -1})
    moves.apply()
    item.refresh_from_db()
