"""From answered to closed: what a request that erases nothing still waits for after its answer, and its end.

    access    nobody may take the export any more: it was taken, has expired or was called off
    rectify   the words that were wrong were looked for everywhere and stand nowhere
    restrict  no restriction that it brought stands any more, and each person was told before it was lifted

And for all of them: every notice to a recipient has ended. Its time stopped with its answer. Nothing of this is in the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import correction_checks, freezing, notices
from memadmin.erasure.bars import ERASING
from memadmin.erasure.intake import note, target_of, today
from memadmin.erasure.models import ErasureRequest, Ground, Kind, NoteKind, Status
from memadmin.erasure.models.access_exports import LIVE
from memadmin.erasure.moves import Refusal, WrongState, move
from memadmin.erasure.refusals import audited
from memadmin.plurals import counted
from memadmin.store import holding
from memadmin.store.models import Authority, Hold, HoldKind

ACTOR = "job/erasure.close"
CODES = {Kind.ACCESS: "given", Kind.RECTIFY: "verified", Kind.RESTRICT: "lifted"}


class NotLifted(Refusal):
    """The restriction cannot be lifted so; the message says why."""

    code = "not_lifted"


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that a complete request waits for, in words; `until`: the day on which it ends by itself."""

    code: str
    text: str
    until: datetime | None = None


def answered() -> QuerySet[ErasureRequest]:
    """The requests that were answered and are not closed."""
    return ErasureRequest.objects.filter(state=Status.COMPLETED).exclude(kind__in=ERASING)


def waits_for(request: ErasureRequest) -> list[Wait]:
    """Return what stands between an answer and the end of its request."""
    every = {Kind.ACCESS: _exports, Kind.RECTIFY: _corrections, Kind.RESTRICT: _restrictions}
    return [*open_notices(request), *every[Kind(request.kind)](request)]


def open_notices(request: ErasureRequest) -> list[Wait]:
    waiting = notices.open_ones(request).count()
    return [Wait("notices_open", f"{counted(waiting, 'notice')} to recipients: not answered yet.")] if waiting else []


def _exports(request: ErasureRequest) -> list[Wait]:
    live = request.access_exports.filter(state__in=LIVE).first()
    return [Wait("export_open", "The export for the person: not taken yet.", live.expires_at)] if live else []


def _corrections(request: ErasureRequest) -> list[Wait]:
    left = correction_checks.left(ErasureRequest.objects.filter(pk=request.pk)).count()
    if left:
        return [Wait("words_left", f"What was corrected still stands in {counted(left, 'place')}, which are listed under Correct.")]
    if correction_checks.waiting(request).exists():
        return [Wait("not_checked", "The words that were corrected are being looked for everywhere.")]
    return []


def _restrictions(request: ErasureRequest) -> list[Wait]:
    standing = restrictions_for(request).count()
    return [Wait("restricted", f"{counted(standing, 'user is', 'users are')} restricted, until somebody lifts it.")] if standing else []


def restrictions_for(request: ErasureRequest) -> QuerySet[Hold]:
    """Return the restrictions that stand because of what it asks: its own, and the like that another request had brought before."""
    authority = freezing.AUTHORITY_OF.get(Ground(request.ground), Authority.RESTRICTION_ASKED)
    meant = request.subjects.filter(ticked=True, subject_id__isnull=False).values("subject_id")
    mine = Q(request_ref=request.target) | Q(authority=authority, subject__in=meant)
    return Hold.objects.filter(mine, kind=HoldKind.RESTRICTION, released_at=None).order_by("pk")


@transaction.atomic
def close(request: ErasureRequest, *, now: datetime) -> bool:
    """Close a request that waits for nothing any more, and say whether it was."""
    locked = answered().select_for_update().filter(pk=request.pk).first()
    if locked is None or waits_for(locked):
        return False
    move(locked, Status.CLOSED, now=now)
    log.append(Action.ERASURE_CLOSED, actor=ACTOR, target=target_of(locked), at=now, reason_code=CODES[Kind(locked.kind)])
    return True


@audited(Action.ERASURE_RESTRICTION_LIFTED)
def lift_restriction(request: ErasureRequest, reason: str, *, letter: str, told_on: date, actor: str, now: datetime) -> int:
    """End the restriction that a request brought, after the person was told by this letter; return how many users it bound.

    Raises NotLifted, NothingWritten, WrongState, LedgerUnusable.
    """
    if request.kind != Kind.RESTRICT or request.state != Status.COMPLETED:
        raise WrongState(f"Request {request.number} restricts nobody (any more).")
    if request.purged_at is not None:
        raise WrongState("The papers of this request have been purged. Lift the restriction where it stands, on the page Holds.")
    if not today(request.completed_at or now) <= told_on <= today(now):
        raise NotLifted("The person has to be told before it is lifted: since the answer, and not ahead of today.")
    mine = list(restrictions_for(request).filter(request_ref=request.target))
    if not mine:
        raise NotLifted("No restriction that this request brought stands. What another one brought is lifted there, or on the page Holds.")
    note(request, letter, kind=NoteKind.LETTER, actor=actor, now=now)
    for hold in mine:
        holding.record_notice(hold, sent_on=told_on, actor=actor, now=now)
        try:
            holding.release(hold, reason=reason, actor=actor, now=now)
        except holding.NoReason as missing:
            raise NotLifted(str(missing)) from missing
    log.append(Action.ERASURE_RESTRICTION_LIFTED, actor=actor, target=target_of(request), at=now, counts={"users": len(mine)})
    close(request, now=now)
    request.refresh_from_db()
    return len(mine)
