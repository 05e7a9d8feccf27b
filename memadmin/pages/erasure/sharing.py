"""Mentions by what they share, decided about a name or a form of words at a time: what it is, how many have it, of how many users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.erasure import bulk_decisions, deciding, mentions, sharing
from memadmin.erasure.asking import looked_through, model_of, searched_in
from memadmin.erasure.bulk_decisions import Undoable
from memadmin.erasure.models import ErasureRequest, ManifestItem, Status
from memadmin.erasure.moves import Refusal
from memadmin.erasure.sharing import Group
from memadmin.erasure.visibility import get_request
from memadmin.pages import confirming
from memadmin.pages.decorators import may
from memadmin.pages.erasure.detail import status_of
from memadmin.pages.erasure.items import verdict_of
from memadmin.pages.erasure.shown_notes import row_key_of
from memadmin.pages.erasure.undoable import said_of, undoable_in
from memadmin.pages.htmx import PersonRequest, notice, render_page
from memadmin.pages.text import excerpt
from memadmin.plurals import counted
from memadmin.store import locations
from memadmin.store.locations import Act
from memadmin.store.models import Subject

AT_ONCE = 50  # groups on a page; those that are decided make room for the next ones
PASSAGE = 160  # characters
ACTS = (Act.REDACT, Act.KEEP, Act.DELETE, Act.WITHHOLD)


@require_safe
@may("erasure.view")
def erasure_mentions(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _show(request, get_request(request.user, uid))


@require_POST
@may("erasure.review")
def erasure_mentions_decide(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Treat what waits in the ticked groups as chosen."""
    found = get_request(request.user, uid)
    try:
        ticked, verdict = request.POST.getlist("group"), verdict_of(request.POST)
        changed = sharing.decide_shared(found, ticked, verdict, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        return _show(request, found, refused=str(refusal), status=status_of(refusal))
    notice(request, f"Decided about {changed:,} of them.")
    return redirect("pages:erasure-mentions", uid)


@require_POST
@may("erasure.review")
def erasure_mentions_leave(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Leave with its owners all that many users share."""
    found = get_request(request.user, uid)
    try:
        changed = sharing.leave_common(found, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        return _show(request, found, refused=str(refusal), status=status_of(refusal))
    notice(request, f"Left {changed:,} of them as they are: what many users share.")
    return redirect("pages:erasure-mentions", uid)


@require_POST
@may("erasure.review")
def erasure_decision_undo(request: PersonRequest, uid: UUID, number: int) -> HttpResponse:
    """Let what the last decision about many has decided wait again: asked first, with how many things these are."""
    found = get_request(request.user, uid)
    last = bulk_decisions.last_of(found)
    if last is not None and last.decision.number == number and not confirming.is_sure(request):
        return _ask_to_undo(request, found, last)
    try:
        changed = bulk_decisions.undo(found, number, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        return _show(request, found, refused=str(refusal), status=status_of(refusal))
    notice(request, f"{changed:,} of them wait for a decision again.")
    return redirect("pages:erasure-mentions", uid)


def _ask_to_undo(request: PersonRequest, found: ErasureRequest, last: Undoable) -> HttpResponse:
    keeps = ["What was decided one by one since then stays as it was decided." if last.items != last.decision.items else ""]
    keeps += [
        "The list waits for an approval: it goes back to review, and is frozen anew." if found.state == Status.AWAITING_APPROVAL else ""
    ]
    confirm = {
        "action": request.path,
        "verb": f"Undo it for {counted(last.items, 'item')}",
        "consequence": f"The last decision about many, “{said_of(last.decision)}”, would be undone: "
        f"{counted(last.items, 'item waits', 'items wait')} for a decision again, as before. Nothing was erased yet.",
        "keeps": [sentence for sentence in keeps if sentence],
        "cancel": reverse("pages:erasure-mentions", args=[found.uid]),
        "hidden": {"sure": "yes"},
    }
    return confirming.ask(request, confirm, heading="Undo a decision about many")


def _show(request: PersonRequest, found: ErasureRequest, *, refused: str = "", status: int = 200) -> HttpResponse:
    manifest = found.manifests.filter(number=found.manifest_number or 0, completed_at__isnull=False).first()
    everything = request.GET.get("all") == "yes"
    groups = sharing.groups_of(manifest, waiting=not everything) if manifest else []
    shown = groups[:AT_ONCE]
    said = _passages(shown) if request.user.may(Right.MEMORY_READ_TEXT) else {}
    context = {
        "found": found,
        "rows": [(group, said.get(group.first, "")) for group in shown],
        "groups": len(groups),
        "items": sum(group.waiting for group in groups),
        "common": sum(group.waiting for group in groups if group.is_common),
        "common_lines": sum(group.is_common and group.waiting > 0 for group in groups),
        "ticked": set(request.POST.getlist("group")),
        "at_once": AT_ONCE,
        "everything": everything,
        "others": Subject.objects.filter(container__in=_containers(found), user_id__isnull=False).count(),
        "acts": [(act.value, str(act.label)) for act in ACTS],
        "codes": deciding.codes_of(found.kind).items(),
        "may_decide": found.state == Status.REVIEW and request.user.may(Right.ERASURE_REVIEW) and any(group.waiting for group in shown),
        "refused": refused,
        **undoable_in(found),
    }
    return render_page(request, "erasure/mentions.html", "erasure/_mentions.html", context, status=status)


def _containers(found: ErasureRequest) -> set[int]:
    named = found.subjects.filter(ticked=True, container__isnull=False).values_list("container", flat=True)
    return {*named, *found.items.values_list("container", flat=True)}


def _passages(groups: Sequence[Group]) -> dict[int, str]:
    """Return what the items of each group share, as one of them says it, by the key of that one."""
    found: dict[int, str] = {}
    by_place: dict[str, list[ManifestItem]] = {}
    for item in ManifestItem.objects.filter(pk__in=[group.first for group in groups]):
        by_place.setdefault(item.location, []).append(item)
    for place, items in by_place.items():
        location = locations.LOCATIONS.get(place)
        if location is None or not location.table:
            continue
        keys = {item.pk: row_key_of(item) for item in items}
        rows = model_of(location)._default_manager.filter(pk__in=list(keys.values())).values("pk", *looked_through(location))
        said: dict[Any, list[Any]] = {row["pk"]: searched_in(location, row) for row in rows}
        for item in items:
            there = said.get(keys[item.pk])
            found[item.pk] = excerpt(mentions.passage(there, item.matched_at), PASSAGE) if there else ""
    return found
