"""What a request page says of an erasure that is complete: its certificates, what it waits for, and until when."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memadmin.erasure import answered, backups, ending
from memadmin.erasure.intake import today
from memadmin.erasure.models import ErasureRequest, Kind, Status

ENDED = {
    Kind.ACCESS: "nobody can take the export any more",
    Kind.RECTIFY: "the words that were wrong were looked for everywhere, and stand nowhere",
    Kind.RESTRICT: "nothing is restricted for it any more",
}


def what_follows(found: ErasureRequest, *, now: datetime) -> dict[str, Any]:
    """Return the context of `erasure/_after.html`; empty for a request that has nothing after it."""
    if found.state not in {Status.COMPLETED, Status.CLOSED, Status.NOTHING_HELD}:
        return {}
    certificates = list(found.certificates.order_by("-pk"))
    erased = found.completed_at is not None and Kind(found.kind).erases and found.outcome_code in ending.ENDS
    told = found.notices.exists()
    if not certificates and not erased and not told:
        return {}
    waits = ending.waits_for(found, now=now) if found.state == Status.COMPLETED and Kind(found.kind).erases else []
    horizon = backups.horizon_of(found.completed_at) if erased and found.completed_at else None
    return {"certificates": certificates, "waits": waits, "horizon": horizon, "erased": erased, "told": told}


def after_answer(found: ErasureRequest, *, now: datetime) -> dict[str, Any]:
    """Return the context of `erasure/_answered.html`; empty for a request that erases, or has no answer yet."""
    if Kind(found.kind).erases or found.state not in {Status.COMPLETED, Status.CLOSED} or found.completed_at is None:
        return {}
    if found.state == Status.CLOSED:
        return {"ended": ENDED[Kind(found.kind)]}
    lifts = found.kind == Kind.RESTRICT and answered.restrictions_for(found).filter(request_ref=found.target).exists()
    return {"waits": answered.waits_for(found), "lifts": lifts and found.purged_at is None, "today": today(now)}
