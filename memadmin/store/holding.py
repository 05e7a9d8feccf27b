"""Holds and restrictions: placing, noting the notice, releasing. What is held is not destroyed; what is restricted is not used either.

Invariant: `held` and `restricted` on subjects, sessions, memories, messages, history and archived copies say what the standing holds say,
in every transaction that ends. What arrives later takes them over from its user and session, in `ingest` and `appending`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import counters, ledger_lines
from memadmin.store.held_copies import copy_holds
from memadmin.store.models import (
    Authority,
    Container,
    Hold,
    HoldKind,
    HoldScope,
    LongTermMemory,
    Session,
    Subject,
)
from memadmin.store.staying import NAMED_BY
from memadmin.store.text import says_something

FORGOTTEN = "As the ledger says; the words were lost when an older database was put back."
Holdable = Container | Subject | Session | LongTermMemory


class NoReason(Exception):
    """A hold needs a reason that the next person understands, and so does its release."""


class AlreadyHeld(Exception):
    """A hold of this kind and authority stands on it already."""


class Gone(Exception):
    """What was to be held is not in the store any more."""


class NotHeld(Exception):
    """The hold was released already."""


class NoticeMissing(Exception):
    """A restriction is lifted only after the person was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """What a hold says: its kind, on whose word, why, when somebody looks at it again, and the request that it comes from, if any."""

    kind: HoldKind
    authority: Authority
    reason: str
    review_on: date
    request_ref: str = ""


@transaction.atomic
def place(target: Holdable, what: Placing, *, actor: str, now: datetime) -> Hold:
    """Bind a container, user, session or long-term memory, and everything that belongs to it. Raises NoReason, AlreadyHeld, Gone,
    LedgerUnusable.
    """
    if not says_something(what.reason):
        raise NoReason("Say why this must be kept: the next person will ask.")
    scope, container_id, subject_id = _whereabouts(target)
    _lock(container_id, subject_id)
    if not type(target)._default_manager.filter(pk=target.pk).exists():
        raise Gone("This is not in the store any more.")
    same = {"target_uid": target.uid, "kind": what.kind, "authority": what.authority}
    if Hold.objects.filter(**same, released_at__isnull=True).exists():
        raise AlreadyHeld("This is held on the same word already.")
    hold = Hold.objects.create(
        **same,
        scope=scope,
        container_id=container_id,
        subject_id=subject_id,
        reason=what.reason.strip(),
        review_on=what.review_on,
        request_ref=what.request_ref,
        placed_by=actor,
        placed_at=now,
    )
    counts = copy_holds(container_id=container_id, subject_id=subject_id)
    payload = {"reason": hold.reason, "review_on": hold.review_on.isoformat()}
    _note(Action.HOLD_PLACED, hold, actor=actor, now=now, counts=counts, payload=payload)
    ledger_lines.hold_placed(hold, now=now)
    target.refresh_from_db(fields=["held", "restricted"])
    return hold


@transaction.atomic
def record_notice(hold: Hold, *, sent_on: date, actor: str, now: datetime) -> None:
    """Note that the person was told that the restriction will be lifted. Raises NotHeld, and NoReason for what needs no notice."""
    if hold.kind != HoldKind.RESTRICTION:
        raise NoReason("Only the lifting of a restriction is told beforehand.")
    if not _standing(hold).update(notice_sent_on=sent_on, notice_by=actor):
        raise NotHeld("This was released already.")
    _note(Action.HOLD_NOTICE_RECORDED, hold, actor=actor, now=now, payload={"sent_on": sent_on.isoformat()})
    hold.refresh_from_db()


@transaction.atomic
def change_review(hold: Hold, *, review_on: date, actor: str, now: datetime) -> None:
    """Put the day of the next look at the hold. Raises NotHeld."""
    before = hold.review_on
    if not _standing(hold).update(review_on=review_on):
        raise NotHeld("This was released already.")
    payload = {"before": before.isoformat(), "after": review_on.isoformat()}
    _note(Action.HOLD_REVIEW_CHANGED, hold, actor=actor, now=now, payload=payload)
    hold.refresh_from_db()


@transaction.atomic
def release(hold: Hold, *, reason: str, actor: str, now: datetime) -> None:
    """End a hold. What another hold binds too stays held. Raises NoReason, NotHeld, NoticeMissing, LedgerUnusable."""
    if not says_something(reason):
        raise NoReason("Say why this need not be kept any more: the next person will ask.")
    _lock(hold.container_id, hold.subject_id)
    hold.refresh_from_db()
    if hold.kind == HoldKind.RESTRICTION and hold.notice_sent_on is None and hold.released_at is None:
        raise NoticeMissing("Tell the person first, and record when the notice was sent.")
    if not _standing(hold).update(released_by=actor, released_at=now, release_reason=reason.strip()):
        raise NotHeld("This was released already.")
    counts = copy_holds(container_id=hold.container_id, subject_id=hold.subject_id)
    _note(Action.HOLD_RELEASED, hold, actor=actor, now=now, counts=counts, payload={"reason": reason.strip()})
    hold.refresh_from_db()
    ledger_lines.hold_released(hold, now=now)


