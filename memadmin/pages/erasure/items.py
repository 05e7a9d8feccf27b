"""The lines of a manifest one by one, and what a reviewer decides about them. What they say is shown to who may read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.text import capfirst
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.erasure import deciding, manifests
from memadmin.erasure.deciding import Verdict
from memadmin.erasure.models import Decision, ErasureRequest, Kind, Line, Manifest, ManifestItem, Status
from memadmin.erasure.moves import Refusal, WrongState
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.erasure.shown_items import ARCHIVE, ShownItem, shown_items
from memadmin.pages.erasure.shown_notes import ShownNote, shown_notes
from memadmin.pages.erasure.shown_pins import shown_pins
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.store import locations
from memadmin.store.locations import Act, ItemClass
from memadmin.store.models import ItemType

TYPES: dict[str, str] = {
    "store.sessions": ItemType.SESSION,
    "store.working": ItemType.WORKING,
    "store.long_term": ItemType.LONG_TERM,
    "store.history": ItemType.HISTORY,
    "store.archive": ARCHIVE,
}
SELECT = {"class": "form-select"}


class ItemFilter(forms.Form):
    place = forms.ChoiceField(required=False, widget=forms.Select(attrs=SELECT))
    item_class = forms.ChoiceField(
        required=False,
        label="Class",
        choices=[("", "Every class"), *((value, capfirst(label)) for value, label in ItemClass.choices)],
        widget=forms.Select(attrs=SELECT),
    )
    waiting = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs={"class": "form-check-input"}))

    def __init__(self, data: Any, names: Iterable[str]) -> None:
        super().__init__(data)
        titles = [(name, locations.LOCATIONS[name].title if name in locations.LOCATIONS else name) for name in names]
        self.fields["place"].choices = [("", "Every place"), *titles]  # type: ignore[attr-defined]


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
        verdict = verdict_of(request.POST)
        changed = deciding.decide(found, _ticked(request), verdict, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        return _show(request, found, refused=str(refusal), status=409 if isinstance(refusal, WrongState) else 422)
    notice(request, f"Decided about {changed:,} of them.")
    back = redirect("pages:erasure-items", uid)
    back["Location"] += f"?{request.GET.urlencode()}" if request.GET else ""
    return back


def _ticked(request: PersonRequest) -> list[int]:
    return [int(each) for each in request.POST.getlist("item") if each.isdecimal() and len(each) < 19]


def verdict_of(given: Any) -> Verdict:
    """Read what is to be done with things. Raises NotDecidable."""
    if given.get("act") not in Act.values:
        raise deciding.NotDecidable("Choose what is done with them.")
    day = given.get("review_on", "")
    try:
        review_on = date.fromisoformat(day) if day else None
    except ValueError:
        raise deciding.NotDecidable("The day of review is a date such as 2027-03-01.") from None
    return Verdict(act=Act(given["act"]), code=given.get("code", ""), review_on=review_on)


def _show(request: PersonRequest, found: ErasureRequest, *, refused: str = "", status: int = 200) -> HttpResponse:
    manifest = _manifest(request, found)
    lines = Line.objects.filter(manifest=manifest)
    filters = ItemFilter(request.GET, manifests.order_of(set(lines.values_list("location", flat=True))))
    filters.is_valid()
    chosen = {"place": "", "item_class": "", "waiting": False} | filters.cleaned_data
    rows = ManifestItem.objects.filter(manifest=manifest)
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
        "items": [(item, locations.LOCATIONS.get(item.location), shown) for item, shown in _with_what_they_say(request, found, items)],
        "paging": paging(request, page, total=rows.count(), noun="items"),
        "narrowed": any(chosen.values()),
        "kind": Kind(found.kind),
        "acts": _acts(found),
        "codes": deciding.codes_of(found.kind).items(),
        "words": deciding.ALL_CODES | {manifests.HELD: "a hold, or what is kept hangs on it"},
        "manifest": manifest,
        "is_current": manifest is None or manifest.number == found.manifest_number,
        "may_decide": _is_in_review(found, manifest) and request.user.may(Right.ERASURE_REVIEW) and bool(_acts(found)),
        "ticked": set(_ticked(request)),
        "refused": refused,
    }
    return render_page(request, "erasure/items.html", "erasure/_items.html", context, status=status)


def _manifest(request: PersonRequest, found: ErasureRequest) -> Manifest | None:
    """Return the manifest that the address names, else the one that counts."""
    named = request.GET.get("manifest", "")
    number = int(named) if named.isascii() and named.isdigit() and len(named) < 9 else None
    earlier = found.manifests.filter(number=number).first() if number is not None else None
    return earlier or found.manifests.filter(number=found.manifest_number or 0).first()


def _is_in_review(found: ErasureRequest, manifest: Manifest | None) -> bool:
    return found.state == Status.REVIEW and manifest is not None and manifest.number == found.manifest_number


def _with_what_they_say(
    request: PersonRequest, found: ErasureRequest, items: Sequence[ManifestItem]
) -> Iterator[tuple[ManifestItem, ShownItem | ShownNote | None]]:
    """Yield each line with the item that it is, the pin, or what people here wrote; None for other places and what has gone."""
    named = {item.pk: (TYPES[item.location], item.row_uid) for item in items if item.location in TYPES}
    ids = found.subjects.filter(ticked=True, user_id__isnull=False).values_list("user_id", flat=True)
    words = [str(each) for each in ids]
    shown = shown_items(request.user, named.values(), words=words) if named else {}
    others = shown_notes(request.user, items, words=words) | shown_pins(request.user, items)
    for item in items:
        yield item, shown.get(named[item.pk]) if item.pk in named else others.get(item.pk)


def _acts(found: ErasureRequest) -> list[tuple[str, str]]:
    """Return what a reviewer can decide about a thing. Of a request that erases nothing, only whether it is in the export."""
    if Kind(found.kind).erases:
        return [(act.value, str(act.label)) for act in Act if act != Act.CLEAR]
    return [(Act.WITHHOLD.value, "leave it out of the export"), (Act.DELETE.value, "give it")] if found.kind == Kind.ACCESS else []
