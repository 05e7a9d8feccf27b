"""What a request page says of an erasure that is complete: its certificates, what it waits for, and until when."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memadmin.erasure import backups, ending
from memadmin.erasure.models import ErasureRequest, Kind, Status


def what_follows(found: ErasureRequest, *, now: datetime) -> dict[str, Any]:
    """Return the context of `erasure/_after.html`; empty for a request that has nothing after it."""
    if found.state not in {Status.COMPLETED, Status.CLOSED, Status.NOTHING_HELD}:
        return {}
    certificates = list(found.certificates.order_by("-pk"))
    erased = found.completed_at is not None and Kind(found.kind).erases and found.outcome_code in ending.ENDS
    told = found.notices.exists()
    if not certificates and not erased and not told:
        return {}
    waits = ending.waits_for(found, now=now) if found.state == Status.COMPLETED else []
    horizon = backups.horizon_of(found.completed_at) if erased and found.completed_at else None
    return {"certificates": certificates, "waits": waits, "horizon": horizon, "erased": erased, "told": told}
