"""The second person decides about a large run: approve it, with fresh numbers before them, or refuse it with a reason."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.lifecycle import approval, planning
from memadmin.lifecycle.drift import drift_of
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.starting import CannotStart, may_start
from memadmin.lifecycle.states import WrongState
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem
from memadmin.pages.runs import consequence, get_run, sentences_on

REFUSALS = (WrongState, CannotStart, approval.NotSecondPerson, approval.OtherList)


@require_POST
@may("run.approve")
def run_approve(request: PersonRequest, number: int) -> HttpResponse:
    """Ask once more, with fresh numbers; then let the run go."""
    run, actor, now = get_run(request, number), actor_of(request.user), timezone.now()
    try:
        if not is_sure(request) and run.state == RunState.WAITING:
            approval.may_decide(run, actor)
            may_start(run, now=now)
            return _confirm(request, run, now=now)
        approval.approve(run, digest=request.POST.get("digest", ""), actor=actor, now=now)
    except REFUSALS as error:
        problem(request, str(error))
    else:
        notice(request, f"You approved run {number}. It is queued, and this page follows it.")
    return redirect("pages:run-detail", number)


@require_POST
@may("run.approve")
def run_refuse(request: PersonRequest, number: int) -> HttpResponse:
    """Ask for the reason; then end the run."""
    run, actor = get_run(request, number), actor_of(request.user)
    if "reason" not in request.POST and run.state == RunState.WAITING:
        return _ask_why(request, run)
    try:
        approval.refuse(run, reason=request.POST.get("reason", ""), actor=actor, now=timezone.now())
    except approval.NoReason as error:
        return _ask_why(request, run, error=str(error))
    except REFUSALS as error:
        problem(request, str(error))
    else:
        notice(request, f"You refused run {number}. Nothing was evicted.")
    return redirect("pages:run-detail", number)


def _confirm(request: PersonRequest, run: Run, *, now: datetime) -> HttpResponse:
    drift, policy = drift_of(run), planning.policy_of(run)
    items, fresh = run.planned - drift.kept, planning.estimate(run.container, policy, now=now, limit=0).totals
    more = f"If it were planned now, it would name {fresh.items:,}." if fresh.items != run.planned else ""
    confirm = {
        "action": request.path,
        "verb": f"Approve: evict {items:,} items",
        "consequence": consequence(run, items),
        "totals": run.summary,
        "keeps": [sentence for sentence in (*sentences_on(drift), more, f"You approve the list {run.approval.digest[:16]}…") if sentence],
        "cancel": reverse("pages:run-detail", args=[run.number]),
        "hidden": {"sure": "yes", "digest": run.approval.digest},
        "danger": True,
        "totals_heading": "What it names",
        "keeps_heading": "Before you decide",
    }
    return ask(request, confirm, heading=f"Approve run {run.number} as its second person")


def _ask_why(request: PersonRequest, run: Run, *, error: str = "") -> HttpResponse:
    confirm = {
        "action": request.path,
        "verb": f"Refuse run {run.number}",
        "consequence": f"Nothing is evicted by run {run.number}. Whoever changes the policy reads your reason.",
        "keeps": ["While the policy stays as it is, the next night plans again, and asks again."],
        "reason": True,
        "error": error,
        "cancel": reverse("pages:run-detail", args=[run.number]),
        "hidden": {},
    }
    return ask(request, confirm, heading=f"Refuse run {run.number}", status=422 if error else 200)
