"""The audit log, newest first: filters, what is known of its chain, and an export that can be checked elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db import connection, transaction
from django.db.models import F
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, visible_memories, visible_sessions, visible_subjects
from memadmin.audit import checkpoints, exporting, log, verification
from memadmin.audit.actions import Action
from memadmin.audit.anchors import AnchorsUnusable
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload, AuditPending, Outcome, Stream
from memadmin.audit.querysets import EntryQuerySet
from memadmin.pages.decorators import may
from memadmin.pages.forms import SearchField
from memadmin.pages.htmx import PersonRequest, problem, render_page
from memadmin.pages.lists import paging, slice_of

COUNTED_TO = 10_000  # a filter that finds more says "more than": counting them all would be reading them all
LOOKED_AT = 500  # of the newest rows, for the line on the chain
ABOUT_A_PERSON = {
    Action.MEMORY_PINNED,
    Action.MEMORY_UNPINNED,
    Action.SESSION_PINNED,
    Action.SESSION_UNPINNED,
    Action.HOLD_PLACED,
    Action.HOLD_RELEASED,
    Action.ARRIVAL_RELEASED,
    Action.SUPPRESSION_LIFTED,
}
DAY = forms.DateInput(attrs={"type": "date"})


class AuditFilter(forms.Form):
    stream = forms.ChoiceField(required=False, choices=[("", "Governance"), (Stream.ACTIVITY.value, "Activity")])
    action = forms.ChoiceField(required=False, choices=[("", "Everything"), *((action.value, action.label) for action in Action)])
    outcome = forms.ChoiceField(required=False, choices=[("", "Any"), *Outcome.choices])
    actor = SearchField(required=False, max_length=100)
    target = SearchField(required=False, max_length=250)
    since = forms.DateField(required=False, widget=DAY)
    until = forms.DateField(required=False, widget=DAY)

    @property
    def in_stream(self) -> str:
        return self.cleaned_data.get("stream") or Stream.GOVERNANCE.value

    def narrow(self, entries: EntryQuerySet) -> EntryQuerySet:
        """Return the entries that the filter leaves; what is wrong in it narrows nothing and is said beside it."""
        given = self.cleaned_data
        if given.get("action"):
            entries = entries.of_actions([given["action"]])
        if given.get("outcome"):
            entries = entries.filter(outcome=given["outcome"])
        if given.get("actor"):
            entries = entries.by_actor(given["actor"])
        if given.get("target"):
            entries = entries.on_target(given["target"])
        return self.within_days(entries)

    def within_days(self, entries: EntryQuerySet) -> EntryQuerySet:
        given = self.cleaned_data
        if given.get("since"):
            entries = entries.not_before(datetime.combine(given["since"], time.min, tzinfo=UTC))
        if given.get("until"):
            entries = entries.earlier_than(datetime.combine(given["until"] + timedelta(days=1), time.min, tzinfo=UTC))
        return entries


@require_safe
@may("audit.view")
def audit_list(request: PersonRequest) -> HttpResponse:
    form = AuditFilter(request.GET)
    form.is_valid()
    stream = form.in_stream
    entries = form.narrow(AuditEntry.objects.in_stream(stream))
    page = slice_of(request, entries.annotate(key=F("seq"), id=F("seq")), key="key", descending=True)
    shown = list(AuditEntry.objects.in_stream(stream).filter(seq__in=page.ids).newest_first())
    bodies = dict(AuditPayload.objects.filter(stream=stream, seq__in=page.ids).values_list("seq", "body"))
    narrowed = any(value for name, value in form.cleaned_data.items() if name != "stream")
    total, capped = _total(entries, stream, narrowed=narrowed)
    context = {
        "form": form,
        "rows": _rows(shown, bodies, closed=_closed_to(request.user, shown)),
        "names": names_of(entry.actor for entry in shown),
        "narrowed": narrowed,
        "paging": paging(request, page, total=total, noun="entries", capped=capped),
        "chain": _chain(),
    }
    return render_page(request, "audit/list.html", "audit/_table.html", context)


@require_POST
@may("audit.view")
def audit_export(request: PersonRequest) -> HttpResponseBase:
    """Send the entries of the chosen days as a file that proves itself; that somebody took it is an entry too."""
    form, now = AuditFilter(request.POST), timezone.now()
    if not form.is_valid():
        problem(request, "Choose days such as 2026-03-31.")
        return redirect("pages:audit-list")
    stream = form.in_stream
    span = form.within_days(AuditEntry.objects.in_stream(stream)).order_by("seq").values_list("seq", flat=True)
    first, last = span.first(), span.last()
    with transaction.atomic():
        counts = {"first": first or 0, "last": last or 0}
        log.append(Action.AUDIT_EXPORTED, actor=actor_of(request.user), target=f"audit/{stream}", at=now, counts=counts)
    lines = exporting.lines(stream, first=first or 1, last=last or 0, folder=checkpoints.folder())
    answer = StreamingHttpResponse((line.encode() for line in lines), content_type="application/x-ndjson")
    answer["Content-Disposition"] = f'attachment; filename="audit-{stream}-{now:%Y%m%d-%H%M%S}.jsonl"'
    return answer


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


def _chain() -> dict[str, Any]:
    """Say what a quick look at the end of the log finds. The whole is for the command."""
    try:
        report = verification.verify_end(connection, rows=LOOKED_AT, anchors=checkpoints.folder())
    except AnchorsUnusable as error:
        return {"problem": str(error)}
    return {
        "report": report,
        "waiting": AuditPending.objects.count(),
        "anchored_at": datetime.fromisoformat(report.anchors.at) if report.anchors.at else None,
        "looked_at": sum(part.rows for part in report.streams),
    }


def _closed_to(person: Person, entries: Iterable[AuditEntry]) -> set[int]:
    """Return the entries whose words are about somebody whose memories this person may not read: the reasons of pins and holds."""
    about = {entry.seq: entry for entry in entries if entry.action in ABOUT_A_PERSON}
    if not about or not person.may(Right.MEMORY_READ_TEXT):
        return set(about)
    if person.all_containers:
        return set()
    uids = {seq: UUID(entry.target.rpartition("/")[2]) for seq, entry in about.items()}
    rows = (visible_memories(person), visible_sessions(person), visible_subjects(person), visible_containers(person))
    seen = {uid for each in rows for uid in each.filter(uid__in=list(uids.values())).values_list("uid", flat=True)}
    return {seq for seq, uid in uids.items() if uid not in seen}
