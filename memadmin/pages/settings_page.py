"""Run-time settings and the nightly schedule."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.jobs import schedules
from memadmin.jobs.cron import InvalidCron
from memadmin.jobs.registry import CRONS
from memadmin.lifecycle import nightly
from memadmin.lifecycle.nightly import may_evict
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.tonight import confirm_tonight
from memadmin.store import configuration
from memadmin.store.configuration import REGISTRY, InvalidSetting


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
    if key == "retention_enabled" and raw.strip().lower() in {"on", "true"} and request.POST.get("sure") != "yes" and not may_evict():
        return _confirm_retention(request)
    try:
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
    if kind == "nightly" and not may_evict():
        problem(request, "Nothing would run: retention is off, or multi-tenancy is on.")
        return redirect((request.POST.get("back") == "settings" and "pages:setting-list") or "pages:run-list")
    under_way = nightly.under_way() if kind == nightly.KIND else None
    if under_way:
        problem(request, f"Nothing was started. {under_way.text}")
        return redirect("pages:run-list")
    if kind == "nightly" and request.POST.get("sure") != "yes":
        return confirm_tonight(request, now=timezone.now())
    schedules.run_now(kind, actor=actor_of(request.user), now=timezone.now())
    notice(request, "The nightly work is queued now. Its runs appear in this list.")
    return redirect("pages:run-list")


def _confirm_retention(request: PersonRequest) -> HttpResponse:
    at = schedules.next_run("nightly", now=timezone.now())
    when = f" The next one is at {at:%H:%M} UTC on {at:%d %b %Y}." if at else " The nightly run is switched off at present."
    confirm = {
        "action": request.path,
        "verb": "Turn retention on",
        "consequence": f"From now on each nightly run carries out the published policies of all containers.{when}",
        "keeps": [
            "Containers that are opted out lose nothing. Without a published policy only old working memories go, if a setting says so.",
            "Pinned memories and sessions always stay.",
        ],
        "cancel": reverse("pages:setting-list"),
        "hidden": {"value": "on", "sure": "yes"},
    }
    return render(request, "components/confirm.html", {"confirm": confirm, "heading": "Turn retention on"})


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
    plans = [{"schedule": schedules.get(kind, now=now), "error": errors.get(kind), "cron": given.get(kind)} for kind in sorted(CRONS)]
    context = {
        "rows": rows,
        "plans": plans,
        "may_change": request.user.may(Right.SETTING_CHANGE),
        "may_schedule": request.user.may(Right.SCHEDULE_CHANGE),
        "now": now,
    }
    return render_page(request, "settings/list.html", "settings/_table.html", context, status=status)
