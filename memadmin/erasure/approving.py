"""Four eyes: another person says yes to one digest, freshly signed in, for a time, once.

Invariant: at most one approval stands for a request, and it names the digest of the frozen manifest. It is looked at again, whole, in the
transaction in which an execution claims it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from memadmin.access.humans import human_of, same_human
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.approvers import involved_in
from memadmin.erasure.deciding import current, return_to_review
from memadmin.erasure.drift import DIGEST, drift_of
from memadmin.erasure.drills import guarding
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Approval, ErasureRequest, Manifest, Status
from memadmin.erasure.moves import Refusal, WrongState, move
from memadmin.erasure.refusals import audited
from memadmin.store import configuration


class SamePerson(Refusal):
    """The approver took the request in or reviewed it, under this account or another one of theirs."""

    code = "same_person"


class NotFresh(Refusal):
    """The person signed in too long ago: anybody may sit at the screen."""

    code = "not_fresh"


class OtherDigest(Refusal):
    """What the approver has seen is not what is frozen now."""

    code = "other_digest"


class WrongNumber(Refusal):
    """The number that was typed is not the request's."""

    code = "wrong_number"


class NotApproved(Refusal):
    """There is no approval that can be used (any more); `code` says why."""

    code = "not_approved"

    def __init__(self, message: str, *, code: str = "not_approved") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the approver has done: the digest on the page they saw, the number they typed, when and how they proved who they are."""

    digest: str
    number: str
    proved_at: datetime | None
    method: str = "password"


@audited(Action.ERASURE_APPROVED)
def approve(request: ErasureRequest, word: Word, *, actor: str, now: datetime) -> Approval:
    """Approve the frozen manifest. Raises SamePerson, NotFresh, OtherDigest, WrongNumber, WrongState."""
    locked = ErasureRequest.objects.select_for_update().get(pk=request.pk)
    if locked.state != Status.AWAITING_APPROVAL:
        raise WrongState(f"Request {locked.number} is {Status(locked.state).label}: it does not wait for an approval.")
    _check_person(locked, actor)
    _check_fresh(word, now=now)
    if word.number.strip() != str(locked.number):
        raise WrongNumber(f"Type the number of this request, {locked.number}, to approve it.")
    if not secrets.compare_digest(word.digest, locked.manifest_digest):
        raise OtherDigest("The manifest was changed after you opened the page. Look at it again.")
    approval = _store(locked, word, actor=actor, now=now)
    move(request, Status.APPROVED, now=now, expect=Status.AWAITING_APPROVAL, single_operator=approval.single_operator)
    counts = {"manifest": locked.manifest_number or 0, "single_operator": int(approval.single_operator)}
    log.append(Action.ERASURE_APPROVED, actor=actor, target=target_of(request), at=now, counts=counts)
    return approval


def _check_person(request: ErasureRequest, actor: str) -> None:
    if guarding.is_about(request, actor):
        guarding.check_approver(request, actor)
        return
    if not _may_approve(actor):
        raise SamePerson("Approving needs a person with the right to approve erasure requests.")
    if human_of(actor) in involved_in(request):
        raise SamePerson("You took this request in or reviewed it, under this account or another one of yours. Somebody else approves it.")


def _may_approve(actor: str) -> bool:
    kind, _, uid = actor.partition("/")
    person = Person.objects.filter(uid=UUID(uid)).first() if kind == "person" else None
    return person is not None and person.may(Right.ERASURE_APPROVE)


def _check_fresh(word: Word, *, now: datetime) -> None:
    most = timedelta(minutes=configuration.value("erasure_fresh_login_minutes"))
    if word.proved_at is None or not now - most <= word.proved_at <= now:
        raise NotFresh(f"Give your password again: you signed in more than {most.seconds // 60 or 1440} minutes ago.")


def _store(request: ErasureRequest, word: Word, *, actor: str, now: datetime) -> Approval:
    involved = (request.opened_by, request.reviewed_by, request.identity_by)
    alone = any(same_human(actor, other) for other in involved if other)
    try:
        with transaction.atomic():
            return Approval.objects.create(
                request=request,
                approver=actor,
                manifest_digest=request.manifest_digest,
                approved_at=now,
                expires_at=_expiry(request, now=now),
                method=word.method,
                single_operator=alone,
            )
    except IntegrityError as error:  # another approved this moment
        raise WrongState(f"Request {request.number} was approved this moment.") from error


def _expiry(request: ErasureRequest, *, now: datetime) -> datetime:
    """Some days, but not past the day on which the request is due; a late one has a day."""
    due = datetime.combine(request.due_on + timedelta(days=1), time.min, tzinfo=settings.LEGAL_TIME_ZONE)
    latest = now + timedelta(days=configuration.value("erasure_approval_days"))
    return min(latest, due) if due > now else now + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to execute one request once. The token is known to the executor alone; the request keeps its digest."""

    request: ErasureRequest
    manifest: Manifest
    token: str
    attempt: int


