"""The register of pins as a file, as its filters narrow it. The log has its entry before the first byte leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle import pinned
from memadmin.lifecycle.spared import limits_past
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest
from memadmin.pages.pins import Register
from memadmin.store.models import Pin
from memadmin.transfer import sheets

AT_ONCE = 500
COLUMNS = (
    *("container", "user_id", "type", "uid", "pinned_by", "pinned_at", "reason", "tokens", "past_limits", "review_on"),
    *("reviewed_at", "reviewed_by"),
)

Record = Mapping[str, Any]


@require_POST
@may("export.make")
def pin_export(request: PersonRequest) -> HttpResponseBase:
    now, form = timezone.now(), request.POST.get("format", "csv")
    if form not in {"csv", "json"}:
        return HttpResponse("The format is csv or json.", status=422, content_type="text/plain; charset=utf-8")
    register = Register.read(request, now=now)
    with transaction.atomic():
        target = f"containers/{register.container.uid}" if register.container else "containers/all"
        log.append(Action.EXPORT_FINISHED, actor=actor_of(request.user), target=target, at=now, counts={"pins": register.total})
    records = _records(register, may_read=request.user.may(Right.MEMORY_READ_TEXT), now=now)
    lines = _as_csv(records) if form == "csv" else _as_json(records)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    answer = StreamingHttpResponse(lines, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="memadmin-pins-{now:%Y-%m-%d}.{form}"'
    return answer


def _records(register: Register, *, may_read: bool, now: datetime) -> Iterator[Record]:
    """Yield the pins of the list, the oldest first, a page at a time: of any number in little memory."""
    last = 0
    while page := list(register.pins.filter(pk__gt=last).select_related("subject", "container").weighed().order_by("pk")[:AT_ONCE]):
        items = pinned.items_of(page)
        for pin in page:
            policy, item = register.policies.get(pin.container_id), items.get(pin.pk)
            past = limits_past(item, policy, as_of=now) if item and policy else []
            yield _record(pin, [str(reason) for reason in past], may_read=may_read)
        last = page[-1].pk


def _record(pin: Pin, past: list[str], *, may_read: bool) -> Record:
    values = (
        *(pin.container.name, pin.subject.user_id, pin.target_type, str(pin.target_uid), pin.actor, pin.created_at),
        *(pin.reason if may_read else None, vars(pin)["tokens"], past, pin.review_on, pin.reviewed_at, pin.reviewed_by or None),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _as_csv(records: Iterator[Record]) -> Iterator[str]:
    yield sheets.line(COLUMNS)
    for record in records:
        yield sheets.line(record.values())


def _as_json(records: Iterator[Record]) -> Iterator[str]:
    yield "["
    for place, record in enumerate(records):
        yield (",\n" if place else "\n") + json.dumps(record, ensure_ascii=False, default=sheets.plain)
    yield "\n]\n"
