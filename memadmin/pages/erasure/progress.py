"""An erasure that has begun: how far it is, and what its verification found."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.http import require_safe

from memadmin.erasure.access_exports import starting
from memadmin.erasure.execution import resuming
from memadmin.erasure.execution.progress import CAUSES, progress_of
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, leave_to, wants_part
from memadmin.store import locations
from memadmin.store.coverage import unknown_tables

WORKING = frozenset({Status.EXECUTING, Status.VERIFYING})
BEGUN = WORKING | {Status.STALLED, Status.RESIDUE_FOUND}


@require_safe
@may("erasure.view")
def erasure_progress(request: PersonRequest, uid: UUID) -> HttpResponse:
    """The part that the page asks for while the erasure runs; once something else is to be seen, the whole page.

    A page that waits for something else, a search or an export, says what it shows, and is left as it is while that is so: somebody may
    be writing in it.
    """
    found = get_request(request.user, uid)
    if not wants_part(request):
        return redirect("pages:erasure-detail", uid)
    shows = request.GET.get("shows")
    if shows == shown_of(found, _export_state(found)):
        return HttpResponse(status=204)
    context = about_execution(found)
    if shows is not None or not context.get("follows"):
        return leave_to(request, resolve_url("pages:erasure-detail", uid))
    return render(request, "erasure/_execution.html", {"found": found, **context})


def shown_of(found: ErasureRequest, export: str) -> str:
    """Return by what a page knows that nothing has changed in what it waits for. `export`: the state of the request's newest one."""
    return f"{found.state}.{found.manifest_number or 0}.{export}"


def _export_state(found: ErasureRequest) -> str:
    exports = found.access_exports.order_by("-pk") if starting.is_for(found) else found.access_exports.none()
    return exports.values_list("state", flat=True).first() or ""


def about_execution(found: ErasureRequest) -> dict[str, Any]:
    """Return what `_execution.html` shows, nothing for a request whose erasure has not begun or has ended."""
    if found.state not in BEGUN:
        return {}
    look, searched = resuming.last_look(found), resuming.is_searched(found)
    progress = progress_of(found)
    findings = list(look.findings.order_by("kind", "table", "column")) if look and found.state == Status.RESIDUE_FOUND else []
    return {
        "progress": progress,
        "cause": CAUSES.get(progress.error_code, ""),
        "follows": found.state in WORKING or searched,
        "searched": searched,
        "look": look,
        "findings": findings,
        "titles": {place.table: place.title for place in locations.in_order() if place.table},
        "unknown": sorted({each.table for each in findings} & set(unknown_tables())) if findings else [],
    }
