"""Correcting item by item for a request: a list of what is remembered about the person, and a form for one item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, F
from django.db.models.functions import Cast
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.erasure import correction_checks, rectifying
from memadmin.erasure.models import ErasureRequest, Kind, WrongLeft
from memadmin.erasure.moves import Refusal, WrongState
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.erasure.shown_items import around
from memadmin.pages.errors import not_allowed
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.htmx import problem as say_problem
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.store import locations
from memadmin.store.models import ItemType, LongTermMemory, Provenance, WorkingMemory
from memadmin.store.said import texts_of

LEFT_SHOWN = 100
MODELS: dict[str, Any] = {ItemType.LONG_TERM.value: LongTermMemory, ItemType.WORKING.value: WorkingMemory}


@require_safe
@may("erasure.review")
def erasure_correct(request: PersonRequest, uid: UUID) -> HttpResponse:
    """What is remembered about the users that are meant, the newest first, and the messages by their memories."""
    found = _rectifying(request, uid)
    words = request.GET.get("q", "").strip()
    rows = LongTermMemory.objects.filter(subject_id__in=_meant(found))
    rows = rows.filter(text__icontains=words) if words else rows
    page = slice_of(request, rows.annotate(key=Cast(F("id"), BigIntegerField())), key="key", descending=True)
    context = {
        "found": found,
        "words": words,
        "rows": in_order(LongTermMemory.objects.select_related("subject", "container"), page),
        "may_read": request.user.may("memory.read_text"),
        "open": found.state in rectifying.CORRECTABLE,
        "left": _left(found, may_read=request.user.may("memory.read_text")),
        "done": rectifying.corrections(found),
        "paging": paging(request, page, total=rows.count(), noun="memories"),
    }
    return render_page(request, "erasure/correct.html", "erasure/_correct.html", context)


@require_safe
@may("erasure.review")
def erasure_correct_item(request: PersonRequest, uid: UUID, kind: str, item: UUID) -> HttpResponse:
    if not request.user.may("memory.read_text"):
        return not_allowed(request, Right.MEMORY_READ_TEXT)
    found = _rectifying(request, uid)
    return _form(request, found, kind, _item(found, kind, item))


@require_POST
@may("erasure.review")
def erasure_correct_save(request: PersonRequest, uid: UUID, kind: str, item: UUID) -> HttpResponse:
    found = _rectifying(request, uid)
    row, text = _item(found, kind, item), request.POST.get("text", "")
    place = request.POST.get("place", "0")
    number = int(place) if place.isdecimal() and len(place) < 7 else 0
    try:
        rectifying.correct(found, row, text, place=number, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        status = 409 if isinstance(refusal, WrongState) else 422
        return _form(request, found, kind, row, given={number: text}, problem=str(refusal), status=status)
    notice(request, "It is corrected, and what it said before is taken out.")
    return redirect("pages:erasure-correct", found.uid)


@require_POST
@may("erasure.review")
def erasure_correct_take_out(request: PersonRequest, uid: UUID, left: int) -> HttpResponse:
    """Take wrong words out of a copy in which the check has found them."""
    return _settled(request, uid, left, rectifying.take_out, "It is taken out there.")


@require_POST
@may("erasure.review")
def erasure_correct_leave(request: PersonRequest, uid: UUID, left: int) -> HttpResponse:
    """Note that a longer text is right, though it has the words that were corrected."""
    return _settled(request, uid, left, rectifying.leave, "It stays as it is.")


def _settled(request: PersonRequest, uid: UUID, left: int, act: Callable[..., object], said: str) -> HttpResponse:
    found = _rectifying(request, uid)
    rows = correction_checks.left(ErasureRequest.objects.filter(pk=found.pk))
    try:
        act(found, get_object_or_404(rows, pk=left), actor=actor_of(request.user), now=timezone.now())
        notice(request, said)
    except Refusal as refusal:
        say_problem(request, str(refusal))
    return redirect("pages:erasure-correct", found.uid)


def _left(found: ErasureRequest, *, may_read: bool) -> list[dict[str, Any]]:
    """Return where words stand that were corrected: row, place in words, which form corrects it ("" for a copy), and what it says."""
    rows = correction_checks.left(ErasureRequest.objects.filter(pk=found.pk)).select_related("correction").order_by("location", "pk")
    forms = {"store.long_term": "long-term", "store.working": "working"}
    return [
        {
            "row": row,
            "place": locations.get(row.location).title,
            "form": forms.get(row.location, ""),
            "said": _said_at(found, row) if may_read else "",
        }
        for row in rows[:LEFT_SHOWN]
    ]


def _said_at(found: ErasureRequest, left: WrongLeft) -> str:
    """Return what the row says around the words that were corrected."""
    model, _, columns = correction_checks.PLACES[left.location]
    row = model._default_manager.filter(uid=left.row_uid, subject_id__in=_meant(found)).first()
    texts = [text for column in columns for text in correction_checks.texts_of(row, column)] if row else []
    wrong = correction_checks.Wrong([left.correction])
    for text in texts:
        if left.correction in wrong.met_in([text], left.correction.item_uid):
            return around(text, [wrong.where_in(text)])
    return ""


def _rectifying(request: PersonRequest, uid: UUID) -> ErasureRequest:
    found = get_request(request.user, uid)
    if found.kind != Kind.RECTIFY:
        raise Http404
    return found


def _meant(found: ErasureRequest) -> list[int]:
    return [key for key in found.subjects.filter(ticked=True).values_list("subject_id", flat=True) if key is not None]


def _item(found: ErasureRequest, kind: str, uid: UUID) -> Any:
    """Return the item, or 404 where it is not of a user that the request means."""
    if kind not in MODELS:
        raise Http404
    rows = MODELS[kind].objects.select_related("subject", "container")
    return get_object_or_404(rows, uid=uid, subject_id__in=_meant(found))


def _form(
    request: PersonRequest,
    found: ErasureRequest,
    kind: str,
    row: Any,
    *,
    given: dict[int, str] | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    texts = [row.text] if kind == ItemType.LONG_TERM else ["\n".join(texts_of(message)) for message in row.messages]
    may_read = request.user.may("memory.read_text")
    context = {
        "found": found,
        "kind": kind,
        "row": row,
        "parts": [(place, text, (given or {}).get(place, text)) for place, text in enumerate(texts)] if may_read else [],
        "said_in": _sources(found, row) if kind == ItemType.LONG_TERM else [],
        "made": Provenance.objects.filter(source_uid=row.uid).count(),
        "problem": problem,
    }
    return render(request, "erasure/correct_item.html", context, status=status)


def _sources(found: ErasureRequest, row: LongTermMemory) -> list[WorkingMemory]:
    """Return the entries of sessions that the memory was made from: the wrong words may stand there too."""
    links = Provenance.objects.filter(derived_uid=row.uid, source_type=ItemType.WORKING).values("source_uid")
    return list(WorkingMemory.objects.filter(uid__in=links, subject_id__in=_meant(found)).order_by("created_at", "pk")[:20])
