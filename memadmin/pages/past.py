"""What is no longer there as it was: a user's history, and the archive with the way back."""

from __future__ import annotations

from uuid import UUID

from django.db.models import BigIntegerField, F
from django.db.models.functions import Cast
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_archive, visible_memories, visible_sessions
from memadmin.lifecycle import comeback, restoring
from memadmin.pages import restores
from memadmin.pages.confirming import is_sure
from memadmin.pages.copies import copies_of
from memadmin.pages.days import Days
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.lists import by_time, in_order, paging, slice_of
from memadmin.pages.standing import standing_of
from memadmin.store.archive import unpack
from memadmin.store.models import Archived, HistoryEntry, LongTermMemory, Subject


@require_safe
@may("memory.view")
def user_history(request: PersonRequest, uid: UUID) -> HttpResponse:
    standing = standing_of(request.user, uid)
    entries = HistoryEntry.objects.of_subject(standing.subject)
    page = slice_of(request, entries.annotate(key=by_time("store_historyentry.created_at")), key="key", descending=True)
    shown = in_order(entries, page)
    named = [entry.memory_uid for entry in shown if entry.memory_uid]
    context = {
        "standing": standing,
        "subject": standing.subject,
        "entries": shown,
        "copies": copies_of(request.user, named),
        "present": set(LongTermMemory.objects.with_uids(named).values_list("uid", flat=True)),
        "names": names_of(entry.actor for entry in shown),
        "paging": paging(request, page, total=standing.subject.history, noun="changes"),
        "may_read": request.user.may(Right.MEMORY_READ_TEXT),
        "tab": "history",
    }
    return render_page(request, "history/list.html", "history/_table.html", context)


@require_safe
@may("memory.view")
def user_archive(request: PersonRequest, uid: UUID) -> HttpResponse:
    standing = standing_of(request.user, uid)
    days = Days.read(request.GET)
    copies = restoring.copies_of(standing.subject, since=days.since)
    copies = copies.none() if days.errors else copies
    page = slice_of(request, copies.annotate(key=Cast(F("id"), BigIntegerField())), key="key", descending=True)
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    shown = in_order(copies if may_read else copies.defer("payload"), page)
    context = {
        "standing": standing,
        "subject": standing.subject,
        "rows": [{"copy": copy, "text": _text_of(copy) if may_read else None} for copy in shown],
        "paging": paging(request, page, total=copies.count() if days.first else standing.subject.archived, noun="archived items"),
        "days": days,
        "restoring": restoring.under_way(standing.subject),
        "left": restores.what_a_job_left(restoring.latest(standing.subject)),
        "may_read": may_read,
        "now": timezone.now(),
        "tab": "archive",
    }
    return render_page(request, "archive/list.html", "archive/_table.html", context)


@require_POST
@may("run.restore")
def archived_restore(request: PersonRequest, uid: UUID) -> HttpResponse:
    copy, now = visible_archive(request.user).filter(uid=uid).first(), timezone.now()
    if copy is None:
        return _restored_already(request, uid)
    address = reverse("pages:user-archive", args=[Subject.objects.get(pk=copy.subject_id).uid])
    if copy.expires_at and copy.expires_at < now:
        problem(request, "Its last day in the archive has passed: it cannot be restored any more.")
        return redirect(address)
    one = Archived.objects.filter(pk=copy.pk)
    if not is_sure(request) and comeback.look_ahead(one, now=now).warns:
        return restores.ask(request, one, hidden={}, cancel=address, now=now)
    restores.say(request, restoring.restore_item(copy, actor=actor_of(request.user), now=now))
    return redirect(address)


def _restored_already(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Answer a second click, or somebody who was slower: the copy has left the archive because the item is back."""
    item = visible_memories(request.user).filter(uid=uid).first() or visible_sessions(request.user).filter(uid=uid).first()
    if item is None:
        raise Http404
    notice(request, "This is restored already.")
    return redirect("pages:user-archive", item.subject.uid)


def _text_of(copy: Archived) -> str:
    body = unpack(copy.payload)
    if "text" in body["row"]:
        return str(body["row"]["text"])
    messages = sum(len(working["messages"]) for working in body["working"])
    return f"{body['row']['summary'] or body['row']['external_id']} ({messages} messages)"
