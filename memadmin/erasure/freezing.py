"""Restrictions that a request brings: on its receipt, until it has ended; and those that a person asked for, until somebody lifts them.

A freeze is our own caution. It ends with its request, whose answer tells the person, so the notice is recorded with it; where another
request that has not ended freezes the same person, it goes over to that one. A restriction that the person obtained is lifted by hand, and
only after they were told (GDPR 18(3)); the store sees to that.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from django.db.models import QuerySet

from memadmin.erasure.models import ErasureRequest, Ground, Kind
from memadmin.erasure.moves import NOT_ENDED
from memadmin.store import holding
from memadmin.store.holding import AlreadyHeld, Placing
from memadmin.store.models import Authority, Hold, HoldKind, Subject

REVIEW_AFTER = timedelta(days=90)
FREEZABLE = frozenset({Kind.SUBJECT, Kind.RECTIFY})
AUTHORITY_OF = {
    Ground.ACCURACY_CONTESTED: Authority.ACCURACY_CONTESTED,
    Ground.UNLAWFUL_BUT_KEPT: Authority.UNLAWFUL_BUT_KEPT,
    Ground.NEEDED_FOR_CLAIMS: Authority.LEGAL_CLAIM,
    Ground.OBJECTION_PENDING: Authority.OBJECTION_PENDING,
    # requests to restrict from before they had grounds of their own
    Ground.UNLAWFUL: Authority.UNLAWFUL_BUT_KEPT,
    Ground.OBJECTION: Authority.OBJECTION_PENDING,
}


def freeze(request: ErasureRequest, *, actor: str, now: datetime) -> int:
    """Restrict the users that are ticked in while the request is looked at. Inside the caller's transaction."""
    request.freezes = True
    request.save(update_fields=["freezes"])
    return _restrict(request, Authority.REQUEST_PENDING, review_on=request.due_on, actor=actor, now=now)


def restrict(request: ErasureRequest, *, actor: str, now: datetime) -> int:
    """Restrict the users that are ticked in because they asked for it, and return how many are restricted for it now."""
    authority = AUTHORITY_OF.get(Ground(request.ground), Authority.RESTRICTION_ASKED)
    return _restrict(request, authority, review_on=(now + REVIEW_AFTER).date(), actor=actor, now=now)


def follow_ticks(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Let a freeze follow when it was decided anew who is meant."""
    if not request.freezes:
        return
    freeze(request, actor=actor, now=now)
    lift(request, actor=actor, now=now, but=set(request.subjects.filter(ticked=True).values_list("subject_id", flat=True)))


def lift(request: ErasureRequest, *, actor: str, now: datetime, but: set[int | None] | None = None) -> int:
    """End the freeze of a request, and return how many users it bound; `but`: users who stay frozen."""
    ended = [hold for hold in frozen_by(request) if hold.subject_id not in (but or set())]
    for hold in ended:
        holding.record_notice(hold, sent_on=hold.notice_sent_on or now.date(), actor=actor, now=now)
        holding.release(hold, reason=f"Request {request.number} does not ask about this any more.", actor=actor, now=now)
    _hand_over(request, {hold.subject_id for hold in ended}, actor=actor, now=now)
    return len(ended)


def _hand_over(request: ErasureRequest, users: set[int | None], *, actor: str, now: datetime) -> None:
    """Let the oldest of the other requests that freeze a user do so, now that this one does not."""
    standing = ErasureRequest.objects.filter(freezes=True, state__in=NOT_ENDED).exclude(pk=request.pk)
    meant = standing.filter(subjects__ticked=True, subjects__subject_id__in=users)
    for other in meant.order_by("number").distinct():
        freeze(other, actor=actor, now=now)


def frozen_by(request: ErasureRequest) -> QuerySet[Hold]:
    """Return the freezes of a request that stand."""
    return Hold.objects.filter(request_ref=request.target, authority=Authority.REQUEST_PENDING, released_at=None).order_by("pk")


def _restrict(request: ErasureRequest, authority: Authority, *, review_on: date, actor: str, now: datetime) -> int:
    meant = request.subjects.filter(ticked=True, subject_id__isnull=False)
    users = Subject.objects.filter(pk__in=meant.values("subject_id"), uid__in=meant.values("subject_uid")).order_by("pk")
    what = Placing(
        kind=HoldKind.RESTRICTION,
        authority=authority,
        reason=f"Request {request.number}",
        review_on=review_on,
        request_ref=request.target,
    )
    for user in users:
        try:
            holding.place(user, what, actor=actor, now=now)
        except AlreadyHeld:  # another request of this person has done it
            continue
    return len(users)
