"""The list of runs, and one run: what it names, its progress, its end, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import BigIntegerField, Count, F
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers
from memadmin.jobs.models import LIVE, Job
from memadmin.lifecycle import planning, runs, second_person
from memadmin.lifecycle.drift import Drift, drift_of
from memadmin.lifecycle.models import ItemKind, Run, RunKept, RunState, RunVictim
from memadmin.lifecycle.querysets import RunQuerySet
from memadmin.lifecycle.states import WrongState
from memadmin.lifecycle.warnings import NOUNS, warnings_of, why_nothing_runs
from memadmin.pages import restores, wording
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page, wants_part
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.pages.policies import form_url
from memadmin.pages.seconding import question_of, waiting_for
from memadmin.pages.summaries import cluster_by_victim, clusters_of
from memadmin.pages.victims import shown_victims
from memadmin.store import drafts
from memadmin.store.models import Archived, Subject
from retention.rules import MemoryType
from retention.victims import Reason

USERS_SHOWN = 50
NOT_BEGUN = (RunState.READY, RunState.WAITING)
GROUPED_UP_TO = 500_000  # victims; beyond it counting by user would hold the page up


def get_run(request: PersonRequest, number: int) -> Run:
    """Return the run, or 404 when it is of a container that this person may not see."""
    return get_object_or_404(_visible_runs(request).select_related("container", "policy_version"), number=number)


@require_safe
@may("run.view")
def run_list(request: PersonRequest) -> HttpResponse:
    seen = _visible_runs(request).exclude(state=RunState.DISCARDED)
    page = slice_of(request, seen.annotate(key=F("number"), id=F("number")), key="key", descending=True)
    shown = in_order(seen.select_related("container", "policy_version"), page)
    context = {
        "runs": shown,
        "waiting": waiting_for(request.user, now=timezone.now()),
        "working": Job.objects.live().filter(kind__in=("nightly", runs.RUN, runs.RESTORE)).exists(),
        "names": names_of(run.actor for run in shown),
        "paging": paging(request, page, total=seen.count(), noun="runs"),
    }
    return render_page(request, "runs/list.html", "runs/_table.html", context)


class VictimFilter(forms.Form):
    """What the address of a run may say; whatever it says wrongly is left out."""

    reason = forms.ChoiceField(required=False, choices=[(reason.value, reason.value) for reason in Reason])
    user = forms.UUIDField(required=False)


@require_safe
@may("run.view")
def run_detail(request: PersonRequest, number: int) -> HttpResponse:
    run, now = get_run(request, number), timezone.now()
    reason, whose = _narrowed_to(request, run)
    victims = RunVictim.objects.of_run(run)
    if reason:
        victims = victims.for_first_reason(Reason(reason).bit)
    if whose:
        victims = victims.of_subject(whose)
    page = slice_of(request, victims.annotate(key=Cast(F("seq"), BigIntegerField()), id=Cast(F("seq"), BigIntegerField())), key="key")
    rows = list(victims.filter(seq__in=page.ids).in_order())
    kept = dict(RunKept.objects.filter(run=run, seq__in=page.ids).values_list("seq", "why"))
    context = {
        **_about(run, now=now),
        **question_of(run, request.user, now=now),
        "victims": shown_victims(rows, may_read=request.user.may(Right.MEMORY_READ_TEXT)),
        "kept": kept,
        "in_cluster": cluster_by_victim(run, page.ids),
        "may_read": request.user.may(Right.MEMORY_READ_TEXT),
        "chosen_reason": reason,
        "whose": whose,
        "paging": paging(request, page, total=victims.count() if reason or whose else run.planned, noun="victims"),
        "users": _by_user(run) if request.user.may(Right.SUBJECT_VIEW) else [],
        "names": names_of([run.actor, run.started_by]),
        "now": now,
    }
    return render_page(request, "runs/detail.html", "runs/_victims.html", context)


def _narrowed_to(request: PersonRequest, run: Run) -> tuple[str, Subject | None]:
    """Return the reason and the user to which the address narrows the victims; a user only for those who may see users."""
    form = VictimFilter(request.GET)
    form.is_valid()
    said = {name: value for name, value in form.cleaned_data.items() if name not in form.errors}
    uid = said.get("user") if request.user.may(Right.SUBJECT_VIEW) else None
    return said.get("reason", ""), Subject.objects.of_container(run.container).filter(uid=uid).first() if uid else None


@require_safe
@may("run.view")
def run_progress(request: PersonRequest, number: int) -> HttpResponse:
    """How far a run is. The page asks every two seconds while it is live."""
    run, now = get_run(request, number), timezone.now()
    if not wants_part(request):
        return redirect("pages:run-detail", number)
    context = {**_about(run, now=now), "names": names_of([run.actor, run.started_by]), "now": now}
    response = render_page(request, "runs/detail.html", "runs/_progress.html", context)
    return trigger_client_event(response, "run-ended") if context["ended"] and not context["restoring"] else response


@require_POST
@may("run.start")
def run_start(request: PersonRequest, number: int) -> HttpResponse:
    """Ask first, with what has changed since the preview; then queue the run."""
    run = get_run(request, number)
    now = timezone.now()
    try:
        if not is_sure(request) and run.state == RunState.READY:
            runs.may_start(run, now=now)
            return _confirm_start(request, run)
        job = runs.start(run, actor=actor_of(request.user), now=now)
    except (WrongState, runs.CannotStart) as error:
        problem(request, str(error))
    else:
        waits = f"Run {number} waits for a second person. Nothing is evicted before somebody else has approved it."
        notice(request, f"Run {number} is queued. This page follows it." if job else waits)
    return redirect("pages:run-detail", number)


@require_POST
@may("run.start")
def run_cancel(request: PersonRequest, number: int) -> HttpResponse:
    return _moved(request, number, runs.cancel, said=f"Run {number} is called off. What it has evicted so far can be restored.")


@require_POST
@may("policy.edit")
def run_discard(request: PersonRequest, number: int) -> HttpResponse:
    return _moved(request, number, runs.discard, said=f"Preview {number} is dropped.", gone=True)


@require_POST
@may("run.restore")
def run_restore(request: PersonRequest, number: int) -> HttpResponse:
    """Ask first, with what comes back and what the next run would take again; then queue the restore."""
    run, now = get_run(request, number), timezone.now()
    if not is_sure(request) and run.state in runs.ENDED:
        copies = Archived.objects.of_run(number, run.container)
        return restores.ask(request, copies, hidden={}, cancel=reverse("pages:run-detail", args=[number]), now=now)
    return _moved(request, number, runs.restore_run, said=f"What run {number} evicted is being put back.")


def _moved(request: PersonRequest, number: int, act: Callable[..., object], *, said: str, gone: bool = False) -> HttpResponse:
    """Do what a button of the run asks for, or say why it cannot be done any more; `gone` runs have no page afterwards."""
    try:
        act(get_run(request, number), actor=actor_of(request.user), now=timezone.now())
    except WrongState as error:
        problem(request, str(error))
        return redirect("pages:run-detail", number)
    notice(request, said)
    return redirect("pages:run-list") if gone else redirect("pages:run-detail", number)


def _confirm_start(request: PersonRequest, run: Run) -> HttpResponse:
    drift, asks = drift_of(run), second_person.wanted(run)
    items = run.planned - drift.kept
    confirm = {
        "action": request.path,
        "verb": "Put before a second person" if asks else f"Evict {items:,} items",
        "consequence": f"{'Once somebody else has approved it: ' if asks else ''}{consequence(run, items)}",
        "warnings": [warned.text for warned in warnings_of(run.container, planning.policy_of(run), run.summary) if warned.loud],
        "keeps": sentences_on(drift),
        "cancel": reverse("pages:run-detail", args=[run.number]),
        "hidden": {"sure": "yes"},
        "danger": True,
    }
    return ask(request, confirm, heading=f"Carry out preview {run.number}")


def sentences_on(drift: Drift) -> list[str]:
    """Say what has changed since the preview, one sentence for each kind of change."""
    kept = {
        "pinned": "pinned since the preview",
        "held": "held since the preview",
        "read": "recalled by an agent since the preview",
        "changed": "changed since the preview",
        "unsummarised": "to become part of a summary that could not be made",
        "session": "left by a session that is there again",
    }
    numbers = {name: getattr(drift, name) for name in (*kept, "gone", "added")}
    said = [
        f"{_were(numbers[name])} {words} and {'stays' if numbers[name] == 1 else 'stay'}." for name, words in kept.items() if numbers[name]
    ]
    if numbers["gone"]:
        said.append(f"{numbers['gone']:,} had gone already.")
    if numbers["added"]:
        said.append(
            f"{_were(numbers['added'])} added to the container since; this run does not judge {'it' if numbers['added'] == 1 else 'them'}."
        )
    return said


def _were(number: int) -> str:
    return "1 was" if number == 1 else f"{number:,} were"


def consequence(run: Run, items: int) -> str:
    """Return what carrying a run out means, and which way back there is."""
    days, history = run.container.archive_days, run.summary.of(MemoryType.HISTORY).total
    if days is None:
        way_back = "This container keeps no archive: they are gone for good."
    elif history:
        way_back = f"{history:,} of them are history entries, which are gone for good; the others can be restored for {days} days."
    else:
        way_back = f"They can be restored for {days} days."
    return f"{items:,} items of {run.container.name} will be evicted. {way_back}"


def _about(run: Run, *, now: datetime) -> dict[str, Any]:
    policy = planning.readable_policy(run)
    ended = run.state in runs.ENDED
    restore = Job.objects.filter(kind=runs.RESTORE, target=runs.target_of(run)).order_by("-pk").first() if ended else None
    return {
        "run": run,
        "container": run.container,
        "totals": run.summary,
        "types": [(NOUNS[kind.memory_type], run.summary.of(kind.memory_type)) for kind in ItemKind],
        "sentences": wording.sentences_of(policy),
        "warnings": warnings_of(run.container, policy, run.summary) if policy and run.state in NOT_BEGUN else (),
        "blocked": why_nothing_runs(run.container),
        "percent": 100 * run.cursor // run.planned if run.planned else 100,
        "drift": sentences_on(drift_of(run)) if run.state in NOT_BEGUN or run.started_at else [],
        "scheduled": drafts.scheduled(run.container) if run.state in NOT_BEGUN else None,
        "clusters": clusters_of(run),
        "stopped": wording.stop_in_words(run.error_code),
        "wants_second": run.state == RunState.READY and second_person.wanted(run),
        "form_url": form_url(run.container, policy) if policy else "",
        "ended": ended,
        "restoring": restore if restore and restore.state in LIVE else None,
        "left": restores.what_a_job_left(restore),
        "refusal": _refusal(run, now=now),
        "in_archive": Archived.objects.of_run(run.number, run.container).restorable(timezone.now()).count() if ended else 0,
    }


def _refusal(run: Run, *, now: datetime) -> str:
    """Say why a preview cannot be carried out as things stand."""
    if run.state != RunState.READY:
        return ""
    try:
        runs.may_start(run, now=now)
    except runs.CannotStart as error:
        return str(error)
    return ""


def _visible_runs(request: PersonRequest) -> RunQuerySet:
    return Run.objects.of_containers(visible_containers(request.user))


def _by_user(run: Run) -> list[dict[str, Any]] | None:
    """Return the users who lose most, or None where there are too many victims to count them on a page."""
    if run.planned > GROUPED_UP_TO:
        return None
    most = RunVictim.objects.of_run(run).values("subject_id").annotate(n=Count("seq")).order_by("-n", "subject_id")[:USERS_SHOWN]
    users = Subject.objects.in_bulk([row["subject_id"] for row in most])
    return [{"user": users.get(row["subject_id"]), "victims": row["n"]} for row in most]
