"""A user's sessions, and one session with its messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import BigIntegerField, Count, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Left
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_memories, visible_sessions
from memadmin.lifecycle import explain
from memadmin.pages import wording
from memadmin.pages.days import Days
from memadmin.pages.decorators import may
from memadmin.pages.forms import PinForm, SearchField
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page, toast, wants_part
from memadmin.pages.lists import by_time, in_order, paging, slice_of
from memadmin.pages.messages import messages_of, shortened
from memadmin.pages.outlook import although_past, limit_dates, limits_passed, pinned_in_vain
from memadmin.pages.standing import Standing, standing_of
from memadmin.store import pinning
from memadmin.store.models import LongTermMemory, Pin, Provenance, Session, Subject, WorkingMemory
from memadmin.store.paging import page_with
from memadmin.store.querysets import LongTermQuerySet, SessionQuerySet
from memadmin.store.said import Looked, look_for
from memadmin.store.text import clean

MESSAGES_A_PAGE = 100
ENTRY_SHOWN = 20_000  # characters
ORPHANS_SHOWN = 50
DERIVED_SHOWN = 50
BEGINNING = 400  # characters of a memory that a list reads


class SessionsForm(forms.Form):
    """What the address of the list may say, besides days."""

    q = SearchField(required=False)


@dataclass(frozen=True)
class SessionsWanted:
    """The list that an address asks for. A text is looked for in ids, summaries and what was said."""

    text: str
    days: Days

    @classmethod
    def read(cls, request: PersonRequest) -> SessionsWanted:
        form = SessionsForm(request.GET)
        # Without the right to read texts a search would let one read them letter by letter.
        may_search = request.user.may(Right.MEMORY_READ_TEXT) and form.is_valid()
        return cls(text=form.cleaned_data["q"] if may_search else "", days=Days.read(request.GET))

    @property
    def narrows(self) -> bool:
        return bool(self.text or self.days.narrow or self.days.errors)

    def rows_of(self, subject: Subject) -> tuple[SessionQuerySet, Looked | None]:
        """Return the sessions, and how far their messages were looked through where a text is wanted."""
        sessions = Session.objects.of_subject(subject).active_between(self.days.since, self.days.before)
        if self.days.errors or not self.text:
            return sessions.none() if self.days.errors else sessions, None
        looked = look_for(self.text, subject, sessions)
        return sessions.about(self.text, said_in=looked.found), looked


@require_safe
@may("memory.view")
def user_sessions(request: PersonRequest, uid: UUID) -> HttpResponse:
    standing = standing_of(request.user, uid)
    wanted = SessionsWanted.read(request)
    sessions, looked = wanted.rows_of(standing.subject)
    page = slice_of(request, sessions.annotate(key=by_time("store_session.last_updated_at")), key="key", descending=True)
    shown = in_order(sessions, page)
    counts = dict(
        WorkingMemory.objects.filter(session_id__in=[session.pk for session in shown]).values_list("session_id").annotate(Count("id"))
    )
    context = {
        "standing": standing,
        "subject": standing.subject,
        "rows": [
            {"session": session, "working": counts.get(session.pk, 0), "said_in": looked.found.get(session.pk) if looked else None}
            for session in shown
        ],
        "paging": paging(request, page, total=sessions.count() if wanted.narrows else standing.subject.sessions, noun="sessions"),
        "wanted": wanted,
        "days": wanted.days,
        "looked": looked,
        "at_hand": standing.subject.working,
        "orphans": WorkingMemory.objects.of_subject(standing.subject).filter(session__isnull=True).order_by("-id")[:ORPHANS_SHOWN],
        "may_read": request.user.may(Right.MEMORY_READ_TEXT),
        "tab": "sessions",
    }
    return render_page(request, "sessions/list.html", "sessions/_table.html", context)


@require_safe
@may("memory.view")
def session_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    session = get_object_or_404(visible_sessions(request.user), uid=uid)
    return _detail(request, session)


@require_POST
@may("memory.pin")
def session_pin(request: PersonRequest, uid: UUID) -> HttpResponse:
    session, form, now = get_object_or_404(visible_sessions(request.user), uid=uid), PinForm(request.POST), timezone.now()
    if not form.is_valid():
        if _wants_chip(request):  # there is no room for the form's words
            return toast(_chip(request, session), " ".join(str(error) for errors in form.errors.values() for error in errors))
        return _detail(request, session, form=form, status=422)
    try:
        pinning.pin(session, **form.cleaned_data, actor=actor_of(request.user), now=now)
    except (pinning.AlreadyPinned, pinning.Gone) as error:
        return _refused(request, session, error)
    standing = standing_of(request.user, session.subject.uid)
    said = f"Pinned. No run evicts this session and its messages{although_past(limits_passed(session, standing, now=now))}."
    said += pinned_in_vain(session, standing.container, now=now)
    return _done(request, session, said, undo="pages:session-unpin")


@require_POST
@may("memory.pin")
def session_unpin(request: PersonRequest, uid: UUID) -> HttpResponse:
    session, now = get_object_or_404(visible_sessions(request.user), uid=uid), timezone.now()
    try:
        pinning.unpin(session, actor=actor_of(request.user), now=now, reason=clean(request.POST.get("reason", "")))
    except (pinning.NotPinned, pinning.Gone) as error:
        return _refused(request, session, error)
    fate = fate_of(session, standing_of(request.user, session.subject.uid), now=now)
    return _done(request, session, f"Unpinned. {fate}", undo="pages:session-pin-again")


@require_POST
@may("memory.pin")
def session_pin_again(request: PersonRequest, uid: UUID) -> HttpResponse:
    session = get_object_or_404(visible_sessions(request.user), uid=uid)
    try:
        pinning.pin_again(session, actor=actor_of(request.user), now=timezone.now())
    except (pinning.AlreadyPinned, pinning.NotPinned, pinning.Gone) as error:
        return _refused(request, session, error)
    return _done(request, session, "Pinned again, with its reason.", undo="pages:session-unpin")


def _done(request: PersonRequest, session: Session, words: str, *, undo: str) -> HttpResponse:
    undo_url = reverse(undo, args=[session.uid])
    if _wants_chip(request):
        return toast(_chip(request, session), words, f"{undo_url}?part=chip", undo_target=f"#pin-{session.uid}")
    notice(request, words, undo_url)
    return redirect("pages:session-detail", session.uid)


def _refused(request: PersonRequest, session: Session, error: Exception) -> HttpResponse:
    if _wants_chip(request):
        session.refresh_from_db()
        return toast(_chip(request, session), str(error))
    problem(request, str(error))
    return redirect("pages:session-detail", session.uid)


def _wants_chip(request: PersonRequest) -> bool:
    """True where the pin button in the table of a run has asked; elsewhere a session is pinned on its own page."""
    return wants_part(request) and (request.POST.get("part") or request.GET.get("part")) == "chip"


def _chip(request: PersonRequest, session: Session) -> HttpResponse:
    return render(request, "sessions/_chip.html", {"session": session})


def _detail(request: PersonRequest, session: Session, *, form: PinForm | None = None, status: int = 200) -> HttpResponse:
    standing = standing_of(request.user, session.subject.uid)
    written = WorkingMemory.objects.of_session(session)
    ordered = written.annotate(key=RawSQL("store_workingmemory.sequence", [], output_field=BigIntegerField()))
    page = slice_of(request, ordered, key="key", size=MESSAGES_A_PAGE, start=_page_of_entry(request, ordered))
    pin = Pin.objects.filter(target_uid=session.uid, subject=session.subject_id).first()
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    shown = in_order(written.select_related("session"), page)
    derived = Provenance.objects.filter(source_uid__in=[session.uid, *(row.uid for row in shown)], subject=session.subject_id)
    context = {
        "session": session,
        "standing": standing,
        "subject": standing.subject,
        "pin": pin,
        "form": form or PinForm(),
        "names": names_of([pin.actor] if pin else []),
        "fate": fate_of(session, standing, now=timezone.now()),
        "rows": [_entry(working, may_read=may_read, whole=request.GET.get("whole") == str(working.uid)) for working in shown],
        "paging": paging(request, page, total=written.count(), noun="entries"),
        "derived": _beginnings(visible_memories(request.user).with_uids(derived.values_list("derived_uid", flat=True)))[:DERIVED_SHOWN],
        "may_read": may_read,
    }
    return render_page(request, "sessions/detail.html", "sessions/_messages.html", context, status=status)


def _beginnings(memories: LongTermQuerySet) -> QuerySet[LongTermMemory]:
    return memories.defer("text", "parts", "metadata", "tags", "namespace").annotate(beginning=Left("text", BEGINNING))


def _entry(working: WorkingMemory, *, may_read: bool, whole: bool) -> dict[str, Any]:
    """Return an entry as the page shows it: a page of very long ones has their beginnings, and each of them whole when asked."""
    messages, left_out = messages_of(working) if may_read else [], 0
    if not whole:
        messages, left_out = shortened(messages, ENTRY_SHOWN)
    return {"working": working, "messages": messages, "left_out": left_out}


def _page_of_entry(request: PersonRequest, ordered: QuerySet[WorkingMemory]) -> str:
    """Return the place of the entry that the address names, as the source of a memory does; "" for none."""
    try:
        entry = ordered.filter(uid=UUID(request.GET.get("entry", ""))).first()
    except ValueError:
        return ""
    return page_with(ordered, entry.pk, key="key", size=MESSAGES_A_PAGE) if entry else ""


def fate_of(session: Session, standing: Standing, *, now: datetime) -> str:
    """Say whether and when a session goes."""
    if session.pinned:
        return f"Pinned: no run evicts it{although_past(limits_passed(session, standing, now=now))}."
    if standing.blocked:
        return f"It stays: {standing.blocked}."
    reasons = explain.reasons_now(session, standing.subject, standing.policy, now=now) if standing.policy else ()
    if reasons:
        return f"It goes {standing.with_which_run}: {wording.reason_in_words(reasons[0])}."
    goes_at = limit_dates(session, standing).get("age limit")
    if goes_at is None:
        return "It stays for now: no age limit reaches it."
    return f"It goes after {goes_at:%d %b %Y}, unless something is added to it."
