"""Downloads of the log: a range that proves itself, or what a filter finds as a table. Each leaves an entry before its first byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.db import transaction
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.audit import checkpoints, exporting, listing, log
from memadmin.audit.actions import Action
from memadmin.audit.listing import Wanted
from memadmin.pages.auditing import AuditFilter
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, problem
from memadmin.transfer import sheets


@require_POST
@may("audit.view")
def audit_export(request: PersonRequest) -> HttpResponseBase:
    """Send the entries of the chosen days as a file that proves itself; or, as CSV, what the whole filter finds."""
    form, now = AuditFilter(request.POST), timezone.now()
    if not form.is_valid():
        problem(request, "Choose days such as 2026-03-31.")
        return redirect("pages:audit-list")
    wanted, actor, begun = form.wanted, actor_of(request.user), f"audit-{form.wanted.stream}-{now:%Y%m%d-%H%M%S}"
    if request.POST.get("format") == "csv":
        rows = (listing.record(entry) | {"counts": json.dumps(entry.counts)} for entry in listing.export(wanted, actor=actor, now=now))
        return _download(sheets.table(listing.FIELDS, rows), kind="text/csv; charset=utf-8", name=f"{begun}.csv")
    span = Wanted(stream=wanted.stream, since=wanted.since, until=wanted.until).entries().order_by("seq").values_list("seq", flat=True)
    first, last = span.first(), span.last()
    with transaction.atomic():
        counts = {"first": first or 0, "last": last or 0}
        log.append(Action.AUDIT_EXPORTED, actor=actor, target=f"audit/{wanted.stream}", at=now, counts=counts)
    proof = exporting.lines(wanted.stream, first=first or 1, last=last or 0, folder=checkpoints.folder())
    return _download(proof, kind="application/x-ndjson", name=f"{begun}.jsonl")


def _download(lines: Iterator[str], *, kind: str, name: str) -> StreamingHttpResponse:
    answer = StreamingHttpResponse((line.encode() for line in lines), content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
