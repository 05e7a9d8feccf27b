"""The audit log, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django import forms
from django.db.models import F
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from memadmin.access.actors import names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_memories, visible_sessions
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload, Stream
from memadmin.pages.decorators import may
from memadmin.pages.forms import SearchField
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.lists import paging, slice_of

ABOUT_A_PERSON = {Action.MEMORY_PINNED, Action.MEMORY_UNPINNED, Action.SESSION_PINNED, Action.SESSION_UNPINNED}


class AuditFilter(forms.Form):
    action = forms.ChoiceField(required=False, choices=[("", "Everything"), *((action.value, action.label) for action in Action)])
    target = SearchField(required=False)


@require_safe
@may("audit.view")
def audit_list(request: PersonRequest) -> HttpResponse:
    form = AuditFilter(request.GET)
    form.is_valid()
    entries = AuditEntry.objects.in_stream(Stream.GOVERNANCE)
    if form.cleaned_data.get("action"):
        entries = entries.of_actions([form.cleaned_data["action"]])
    if form.cleaned_data.get("target"):
        entries = entries.on_target(form.cleaned_data["target"])
    page = slice_of(request, entries.annotate(key=F("seq"), id=F("seq")), key="key", descending=True)
    shown = list(entries.filter(seq__in=page.ids).newest_first())
    bodies = dict(AuditPayload.objects.filter(stream=Stream.GOVERNANCE, seq__in=page.ids).values_list("seq", "body"))
    closed = _closed_to(request.user, shown)
    context = {
        "form": form,
        "rows": [
            {
                "entry": entry,
                "counts": list(entry.counts.items()),  # in a template, a count called "items" would stand for the method
                "label": Action(entry.action).label if entry.action in Action.values else entry.action,
                "body": None if entry.seq in closed else bodies.get(entry.seq),
                "closed": entry.seq in closed,
            }
            for entry in shown
        ],
        "names": names_of(entry.actor for entry in shown),
        "narrowed": any(form.cleaned_data.values()),
        "paging": paging(request, page, total=entries.count(), noun="entries"),
    }
    return render_page(request, "audit/list.html", "audit/_table.html", context)


def _closed_to(person: Person, entries: Iterable[AuditEntry]) -> set[int]:
    """Return the entries whose words are about somebody whose memories this person may not read: the reasons of pins."""
    about = {entry.seq: UUID(entry.target.rpartition("/")[2]) for entry in entries if entry.action in ABOUT_A_PERSON}
    if not about or not person.may(Right.MEMORY_READ_TEXT):
        return set(about)
    if person.all_containers:
        return set()
    uids = list(about.values())
    seen = {
        *visible_memories(person).with_uids(uids).values_list("uid", flat=True),
        *visible_sessions(person).with_uids(uids).values_list("uid", flat=True),
    }
    return {seq for seq, uid in about.items() if uid not in seen}
