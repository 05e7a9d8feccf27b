"""Drills: start one, follow it, and read the reports of those before."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.erasure.drills import running
from memadmin.erasure.drills.reporting import report_of
from memadmin.erasure.drills.running import PHASES, CannotDrill
from memadmin.erasure.models import Drill, DrillState, ErasureRequest
from memadmin.pages.decorators import may
from memadmin.pages.erasure.stopping import stop_of
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.store import configuration

IN_PLAIN = {
    "plant": "a made-up person is planted in every place",
    "search": "every place is being asked",
    "approve": "it is reviewed, and approved by a second made-up actor",
    "execute": "it is being erased and verified",
    "check": "neighbour, raw bytes and certificate are looked at",
    "tidy": "what was planted is taken away",
}


@require_safe
@may("erasure.view")
def erasure_drills(request: PersonRequest) -> HttpResponse:
    return _list(request)


@require_POST
@may("erasure.approve")
def erasure_drill_start(request: PersonRequest) -> HttpResponse:
    try:
        drill = running.start(actor=actor_of(request.user), now=timezone.now())
    except CannotDrill as refusal:
        return _list(request, refused=str(refusal), status=409)
    notice(request, "The drill has begun. This page follows it.")
    return redirect("pages:erasure-drill", drill.uid)


@require_safe
@may("erasure.view")
def erasure_drill(request: PersonRequest, uid: UUID) -> HttpResponse:
    """The report; while the drill runs, how far it is."""
    drill = get_object_or_404(Drill, uid=uid)
    about = ErasureRequest.objects.filter(drill=drill).first()
    phase = running.phase_of(drill, about) if drill.state == DrillState.RUNNING else ""
    context = {
        "drill": drill,
        "report": report_of(drill),
        "about": about,
        "certificate": about.certificates.order_by("-pk").first() if about else None,
        "step": PHASES.index(phase) + 1 if phase else len(PHASES),
        "steps": len(PHASES),
        "doing": IN_PLAIN.get(phase, ""),
        "names": names_of([drill.requested_by]),
    }
    return render_page(request, "erasure/drill.html", "erasure/_drill.html", context)


def _list(request: PersonRequest, *, refused: str = "", status: int = 200) -> HttpResponse:
    rows = Drill.objects.all()
    page = slice_of(request, rows, key="id", descending=True)
    drills = in_order(rows, page)
    context = {
        "drills": drills,
        "names": names_of({drill.requested_by for drill in drills}),
        "paging": paging(request, page, total=rows.count(), noun="drills"),
        "paused": configuration.value("erasure_paused"),
        **stop_of(request.user),
        "running": Drill.objects.filter(state=DrillState.RUNNING).first(),
        "refused": refused,
    }
    return render_page(request, "erasure/drills.html", "erasure/_drills.html", context, status=status)
