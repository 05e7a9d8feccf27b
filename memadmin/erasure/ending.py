"""From complete to closed: what a complete erasure still waits for, and its last certificate when it waits for nothing any more.

    COMPLETED   the live systems are clean; backups from before still stand, or it is not known that they do not
    CLOSED      they are confirmed to have ended; the last certificate says so and names the digest of the first

A day that has passed closes nothing by itself: every backup from before has to be confirmed to be gone. When what a closed request
suppresses has lapsed too, the digests of whom it was about go, and its counts stay. What requests that erase nothing wait for, says
`answered`.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from memadmin.audit import checkpoints, ledger, log
from memadmin.audit.actions import Action
from memadmin.erasure import answered, backups, correction_checks
from memadmin.erasure.answered import Wait
from memadmin.erasure.backups import Basis, Horizon
from memadmin.erasure.bars import ERASING
from memadmin.erasure.certificates.issuing import issue
from memadmin.erasure.execution.closing import executed_of
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Certificate, ErasureRequest, Kind, Level, RequestItem, RequestSubject, Status
from memadmin.erasure.moves import move
from memadmin.jobs.registry import JobView, Step
from memadmin.plurals import counted
from memadmin.store import suppression
from memadmin.store.models import Mode, Suppression

DAILY = "erasure.close"
ACTOR = "job/erasure.close"
EVERYTHING_GONE = "L4"
LAST = {Level.LIVE: Level.CLOSED, Level.PARTLY: Level.CLOSED_PARTLY}
ENDS = {*LAST, *LAST.values()}  # the outcomes of erasures that are closed in time; a drill is not


def waits_for(request: ErasureRequest, *, now: datetime) -> list[Wait]:
    """Return what stands between a complete request and its end."""
    if request.completed_at is None:
        return []
    if not Kind(request.kind).erases:
        return answered.waits_for(request)
    horizon = backups.horizon_of(request.completed_at) if request.outcome_code in ENDS else None
    return [*answered.open_notices(request), *(_backups(horizon, now=now) if horizon else [])]


def _backups(horizon: Horizon, *, now: datetime) -> list[Wait]:
    if horizon.until is None:
        return [Wait("backups_unknown", "It is not known how long backups from before are kept: fill the inventory of backups.")]
    waits = []
    if horizon.standing:
        count, last = len(horizon.standing), max(row.expires_at for row in horizon.standing)
        waits.append(Wait("backups_standing", f"{counted(count, 'backup')} from before: not confirmed to be destroyed.", last))
    elif horizon.until > now:
        waits.append(Wait("backups_expire", "Backups from before have to expire.", horizon.until))
    if horizon.basis is Basis.INVENTORY and not horizon.checked_since:
        waits.append(Wait("inventory_unchecked", "Nobody has said since the erasure that the inventory of backups is whole."))
    return waits


def complete() -> QuerySet[ErasureRequest]:
    """The erasures that are complete and not closed."""
    return ErasureRequest.objects.filter(state=Status.COMPLETED, kind__in=ERASING, outcome_code__in=LAST)


def step(job: JobView, *, now: datetime) -> Step:
    """Close the next request that waits for nothing any more; at the end let go of digests that nobody needs."""
    after = int(job.cursor or 0)
    request = (complete() | answered.answered()).filter(pk__gt=after).order_by("pk").first()
    if request is None:
        correction_checks.ask_again(now=now)
        return Step(finished=True, cursor=after, done=job.done + forget(now=now))
    closed = _close_if_done(request, now=now)
    return Step(finished=False, cursor=request.pk, done=job.done + closed)


def _close_if_done(request: ErasureRequest, *, now: datetime) -> bool:
    if not Kind(request.kind).erases:
        return answered.close(request, now=now)
    if waits_for(request, now=now):
        return False
    close(request, now=now)
    return True


def close(request: ErasureRequest, *, now: datetime) -> None:
    """Certify that the backups have ended too, and close. May be repeated after a kill. Raises LedgerUnusable, KeysUnusable, WrongState."""
    certificate = _certified(request, now=now)
    facts = {"certificate": certificate.digest, "attempt": request.attempt}
    ledger.write("closed", request=str(request.uid), at=now, facts=facts)
    with transaction.atomic():
        move(request, Status.CLOSED, now=now, expect=Status.COMPLETED, outcome_code=certificate.level)
        suppression.keep_until(target_of(request), now, actor=ACTOR, now=now)
        log.append(Action.ERASURE_CLOSED, actor=ACTOR, target=target_of(request), at=now, reason_code=certificate.level)
    checkpoints.write(actor=ACTOR, now=now)


def _certified(request: ErasureRequest, *, now: datetime) -> Certificate:
    there = Certificate.objects.filter(request=request, level__in=LAST.values()).order_by("-pk").first()
    if there is not None:
        return there
    level = LAST[Level(request.outcome_code)]
    executed = executed_of(request, at=request.completed_at or now, reached=EVERYTHING_GONE)
    return issue(request, level, executed, actor=ACTOR, now=now)


def forget(*, now: datetime) -> int:
    """Take the last digests out of closed requests whose suppressions have lapsed, and return of how many. Counts stay."""
    unnamed = Q(kind__in=ERASING) | Q(purged_at__isnull=False)  # while names are there, an erasure finds them by these digests
    closed = ErasureRequest.objects.filter(unnamed, state=Status.CLOSED)
    known = closed.filter(subjects__in=RequestSubject.objects.exclude(subject_ref="")) | closed.filter(
        items__in=RequestItem.objects.exclude(item_ref="")
    )
    return sum(_forget(request, now=now) for request in known.distinct().order_by("pk"))


@transaction.atomic
def _forget(request: ErasureRequest, *, now: datetime) -> bool:
    if Suppression.objects.filter(request_ref=target_of(request)).exclude(mode=Mode.LIFTED).exists():
        return False
    counts = {"subjects": request.subjects.exclude(subject_ref="").update(subject_ref="", subject_uid=None, subject_id=None)}
    counts["items"] = request.items.exclude(item_ref="").update(item_uid=None, item_ref="", subject_id=0)
    log.append(Action.ERASURE_FORGOTTEN, actor=ACTOR, target=target_of(request), at=now, counts=counts)
    return True
