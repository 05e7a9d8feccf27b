"""What a preview or run passes over although it is past a limit: pinned or held items, as things stand now."""

from __future__ import annotations

from typing import Any

from django.db.models import BigIntegerField, F
from django.db.models.functions import Cast, Left
from django.http import Http404, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.actors import names_of
from memadmin.access.rights import Right
from memadmin.lifecycle import planning
from memadmin.lifecycle.spared import limits_past, spared_memories, spared_sessions
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.pages.runs import get_run
from memadmin.pages.victims import BEGINNING
from memadmin.store.models import LongTermMemory, Pin, Session

TYPES = {"long-term": "Long-term memories", "sessions": "Sessions"}


@require_safe
@may("run.view")
def run_spared(request: PersonRequest, number: int) -> HttpResponse:
    run = get_run(request, number)
    policy, may_read = planning.readable_policy(run), request.user.may(Right.MEMORY_READ_TEXT)
    if policy is None:
        raise Http404
    found = {
        "long-term": spared_memories(run.container, policy, as_of=run.as_of),
        "sessions": spared_sessions(run.container, policy, as_of=run.as_of),
    }
    counts = {name: rows.count() for name, rows in found.items()}
    chosen = request.GET.get("type", "")
    chosen = chosen if chosen in found else max(counts, key=lambda name: counts[name])
    page = slice_of(request, found[chosen].annotate(key=Cast(F("id"), BigIntegerField())), key="key")
    items = in_order(_with_text(found[chosen], may_read=may_read), page)
    pins = {pin.target_uid: pin for pin in Pin.objects.filter(container=run.container, target_uid__in=[item.uid for item in items])}
    context = {
        "run": run,
        "container": run.container,
        "rows": [{"item": item, "pin": pins.get(item.uid), "why": limits_past(item, policy, as_of=run.as_of)} for item in items],
        "names": names_of(pin.actor for pin in pins.values()),
        "types": [(name, label, counts[name]) for name, label in TYPES.items()],
        "chosen": chosen,
        "may_read": may_read,
        "paging": paging(request, page, total=counts[chosen], noun="items"),
        "now": timezone.now(),
    }
    return render_page(request, "runs/spared.html", "runs/_spared.html", context)


def _with_text(rows: Any, *, may_read: bool) -> Any:
    """Fetch the rows with as much text as a list shows, and with none for those who may not read it."""
    rows = rows.select_related("subject")
    if rows.model is Session:
        return rows if may_read else rows.defer("summary")
    assert rows.model is LongTermMemory
    rows = rows.defer("text", "parts", "metadata", "tags", "namespace")
    return rows.annotate(beginning=Left("text", BEGINNING)) if may_read else rows
