"""What a request page says of telling the person that the erasure is done."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memadmin.access.actors import names_of
from memadmin.erasure import telling
from memadmin.erasure.intake import today
from memadmin.erasure.models import ErasureRequest


def telling_of(found: ErasureRequest, *, now: datetime) -> dict[str, Any]:
    """Return the context of `erasure/_tell.html`; empty where nobody has to be told, and nobody was."""
    if found.told_on is not None:
        return {"told": {"on": found.told_on, "by": names_of([found.told_by])[found.told_by]}}
    if not telling.is_to_be_told(found) or found.completed_at is None:
        return {}
    day = today(now)
    late = day > found.due_on
    return {"tell": {"letter": telling.letter_of(found), "from": today(found.completed_at), "today": day, "late": late}}