def claim(request: ErasureRequest, *, actor: str, now: datetime, then: Callable[[], object] = lambda: None) -> Claim:
    """Begin the execution of an approved request: everything is looked at again in the transaction that begins it, and does `then` in it.

    Call it outside of any transaction: what is refused is noted in one of its own, which the caller's would take back.
    What does not hold any more voids the approval: the request waits for another one, or goes back to review. Raises NotApproved,
    WrongState; either is in the log.
    """
    try:
        return _claim(request, then, actor=actor, now=now)
    except NotApproved as refusal:
        void(request, refusal.code, actor=actor, now=now)
        raise


@audited(Action.ERASURE_CLAIMED)
def _claim(request: ErasureRequest, then: Callable[[], object], *, actor: str, now: datetime) -> Claim:
    locked = ErasureRequest.objects.select_for_update().get(pk=request.pk)
    if locked.state != Status.APPROVED:
        raise WrongState(f"Request {locked.number} is {Status(locked.state).label}: it is not approved.")
    approval = locked.approvals.filter(voided_at=None, used_at=None).first()
    manifest = current(locked)
    _check_approval(locked, approval, manifest, now=now)
    token = secrets.token_urlsafe(32)
    Approval.objects.filter(pk=approval.pk if approval else 0).update(used_at=now)
    digest = hashlib.sha256(token.encode()).hexdigest()
    move(request, Status.EXECUTING, now=now, expect=Status.APPROVED, execution_token=digest, attempt=F("attempt") + 1)
    log.append(Action.ERASURE_CLAIMED, actor=actor, target=target_of(request), at=now, counts={"attempt": request.attempt})
    then()
    return Claim(request, manifest, token, request.attempt)


def _check_approval(request: ErasureRequest, approval: Approval | None, manifest: Manifest, *, now: datetime) -> None:
    if approval is None:
        raise NotApproved("No approval stands.", code="none_stands")
    if now >= approval.expires_at:
        raise NotApproved("The approval has expired.", code="expired")
    if guarding.is_about(request, approval.approver):
        guarding.check_approver(request, approval.approver)
    elif not _may_approve(approval.approver):
        raise NotApproved("The approver has lost the right to approve since.", code="right_lost")
    if approval.manifest_digest != request.manifest_digest or request.manifest_digest != manifest.digest:
        raise NotApproved("The approval is for another manifest.", code=DIGEST)
    changed = drift_of(manifest)
    if changed:
        raise NotApproved("What is there is not what was approved any more.", code=changed)


@transaction.atomic
def void(request: ErasureRequest, code: str, *, actor: str, now: datetime) -> None:
    """End a standing approval: what is to be erased has changed (then it is reviewed anew), or the approval itself does not hold."""
    request.refresh_from_db()
    if request.state != Status.APPROVED:
        return
    if code in {"none_stands", "expired", "right_lost"}:
        request.approvals.filter(voided_at=None, used_at=None).update(voided_at=now, void_code=code)
        move(request, Status.AWAITING_APPROVAL, now=now)
        log.append(Action.ERASURE_APPROVAL_VOIDED, actor=actor, target=target_of(request), at=now, reason_code=code)
    else:
        return_to_review(request, code=code, actor=actor, now=now)


def void_expired(*, now: datetime) -> int:
    """End approvals whose time is over, and return how many. A clock that is set back does not bring them back."""
    late = ErasureRequest.objects.filter(
        state=Status.APPROVED, approvals__voided_at=None, approvals__used_at=None, approvals__expires_at__lte=now
    )
    requests = list(late.distinct())
    for request in requests:
        void(request, "expired", actor="job/erasure.tidy", now=now)
    return len(requests)
