"""One long-term memory: the whole text, why it is kept or goes, where it came from, what changed, and its pin."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_history, visible_memories, visible_sessions, visible_working
from memadmin.pages.copies import copies_of, sessions_of_messages
from memadmin.pages.decorators import may
from memadmin.pages.forms import PinForm
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page, toast, wants_part
from memadmin.pages.memories import listed, table_rows
from memadmin.pages.outlook import although_past, limits_passed, outlook_of, pinned_in_vain
from memadmin.pages.standing import standing_of
from memadmin.store import pinning
from memadmin.store.models import ItemType, LongTermMemory, Pin, Provenance
from memadmin.store.text import clean

HISTORY_SHOWN = 50
# Where a memory can be pinned, and what the answer replaces there.
PARTS = {"row": "#memory-{uid}", "chip": "#pin-{uid}", "panel": "#memory-panel"}


@require_safe
@may("memory.view")
def memory_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    memory = get_object_or_404(visible_memories(request.user), uid=uid)
    return _detail(request, memory, now=timezone.now())


@require_safe
@may("memory.view")
def memory_row(request: PersonRequest, uid: UUID) -> HttpResponse:
    """The row of one memory again, after something about it has changed."""
    memory = get_object_or_404(visible_memories(request.user), uid=uid)
    return _row(request, memory, now=timezone.now())


@require_POST
@may("memory.pin")
def memory_pin(request: PersonRequest, uid: UUID) -> HttpResponse:
    memory, form, now = get_object_or_404(visible_memories(request.user), uid=uid), PinForm(request.POST), timezone.now()
    if not form.is_valid():
        if wants_part(request) and _part_name(request) != "panel":  # there is no room for the form's words
            return toast(_part(request, memory, now=now), " ".join(str(error) for errors in form.errors.values() for error in errors))
        return _detail(request, memory, now=now, form=form, status=422)
    try:
        pinning.pin(memory, **form.cleaned_data, actor=actor_of(request.user), now=now)
    except (pinning.AlreadyPinned, pinning.Gone) as error:
        return _refused(request, memory, error, now=now)
    standing = standing_of(request.user, memory.subject.uid)
    words = f"Pinned. No run evicts this memory until it is unpinned{although_past(limits_passed(memory, standing, now=now))}."
    words += pinned_in_vain(memory, standing.container, now=now)
    return _done(request, memory, words, undo="pages:memory-unpin", now=now)


@require_POST
@may("memory.pin")
def memory_unpin(request: PersonRequest, uid: UUID) -> HttpResponse:
    memory, now = get_object_or_404(visible_memories(request.user), uid=uid), timezone.now()
    try:
        pinning.unpin(memory, actor=actor_of(request.user), now=now, reason=clean(request.POST.get("reason", "")))
    except (pinning.NotPinned, pinning.Gone) as error:
        return _refused(request, memory, error, now=now)
    outlook = outlook_of(memory, standing_of(request.user, memory.subject.uid), now=now)
    return _done(request, memory, f"Unpinned. {outlook.sentence}", undo="pages:memory-pin-again", now=now)


@require_POST
@may("memory.pin")
def memory_pin_again(request: PersonRequest, uid: UUID) -> HttpResponse:
    memory, now = get_object_or_404(visible_memories(request.user), uid=uid), timezone.now()
    try:
        pinning.pin_again(memory, actor=actor_of(request.user), now=now)
    except (pinning.AlreadyPinned, pinning.NotPinned, pinning.Gone) as error:
        return _refused(request, memory, error, now=now)
    return _done(request, memory, "Pinned again, with its reason.", undo="pages:memory-unpin", now=now)


def _done(request: PersonRequest, memory: LongTermMemory, words: str, *, undo: str, now: datetime) -> HttpResponse:
    part = _part_name(request)
    undo_url = f"{reverse(undo, args=[memory.uid])}?part={part}"
    if not wants_part(request):
        notice(request, words, undo_url)
        return redirect("pages:memory-detail", memory.uid)
    memory.refresh_from_db()
    target = PARTS[part].format(uid=memory.uid)
    response = toast(_part(request, memory, now=now), words, undo_url, undo_target=target)
    others = {"row": ["panel"], "panel": ["memory"]}.get(part, [])  # the other parts of the page fetch themselves anew
    for event in ("memory-changed", *(f"{other}-{memory.uid}" for other in others)):
        response = trigger_client_event(response, event)
    return response


def _refused(request: PersonRequest, memory: LongTermMemory, error: Exception, *, now: datetime) -> HttpResponse:
    if isinstance(error, pinning.Gone):
        raise Http404
    if wants_part(request):
        return toast(_part(request, memory, now=now), str(error))
    problem(request, str(error))
    return redirect("pages:memory-detail", memory.uid)


def _part_name(request: PersonRequest) -> str:
    asked = request.POST.get("part") or request.GET.get("part")
    return asked if asked in PARTS else "panel"


def _part(request: PersonRequest, memory: LongTermMemory, *, now: datetime) -> HttpResponse:
    """Answer with the part that asked."""
    part = _part_name(request)
    if part == "chip":
        return render(request, "memories/_chip.html", {"memory": memory})
    return _row(request, memory, now=now) if part == "row" else _detail(request, memory, now=now)


def _row(request: PersonRequest, memory: LongTermMemory, *, now: datetime) -> HttpResponse:
    standing = standing_of(request.user, memory.subject.uid)
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    rows = table_rows(standing, now=now, may_read=may_read).filter(pk=memory.pk)
    (row,) = listed(rows, standing, person=request.user, now=now)
    context = {"memory": row, "may_read": may_read, "may_pin": request.user.may(Right.MEMORY_PIN), "now": now, "standing": standing}
    return render_page(request, "memories/row.html", "memories/_row.html", context)


def _detail(
    request: PersonRequest, memory: LongTermMemory, *, now: datetime, form: PinForm | None = None, status: int = 200
) -> HttpResponse:
    standing = standing_of(request.user, memory.subject.uid)
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    pin = Pin.objects.filter(target_uid=memory.uid, subject=memory.subject_id).first()
    history = list(visible_history(request.user).of_memory(memory).newest_first()[: HISTORY_SHOWN + 1])
    actors = [entry.actor for entry in history] + ([pin.actor] if pin else [])
    context = {
        "memory": memory,
        "standing": standing,
        "subject": standing.subject,
        "outlook": outlook_of(memory, standing, now=now),
        "pin": pin,
        "pin_form": form or PinForm(),
        "sources": sources_of(request, memory),
        "history": history[:HISTORY_SHOWN],
        "more_history": len(history) > HISTORY_SHOWN,
        "names": names_of(actors),
        "details": _details(memory) if may_read else [],
        "may_read": may_read,
        "in_panel": wants_part(request),
        "now": now,
    }
    return render_page(request, "memories/detail.html", "memories/_panel.html", context, status=status)


def sources_of(request: PersonRequest, memory: LongTermMemory) -> list[dict[str, Any]]:
    """Return where the memory came from, down to the message; a source that has gone is named as gone, or as lying in the archive."""
    links = list(Provenance.objects.filter(derived_uid=memory.uid, subject=memory.subject_id).order_by("source_type", "id")[:50])
    uids = [link.source_uid for link in links]
    sessions = {row.uid: row for row in visible_sessions(request.user).with_uids(uids)}
    working = {row.uid: row for row in visible_working(request.user).with_uids(uids).select_related("session")}
    memories = {row.uid: row for row in visible_memories(request.user).with_uids(uids)}
    found = {**sessions, **working, **memories}
    copies = copies_of(request.user, [uid for uid in uids if uid not in found])
    messages = {link.source_uid for link in links if link.source_type == ItemType.WORKING} - found.keys()
    went_with = sessions_of_messages(request.user, memory.subject_id, messages)
    return [
        {"link": link, **{name: rows.get(link.source_uid) for name, rows in (("item", found), ("copy", copies), ("went_with", went_with))}}
        for link in links
    ]


def _details(memory: LongTermMemory) -> list[tuple[str, str]]:
    """Return the remaining fields that say something, as text."""
    fields = {"Namespace": memory.namespace, "Tags": memory.tags, "Metadata": memory.metadata, "Content parts": memory.parts}
    return [
        (name, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)) for name, value in fields.items() if value not in ({}, None)
    ]
