"""What pages say of runs and their second person: which wait, who can decide, what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memadmin.access.actors import names_of
from memadmin.access.humans import human_with
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers
from memadmin.lifecycle import approval, planning, second_person
from memadmin.lifecycle.causes import people_behind
from memadmin.lifecycle.models import Approval, Run, RunState
from memadmin.lifecycle.starting import CannotStart, may_start
from memadmin.lifecycle.totals import Totals

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Waiting:
    """One run that waits, as a list shows it. `why_not` says why this person cannot decide; "": they can."""

    run: Run
    approval: Approval
    why_not: str


def waiting_for(person: Person, *, now: datetime) -> list[Waiting]:
    """Return the runs that wait for a second person, as far as this one may see them; those that they can decide first."""
    seen = Run.objects.waiting().of_containers(visible_containers(person)).select_related("container", "policy_version", "approval")
    found = [Waiting(run, run.approval, _why_not(person, run, now=now)) for run in seen.newest_first()[:SHOWN]]
    return sorted(found, key=lambda each: bool(each.why_not))


def _why_not(person: Person, run: Run, *, now: datetime) -> str:
    if not person.may(Right.RUN_APPROVE):
        return "somebody with the right to approve decides"
    if human_with(person) in people_behind(run):
        return "you caused it"
    try:
        may_start(run, now=now)
    except CannotStart as error:
        return str(error)
    return "" if now <= run.approval.expires_at else "it has waited too long"


def question_of(run: Run, person: Person, *, now: datetime) -> dict[str, Any]:
    """Return what the page of a run says of its second person: the question, who can answer, or what was answered."""
    asked = Approval.objects.filter(run=run).first()
    context: dict[str, Any] = {"approval": asked, "without_one": run.outcome.get("second_person") == second_person.RULE_IS_OFF}
    if asked is None:
        return context
    context["approval_names"] = names_of([asked.asked_by, asked.decided_by])
    if run.state == RunState.WAITING:
        policy = planning.readable_policy(run)
        fresh = planning.estimate(run.container, policy, now=now, limit=0).totals if policy else Totals()
        context |= {"fresh": fresh, "deciding": approval.deciding(run), "why_not": _why_not(person, run, now=now)}
    return context
