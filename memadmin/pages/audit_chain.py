"""Whether the log is whole: what a quick look finds now, what the last verification found, and having it verified."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.audit import checkpoints, log, verification
from memadmin.audit.anchors import AnchorsUnusable
from memadmin.audit.findings import COULD_NOT_RUN, MEANS, Kind
from memadmin.audit.models import AuditPending, Verification
from memadmin.jobs import heartbeat, schedules
from memadmin.lifecycle import verifying
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, render_page, wants_part

LOOKED_AT = 500  # of the newest rows
ANCHORED_WITHIN = timedelta(hours=1)  # a checkpoint is due ten minutes after a row
SEALED_WITHIN = timedelta(minutes=15)
VERIFIED_WITHIN = timedelta(days=2)


@require_safe
@may("audit.view")
def audit_chain(request: PersonRequest) -> HttpResponse:
    """The state of the chain. The page asks every two seconds while it is being verified."""
    if not wants_part(request):
        return redirect("pages:audit-list")
    return render_page(request, "audit/list.html", "audit/_chain.html", chain_status(now=timezone.now()))


@require_POST
@may("audit.view")
def audit_verify(request: PersonRequest) -> HttpResponse:
    """Have all of the log read. That it was asked for, and what was found, are entries too."""
    verifying.ask(actor=actor_of(request.user), now=timezone.now())
    notice(request, "The whole log is being verified.")
    return redirect("pages:audit-list")


def chain_status(*, now: datetime) -> dict[str, Any]:
    """Return the context of `audit/_chain.html`."""
    job, last = verifying.under_way(), verifying.latest()
    status: dict[str, Any] = {
        "last": last,
        "means": _means(last.exit_code if last else None),
        "could_not_run": COULD_NOT_RUN,
        "job": job,
        "percent": None if job is None or not job.total else min(100, 100 * job.done // job.total),
        "next_at": schedules.next_run(verifying.VERIFY, now=now),
        "late": late(last, now=now),
    }
    try:
        report = verification.verify_end(connection, rows=LOOKED_AT, anchors=checkpoints.folder())
    except AnchorsUnusable as error:
        return {**status, "chain": {"problem": str(error)}}
    anchored_at = datetime.fromisoformat(report.anchors.at) if report.anchors.at else None
    waiting, looked_at = AuditPending.objects.count(), sum(part.rows for part in report.streams)
    return {
        **status,
        "chain": {
            "report": report,
            "means": _means(report.exit_code),
            "waiting": waiting,
            "anchored_at": anchored_at,
            "looked_at": looked_at,
        },
    }


def _means(exit_code: int | None) -> str:
    return MEANS[Kind(exit_code)] if exit_code in set(Kind) else ""


def late(last: Verification | None, *, now: datetime) -> list[str]:
    """Say what of the log's upkeep has not happened in its time; `last` is the last verification that ended."""
    found = []
    if heartbeat.age(now) is not None and (last is None or last.started_at < now - VERIFIED_WITHIN):
        found.append("The log has not been verified for two days." if last else "The log has never been verified. It is every night.")
    try:
        unpinned = checkpoints.unanchored_since()
    except AnchorsUnusable as error:
        return [*found, str(error)]
    if unpinned and unpinned < now - ANCHORED_WITHIN:
        found.append(
            "Entries have waited for a signed checkpoint for more than an hour: see that the worker runs and can write to its folder."
        )
    oldest = log.waiting_since()
    if oldest and oldest < now - SEALED_WITHIN:
        found.append(
            "Entries have waited to be sealed for more than 15 minutes, and are not protected until then: see that the worker runs."
        )
    return found
