"""A container's hard limit: how many days, what is past it, pinned or not, and the request that asks for it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import BigIntegerField, F, Q
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.visibility import get_container
from memadmin.erasure import gathering
from memadmin.erasure.gathering import GATHER, PastLimit
from memadmin.erasure.models import Status
from memadmin.jobs import schedules
from memadmin.pages.decorators import may
from memadmin.pages.erasure.shown_items import ADDRESSES
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.store.hard_limits import LONGEST, set_limit
from memadmin.store.models import Container, ItemType, WorkingMemory

LABELS = {
    ItemType.SESSION: "Sessions",
    ItemType.WORKING: "Messages and other working memories",
    ItemType.LONG_TERM: "Long-term memories",
    ItemType.HISTORY: "History",
}


ARCHIVE = "archive"


class LimitForm(forms.Form):
    """No limit is an explicit choice; an empty field is none."""

    limit = forms.ChoiceField(
        choices=[("none", "No hard limit"), ("days", "At most so many days:")],
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    days = forms.IntegerField(required=False, min_value=1, max_value=LONGEST, label="Days")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("limit") == "days" and given.get("days") is None and "days" not in self.errors:
            self.add_error("days", f"Give a whole number of days from 1 to {LONGEST:,}, or choose no hard limit.")
        return given

    def wanted(self) -> int | None:
        return self.cleaned_data["days"] if self.cleaned_data["limit"] == "days" else None


@require_safe
@may("erasure.view")
def container_hard_limit(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    days = container.hard_limit_days
    return _show(request, container, LimitForm(initial={"limit": "none" if days is None else "days", "days": days}))


@require_POST
@may("container.limit")
def container_hard_limit_set(request: PersonRequest, uid: UUID) -> HttpResponse:
    container, form = get_container(request.user, uid), LimitForm(request.POST)
    if not form.is_valid():
        return _show(request, container, form, status=422)
    set_limit(container, form.wanted(), actor=actor_of(request.user), now=timezone.now())
    days = container.hard_limit_days
    notice(request, "There is no hard limit any more." if days is None else f"Nothing is to be kept for longer than {days:,} days.")
    return redirect("pages:container-hard-limit", container.uid)


def _show(request: PersonRequest, container: Container, form: LimitForm, *, status: int = 200) -> HttpResponse:
    now = timezone.now()
    parts = list(gathering.past_limit(container, now=now))
    kinds = {_name(part): part for part in parts}
    chosen = request.GET.get("type", "")
    part = kinds.get(chosen) or next((each for each in kinds.values() if each.rows.exists()), None)
    context = {
        "container": container,
        "form": form,
        "lines": [_line(each) for each in parts],
        "request_open": gathering.standing(container),
        "fixed_from": Status.RECEIVED,
        "next_at": schedules.next_run(GATHER, now=now),
        "now": now,
        **_listed(request, part, now=now),
    }
    return render_page(request, "erasure/hard_limit.html", "erasure/_hard_limit.html", context, status=status)


def _name(part: PastLimit) -> str:
    return ARCHIVE if part.archived else str(part.item_type)


def _line(part: PastLimit) -> dict[str, Any]:
    """Return how much of one type is past the limit, and how much of it a pin or a hold concerns."""
    pinned = 0 if part.archived or part.rows.model is WorkingMemory else part.rows.filter(pinned=True).count()
    return {
        "type": _name(part),
        "label": "Copies in the archive" if part.archived else LABELS[part.item_type],
        "total": part.rows.count(),
        "pinned": pinned,
        "held": part.rows.filter(held=True).count(),
        "waiting": part.listable.count(),
    }


def _listed(request: PersonRequest, part: PastLimit | None, *, now: datetime) -> dict[str, Any]:
    if part is None:
        return {"rows": [], "chosen": ""}
    has_pins = part.rows.model is not WorkingMemory and not part.archived
    only_pinned = has_pins and request.GET.get("pinned") == "yes"
    shown = part.rows.filter(Q(pinned=True)) if only_pinned else part.rows
    page = slice_of(request, shown.annotate(key=Cast(F("id"), BigIntegerField())), key="key")
    rows = in_order(part.rows.model.objects.select_related("subject"), page)
    return {
        "rows": rows,
        "chosen": _name(part),
        "archived": part.archived,
        "only_pinned": only_pinned,
        "has_pins": has_pins,
        "address_of": "" if part.archived else ADDRESSES.get(part.item_type, ""),
        "paging": paging(request, page, total=shown.count(), noun="items"),
    }