@transaction.atomic
def place_again(hold: Hold, *, actor: str, now: datetime) -> bool:
    """Place a hold that only the ledger has kept, in a database that has forgotten it; return False where it stands already."""
    _lock(hold.container_id, hold.subject_id)
    same = {"target_uid": hold.target_uid, "kind": hold.kind, "authority": hold.authority}
    if Hold.objects.filter(Q(uid=hold.uid) | Q(**same, released_at__isnull=True)).exists():
        return False
    hold.reason = FORGOTTEN
    hold.save()
    counts = copy_holds(container_id=hold.container_id, subject_id=hold.subject_id)
    _note(Action.HOLD_PLACED, hold, actor=actor, now=now, counts=counts, payload={"reason": hold.reason})
    return True


@transaction.atomic
def release_again(hold: Hold, *, by: str, at: datetime, noticed_on: date | None, actor: str, now: datetime) -> bool:
    """End a hold that the ledger says was released; return False where it has ended."""
    _lock(hold.container_id, hold.subject_id)
    values = {"released_by": by, "released_at": at, "release_reason": FORGOTTEN, "notice_sent_on": noticed_on or hold.notice_sent_on}
    if not _standing(hold).update(**values):
        return False
    counts = copy_holds(container_id=hold.container_id, subject_id=hold.subject_id)
    _note(Action.HOLD_RELEASED, hold, actor=actor, now=now, counts=counts, payload={"reason": FORGOTTEN})
    return True


def standing_on(item: Session | LongTermMemory | Subject) -> list[Hold]:
    """Return the holds that bind an item or a user, the oldest first: its own and those of what it belongs to."""
    subject_uid = item.uid if isinstance(item, Subject) else item.subject.uid
    bound = Q(target_uid__in={item.uid, subject_uid}) | Q(scope=HoldScope.CONTAINER, container_id=item.container_id)
    return list(Hold.objects.filter(bound, released_at__isnull=True).order_by("placed_at", "id"))


@transaction.atomic
def remove_erased(keys: Sequence[int]) -> int:
    """Delete holds that were released, and restrictions that restrict nothing any more because it was erased; return how many.

    A standing hold is why something stays, and stays with it.
    """
    counters.lock(Hold.objects.filter(pk__in=keys, subject__isnull=False).values_list("subject_id", flat=True))
    ended = [hold for hold in Hold.objects.filter(pk__in=keys) if hold.released_at is not None or _restricts_nothing(hold)]
    gone = Hold.objects.filter(pk__in=[hold.pk for hold in ended])._raw_delete(connection.alias) if ended else 0
    for container_id, subject_id in {(hold.container_id, hold.subject_id) for hold in ended if hold.released_at is None}:
        copy_holds(container_id=container_id, subject_id=subject_id)
    return gone


def _restricts_nothing(hold: Hold) -> bool:
    if hold.kind != HoldKind.RESTRICTION or hold.subject_id is None:
        return False
    for model, name in NAMED_BY.items():
        bound = {} if hold.scope == HoldScope.SUBJECT else {name: hold.target_uid}
        if model._default_manager.filter(subject_id=hold.subject_id, **bound).exists():
            return False
    return True


def _whereabouts(target: Holdable) -> tuple[HoldScope, int, int | None]:
    if isinstance(target, Container):
        return HoldScope.CONTAINER, target.pk, None
    if isinstance(target, Subject):
        return HoldScope.SUBJECT, target.container_id, target.pk
    return HoldScope.SESSION if isinstance(target, Session) else HoldScope.MEMORY, target.container_id, target.subject_id


def _lock(container_id: int, subject_id: int | None) -> None:
    """Lock whom the hold binds. For a container also against users that are being made: they take its row in share mode."""
    if subject_id is None:
        Container.objects.select_for_update().get(pk=container_id)
        counters.lock(Subject.objects.filter(container=container_id).values_list("pk", flat=True))
    else:
        counters.lock([subject_id])


def _standing(hold: Hold) -> QuerySet[Hold]:
    return Hold.objects.filter(pk=hold.pk, released_at__isnull=True)


def _note(action: Action, hold: Hold, *, actor: str, now: datetime, **details: Any) -> None:
    log.append(action, actor=actor, target=f"{hold.scope}/{hold.target_uid}", at=now, reason_code=hold.authority, **details)
