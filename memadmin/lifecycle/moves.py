"""How a run gets from one state to the next: by a compare-and-set, and with a line in the log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.states import WrongState
from memadmin.store import policies


def move(run: Run, *allowed: RunState, to: RunState, **values: Any) -> None:
    """Compare and set the state. Raises WrongState."""
    if not Run.objects.filter(pk=run.pk, state__in=allowed).update(state=to, **values):
        run.refresh_from_db()
        raise WrongState(f"Run {run.number} is {run.get_state_display()}.")
    run.refresh_from_db()


def version_of(run: Run) -> dict[str, Any]:
    """Return what changes where a preview of values that were not published yet is carried out: it is under the version that has them."""
    return {} if run.policy_version_id else {"policy_version": policies.published(run.container)}


def record(
    action: Action,
    run: Run,
    *,
    actor: str,
    now: datetime,
    counts: Mapping[str, int] | None = None,
    reason_code: str = "",
    outcome: Outcome = Outcome.OK,
    payload: Mapping[str, Any] | None = None,
) -> None:
    """Write down what was done with a run, in the transaction of the act."""
    body = {"container": str(run.container.uid), **(payload or {})}
    log.append(action, actor=actor, target=target_of(run), at=now, counts=counts, reason_code=reason_code, outcome=outcome, payload=body)


def target_of(run: Run) -> str:
    return f"runs/{run.number}"
