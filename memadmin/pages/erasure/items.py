"""The lines of a manifest one by one, by name and without text, and what a reviewer decides about them."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.erasure import deciding
from memadmin.erasure.deciding import Verdict
from memadmin.erasure.models import Decision, ErasureRequest, ManifestItem, Status
from memadmin.erasure.moves import Refusal, WrongState
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.store import locations
from memadmin.store.locations import Act, ItemClass

CODES = {**deciding.WITHHOLD_CODES, **deciding.KEEP_CODES, **deciding.UNLINK_CODES}
PAGES = {"store.sessions": "session-detail", "store.long_term": "memory-detail"}


class ItemFilter(forms.Form):
    place = forms.CharField(required=False, max_length=64)
    item_class = forms.ChoiceField(required=False, choices=[("", "Every class"), *ItemClass.choices])
    waiting = forms.BooleanField(required=False)


@require_safe
@may("erasure.view")
def erasure_items(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _show(request, get_request(request.user, uid))


@require_POST
@may("erasure.review")
def erasure_decide(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Treat the ticked lines as chosen."""
    found = get_request(request.user, uid)
    try:
        verdict = _verdict(request.POST)
        ids = [int(each) for each in request.POST.getlist("item") if each.isdecimal() and len(each) < 19]
        changed = deciding.decide(found, ids, verdict, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        return _show(request, found, refused=str(refusal), status=409 if isinstance(refusal, WrongState) else 422)
    notice(request, f"Decided about {changed:,} of them.")
    back = redirect("pages:erasure-items", uid)
    back["Location"] += f"?{request.GET.urlencode()}" if request.GET else ""
    return back


def _verdict(given: Any) -> Verdict:
    if given.get("act") not in Act.values:
        raise deciding.NotDecidable("Choose what is done with them.")
    day = given.get("review_on", "")
    try:
        review_on = date.fromisoformat(day) if day else None
    except ValueError:
        raise deciding.NotDecidable("The day of review is a date such as 2027-03-01.") from None
    return Verdict(act=Act(given["act"]), code=given.get("code", ""), review_on=review_on)


def _show(request: PersonRequest, found: ErasureRequest, *, refused: str = "", status: int = 200) -> HttpResponse:
    filters = ItemFilter(request.GET)
    chosen = filters.cleaned_data if filters.is_valid() else {"place": "", "item_class": "", "waiting": False}
    rows = ManifestItem.objects.filter(manifest__request=found, manifest__number=found.manifest_number or 0)
    if chosen["place"]:
        rows = rows.filter(location=chosen["place"])
    if chosen["item_class"]:
        rows = rows.filter(item_class=chosen["item_class"])
    if chosen["waiting"]:
        rows = rows.filter(decision=Decision.WAITING)
    page = slice_of(request, rows, key="id")
    items = in_order(rows, page)
    context = {
        "found": found,
        "filters": filters,
        "items": [(item, locations.LOCATIONS.get(item.location), PAGES.get(item.location, "")) for item in items],
        "paging": paging(request, page, total=rows.count(), noun="items"),
        "acts": [act for act in Act if act not in {Act.CLEAR}],
        "codes": CODES.items(),
        "may_decide": found.state == Status.REVIEW and request.user.may("erasure.review"),
        "refused": refused,
    }
    return render_page(request, "erasure/items.html", "erasure/_items.html", context, status=status)
