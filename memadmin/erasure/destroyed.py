"""What a hold that comes too late is told: by which request the thing was erased, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, Sum

from memadmin.access.visibility import Viewer
from memadmin.erasure.models import Approval, ErasureRequest, Status
from memadmin.erasure.visibility import visible_requests

BEGUN = [Status.EXECUTING, Status.STALLED, Status.VERIFYING, Status.RESIDUE_FOUND]
DONE = [Status.COMPLETED, Status.CLOSED]


@dataclass(frozen=True, slots=True)
class Destroyed:
    """`items` went so far; `at`: when the erasure was complete, or while it runs, when it began."""

    request: ErasureRequest
    items: int
    at: datetime
    is_complete: bool

    @property
    def sentence(self) -> str:
        if self.is_complete:
            return f"Already destroyed on {self.at:%d %b %Y} by request {self.request.number}."
        since = f"Request {self.request.number} is being carried out since {self.at:%d %b %Y, %H:%M} UTC"
        return f"{since}: {self.items:,} things were destroyed already."


def destroyed(viewer: Viewer, uid: UUID) -> Destroyed | None:
    """Return what became of a user, session or memory of this uid in an erasure that has begun, None where there was none."""
    named = Q(subjects__subject_uid=uid, subjects__ticked=True) | Q(items__item_uid=uid) | Q(manifests__items__row_uid=uid)
    begun = visible_requests(viewer).filter(named, state__in=[*BEGUN, *DONE], approvals__used_at__isnull=False)
    request = begun.order_by("-number").first()
    if request is None or not (request.state in BEGUN or request.completed_at):
        return None
    items = request.outcomes.aggregate(sum=Sum("erased"))["sum"] or 0
    if request.completed_at is not None:
        return Destroyed(request, items, request.completed_at, is_complete=True)
    used = Approval.objects.filter(request=request, used_at__isnull=False).order_by("-used_at").values_list("used_at", flat=True).first()
    return Destroyed(request, items, used or request.state_since, is_complete=False)
