"""Run-time settings and the nightly schedule."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.erasure import ending, rechecking
from memadmin.erasure.alarms import ALARM
from memadmin.erasure.drills import running as drills
from memadmin.erasure.following import FOLLOW_UP
from memadmin.erasure.gathering import GATHER
from memadmin.erasure.purging import PURGE
from memadmin.jobs import schedules
from memadmin.jobs.cron import InvalidCron
from memadmin.jobs.models import Job
from memadmin.jobs.queue import AlreadyLive
from memadmin.jobs.registry import CRONS
from memadmin.lifecycle import nightly, sealing, verifying
from memadmin.lifecycle.inference import rederiving
from memadmin.lifecycle.nightly import may_evict
from memadmin.pages.confirming import ask, is_sure
from memadmin.pages.decorators import may
from memadmin.pages.foreseeing import Outcome, foresee, lets_more_go
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.matters import FAILED_WITHIN
from memadmin.pages.tonight import confirm_tonight
from memadmin.plurals import counted
from memadmin.store import configuration
from memadmin.store.configuration import REGISTRY, InvalidSetting

FAILED_SHOWN = 20
SWITCHES = ("retention_enabled", "multi_tenancy_enabled")
BOUNDS = ("approval_percent", "approval_items")
SCHEDULES = {
    nightly.KIND: "Nightly retention",
    sealing.HOURLY: "Hourly bookkeeping",
    verifying.VERIFY: "Verification of the audit log",
    ending.DAILY: "Closing of erasures",
    rechecking.NIGHTLY: "Looking for erased users",
    rechecking.WEEKLY: "Looking for erased ids and texts",
    GATHER: "What is past hard limits, gathered nightly",
    FOLLOW_UP: "What was withheld, looked at nightly",
    PURGE: "Papers of ended requests, purged nightly",
    ALARM: "Alarms of requests that are nearly due, daily",
    rederiving.REDERIVE: "Summing up again after erasures",
    drills.MONTHLY: "Drill of an erasure, where the settings want one",
}


@require_safe
@may("setting.view")
def setting_list(request: PersonRequest) -> HttpResponse:
    return _page(request)


@require_POST
@may("setting.change")
def setting_change(request: PersonRequest, key: str) -> HttpResponse:
    if key not in REGISTRY:
        raise Http404
    raw = request.POST.get("value", "")
    try:
        if not is_sure(request) and (question := _question(request, key, raw)):
            return question
        configuration.change(key, raw, actor=actor_of(request.user), now=timezone.now())
    except InvalidSetting as error:
        return _page(request, errors={key: str(error)}, given={key: raw}, status=422)
    schedules.follow_settings(now=timezone.now())
    notice(request, f"{REGISTRY[key].title} is changed.")
    return redirect("pages:setting-list")


@require_POST
@may("schedule.change")
def schedule_change(request: PersonRequest, kind: str) -> HttpResponse:
    if kind not in CRONS:
        raise Http404
    enabled = {"on": True, "off": False}.get(request.POST.get("enabled", ""))
    cron = request.POST.get("cron")
    try:
        schedules.change(kind, cron=cron, enabled=enabled, actor=actor_of(request.user), now=timezone.now())
    except InvalidCron as error:
        return _page(request, errors={kind: str(error)}, given={kind: cron or ""}, status=422)
    notice(request, "The schedule is changed.")
    return redirect("pages:setting-list")


@require_POST
@may("run.start")
def schedule_run_now(request: PersonRequest, kind: str) -> HttpResponse:
    if kind not in CRONS:
        raise Http404
    if kind == nightly.KIND and not may_evict():
        problem(request, "Nothing would run: retention is off, or multi-tenancy is on.")
        return redirect((request.POST.get("back") == "settings" and "pages:setting-list") or "pages:run-list")
    if kind == nightly.KIND and not is_sure(request):
        if under_way := nightly.under_way():
            problem(request, f"Nothing was started. {under_way.text}")
            return redirect("pages:run-list")
        return confirm_tonight(request, now=timezone.now())
    try:
        schedules.run_now(kind, actor=actor_of(request.user), now=timezone.now())
    except AlreadyLive as refusal:
        at = nightly.under_way_as(refusal.job).text if kind == nightly.KIND else str(refusal)
        problem(request, f"Nothing was started. {at}")
    else:
        said = "The nightly work is queued now. Its runs appear in this list."
        notice(request, said if kind == nightly.KIND else f"{SCHEDULES.get(kind, kind)}: queued now.")
    return redirect("pages:run-list" if kind == nightly.KIND else "pages:setting-list")


def _question(request: PersonRequest, key: str, raw: str) -> HttpResponse | None:
    """Ask first where the change would let runs take more, or let large ones go without a second person. Raises InvalidSetting."""
    before, after = configuration.value(key), REGISTRY[key].parse(raw)
    if key in BOUNDS and after > before:
        return _ask(request, key, after, outcome=None)
    if not lets_more_go(key, before, after) or not (key in SWITCHES or may_evict()):
        return None
    outcome = foresee(request.user, {key: after}, now=timezone.now())
    return _ask(request, key, after, outcome=outcome) if outcome.more or key in SWITCHES else None


def _ask(request: PersonRequest, key: str, value: bool | int, *, outcome: Outcome | None) -> HttpResponse:
    spec = REGISTRY[key]
    shown = ("on" if value else "off") if isinstance(value, bool) else f"{value:,}"
    verb = "Turn retention on" if key == "retention_enabled" else f"Set “{spec.title}” to {shown}"
    confirm = {
        "action": request.path,
        "verb": verb,
        "consequence": _consequence(key, outcome),
        "warnings": list(outcome.sentences()) if outcome else [],
        "keeps": list(_also(key, outcome)),
        "cancel": reverse("pages:setting-list"),
        "hidden": {"value": shown if isinstance(value, bool) else value, "sure": "yes"},
        "danger": bool(outcome and outcome.more),
    }
    return ask(request, confirm, heading=verb)


def _consequence(key: str, outcome: Outcome | None) -> str:
    if outcome is None:
        return f"{REGISTRY[key].help} With a higher value, larger runs go without one."
    at = schedules.next_run("nightly", now=timezone.now())
    when = f" The next one is at {at:%H:%M} UTC on {at:%d %b %Y}." if at else " The nightly run is switched off at present."
    if key == "retention_enabled":
        return f"From now on each nightly run carries out the published policies of all containers.{when}"
    return f"{counted(outcome.more, 'item')} more would go at the next runs.{when}"


def _also(key: str, outcome: Outcome | None) -> Iterator[str]:
    if key == "retention_enabled":
        yield "Containers that are opted out lose nothing. Without a published policy only old working memories go, if a setting says so."
    if outcome and outcome.left_out:
        yield f"{outcome.left_out:,} more containers were not looked at here."
    if outcome:
        yield "Pinned memories and sessions always stay."


def _page(
    request: PersonRequest, *, errors: dict[str, str] | None = None, given: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    values, now = configuration.values(), timezone.now()
    errors, given = errors or {}, given or {}
    rows = [
        {
            "spec": spec,
            "value": given.get(key, values[key]),
            "in_force": values[key],
            "error": errors.get(key),
            "switch": isinstance(spec.default, bool),
        }
        for key, spec in REGISTRY.items()
    ]
    plans = [
        {"schedule": schedules.get(kind, now=now), "name": SCHEDULES.get(kind, kind), "error": errors.get(kind), "cron": given.get(kind)}
        for kind in sorted(CRONS)
    ]
    failed = Job.objects.failed_since(now - FAILED_WITHIN).order_by("-finished_at", "-pk")
    context = {
        "rows": rows,
        "failed": [(job, SCHEDULES.get(job.kind, job.kind)) for job in failed[:FAILED_SHOWN]],
        "failed_total": failed.count(),
        "plans": plans,
        "may_change": request.user.may(Right.SETTING_CHANGE),
        "may_schedule": request.user.may(Right.SCHEDULE_CHANGE),
        "now": now,
    }
    return render_page(request, "settings/list.html", "settings/_table.html", context, status=status)
