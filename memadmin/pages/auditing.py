"""The audit log, newest first, as filters narrow it, with what is known of its chain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import F
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.actors import actor_called, names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, visible_memories, visible_sessions, visible_subjects
from memadmin.audit.actions import Action
from memadmin.audit.listing import Wanted
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload, Outcome, Stream
from memadmin.audit.querysets import EntryQuerySet
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest
from memadmin.pages.audit_chain import chain_status
from memadmin.pages.decorators import may
from memadmin.pages.forms import SearchField
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.lists import paging, slice_of

COUNTED_TO = 10_000  # a filter that finds more says "more than": counting them all would be reading them all
ABOUT_A_PERSON = {
    Action.MEMORY_PINNED,
    Action.MEMORY_UNPINNED,
    Action.SESSION_PINNED,
    Action.SESSION_UNPINNED,
    Action.HOLD_PLACED,
    Action.HOLD_RELEASED,
    Action.ARRIVAL_DROPPED,
    Action.ARRIVAL_RELEASED,
    Action.ARRIVALS_DECIDED,
    Action.SUPPRESSION_LIFTED,
    Action.ITEM_DELETED,
    Action.PIN_REVIEWED,
    Action.NOTICE_DECIDED,
    Action.ERASURE_FINDING_SETTLED,
}
DAY = forms.DateInput(attrs={"type": "date"})


class AuditFilter(forms.Form):
    stream = forms.ChoiceField(required=False, choices=[("", "Governance"), (Stream.ACTIVITY.value, "Activity")])
    action = forms.ChoiceField(required=False, choices=[("", "Everything"), *((action.value, action.label) for action in Action)])
    outcome = forms.ChoiceField(required=False, choices=[("", "Any"), *Outcome.choices])
    actor = SearchField(required=False, max_length=100)
    target = SearchField(required=False, max_length=250)
    request_id = SearchField(required=False, max_length=64)
    since = forms.DateField(required=False, widget=DAY)
    until = forms.DateField(required=False, widget=DAY)

    @property
    def wanted(self) -> Wanted:
        """Return what the filter asks for; what is wrong in it narrows nothing and is said beside it."""
        given = {name: value for name, value in self.cleaned_data.items() if value}
        given |= {"actor": actor_called(given["actor"])} if "actor" in given else {}
        given |= {"target": _target_called(given["target"])} if "target" in given else {}
        return Wanted(
            stream=given.get("stream", Stream.GOVERNANCE.value),
            actions=[given["action"]] if "action" in given else (),
            **{name: given[name] for name in ("outcome", "actor", "target", "request_id") if name in given},
            since=_midnight(given.get("since")),
            until=_midnight(given.get("until"), later=timedelta(days=1)),
        )


@require_safe
@may("audit.view")
def audit_list(request: PersonRequest) -> HttpResponse:
    form = AuditFilter(request.GET)
    form.is_valid()
    wanted = form.wanted
    entries, stream = wanted.entries(), wanted.stream
    page = slice_of(request, entries.annotate(key=F("seq"), id=F("seq")), key="key", descending=True)
    shown = list(AuditEntry.objects.in_stream(stream).filter(seq__in=page.ids).newest_first())
    bodies = dict(AuditPayload.objects.filter(stream=stream, seq__in=page.ids).values_list("seq", "body"))
    total, capped = _total(entries, stream, narrowed=wanted.narrows)
    context = {
        "form": form,
        "rows": _rows(shown, bodies, closed=closed_to(request.user, shown)),
        "names": names_of(entry.actor for entry in shown),
        "narrowed": wanted.narrows,
        "paging": paging(request, page, total=total, noun="entries", capped=capped),
        **chain_status(now=timezone.now()),
    }
    return render_page(request, "audit/list.html", "audit/_table.html", context)


def _target_called(said: str) -> str:
    """Return what the log calls a request that is named by its number, as pages do; all else as it was said."""
    number = re.fullmatch(r"request (\d{1,9})", said.strip(), re.IGNORECASE)
    found = ErasureRequest.objects.filter(number=int(number[1])).first() if number else None
    return target_of(found) if found else said


def _midnight(day: date | None, *, later: timedelta = timedelta(0)) -> datetime | None:
    return None if day is None or day == date.max else datetime.combine(day, time.min, tzinfo=UTC) + later


def _total(entries: EntryQuerySet, stream: str, *, narrowed: bool) -> tuple[int, bool]:
    """Return how many entries there are, and whether there are more. The stream has no gaps, so its last number is its length."""
    if not narrowed:
        return AuditHead.objects.filter(stream=stream).values_list("seq", flat=True).first() or 0, False
    counted = entries.order_by()[: COUNTED_TO + 1].count()
    return min(counted, COUNTED_TO), counted > COUNTED_TO


def _rows(shown: Iterable[AuditEntry], bodies: dict[int, str], *, closed: set[int]) -> list[dict[str, Any]]:
    return [
        {
            "entry": entry,
            "counts": list(entry.counts.items()),  # in a template, a count called "items" would stand for the method
            "label": Action(entry.action).label if entry.action in Action.values else entry.action,
            "body": None if entry.seq in closed else bodies.get(entry.seq),
            "closed": entry.seq in closed and entry.seq in bodies,
            "gone": bool(entry.payload_digest) and entry.seq not in bodies,
        }
        for entry in shown
    ]


def closed_to(person: Person, entries: Iterable[AuditEntry]) -> set[int]:
    """Return the entries whose words are about somebody whose memories this person may not read: reasons, such as of pins and holds."""
    about = {entry.seq: entry for entry in entries if entry.action in ABOUT_A_PERSON}
    if not about or not person.may(Right.MEMORY_READ_TEXT):
        return set(about)
    if person.all_containers:
        return set()
    uids = {seq: _uid_of(entry.target) for seq, entry in about.items()}
    named = {uid for uid in uids.values() if uid is not None}
    rows = (visible_memories(person), visible_sessions(person), visible_subjects(person), visible_containers(person))
    seen = {uid for each in rows for uid in each.filter(uid__in=named).values_list("uid", flat=True)}
    return {seq for seq, uid in uids.items() if uid not in seen}


def _uid_of(target: str) -> UUID | None:
    """Return the uid of what an entry is about; None, and so closed, where it names several or none."""
    try:
        return UUID(target.rpartition("/")[2])
    except ValueError:
        return None
