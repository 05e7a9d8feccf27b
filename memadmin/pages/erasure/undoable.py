"""What pages say of the last decision about many things, which can be undone as a whole."""

from __future__ import annotations

from typing import Any

from memadmin.access.actors import names_of
from memadmin.erasure import bulk_decisions, deciding
from memadmin.erasure.models import BulkDecision, ErasureRequest
from memadmin.store.locations import Act


def said_of(decision: BulkDecision) -> str:
    """Say in words what was decided."""
    if not decision.act:
        return "as planned"
    reason = deciding.ALL_CODES.get(decision.reason_code, "")
    return f"{Act(decision.act).label}{f': {reason}' if reason else ''}"


def undoable_in(found: ErasureRequest) -> dict[str, Any]:
    """Return the context of `erasure/_undo.html`; empty where nothing can be undone."""
    last = bulk_decisions.last_of(found)
    if last is None:
        return {}
    made_by = last.decision.made_by
    return {"undoable": last, "undoable_said": said_of(last.decision), "undoable_by": names_of([made_by])[made_by]}
