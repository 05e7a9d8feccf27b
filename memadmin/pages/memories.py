"""The user page: one user's long-term memories with live scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Coalesce, Left
from django.http import HttpResponse
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.pages.copies import copies_of, sessions_of_messages
from memadmin.pages.days import Days
from memadmin.pages.decorators import may
from memadmin.pages.forms import SearchField
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.pages.standing import Standing, standing_of
from memadmin.store.listing import MemoryFilter, Sort, State, keyed, memories_of
from memadmin.store.models import Archived, ItemType, LongTermMemory, Provenance, Session, Subject, WorkingMemory
from memadmin.store.querysets import LongTermQuerySet

Row = dict[str, Any]  # a memory as the list shows it: plain values, which a template reads several times faster than a model's
COLUMNS = (
    "pk",
    "uid",
    "pinned",
    "held",
    "restricted",
    "strategy_type",
    "created_at",
    "last_accessed_at",
    "hits",
    "tokens",
    "superseded_by",
)
SOURCE = ("source_message", "source_session", "source_name")
BEGINNING = 400  # characters of a text that a list reads
METADATA_READ = 400
STATES = {
    "": "All memories",
    State.PINNED: "Pinned",
    State.EXPOSED: "Not pinned",
    State.EXPIRED: "Expired",
    State.UNREAD: "Never recalled",
    State.UNDATED: "Without a date",
}
SORTS = {
    Sort.SCORE: "Score",
    Sort.CREATED: "Created",
    Sort.ACCESSED: "Last recalled",
    Sort.TOKENS: "Tokens",
    Sort.HITS: "Times recalled",
}


class MemoryForm(forms.Form):
    """What the address of the list may say."""

    q = SearchField(required=False, label="Text", widget=forms.TextInput(attrs={"type": "search"}))
    state = forms.ChoiceField(required=False, choices=list(STATES.items()), label="Show")
    strategy = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput())
    sort = forms.ChoiceField(required=False, choices=list(SORTS.items()), label="Sort by")
    down = forms.BooleanField(required=False, label="Highest first")
    at = forms.IntegerField(required=False, min_value=0, max_value=253_402_300_799, widget=forms.HiddenInput())


@dataclass(frozen=True)
class ListWanted:
    """The list that an address asks for; whatever it says wrongly is left out."""

    filter: MemoryFilter
    sort: Sort
    down: bool
    now: datetime
    days: Days

    @classmethod
    def read(cls, form: MemoryForm, days: Days, *, may_read: bool) -> ListWanted:
        form.is_valid()
        said = {name: value for name, value in form.cleaned_data.items() if name not in form.errors}
        state = said.get("state")
        return cls(
            # Without the right to read texts a search would let one read them letter by letter.
            filter=MemoryFilter(
                text=said.get("q", "") if may_read else "",
                state=State(state) if state else None,
                strategy=said.get("strategy", ""),
                since=days.since,
                before=days.before,
            ),
            days=days,
            sort=Sort(said.get("sort") or Sort.SCORE),
            down=said.get("down", False),
            # Pages of one list are of one moment, so that scores do not move between them.
            now=min(datetime.fromtimestamp(said["at"], UTC), timezone.now()) if said.get("at") else timezone.now().replace(microsecond=0),
        )


@require_safe
@may("memory.view")
def user_memories(request: PersonRequest, uid: UUID) -> HttpResponse:
    standing = standing_of(request.user, uid)
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    form = MemoryForm(request.GET)
    wanted = ListWanted.read(form, Days.read(request.GET), may_read=may_read)
    rows = memories_of(standing.subject, wanted.filter, standing.rule, now=wanted.now)
    rows = rows.none() if wanted.days.errors else rows
    page = slice_of(request, keyed(rows, wanted.sort, standing.rule, now=wanted.now), key="key", descending=wanted.down)
    rows_to_show = table_rows(standing, now=wanted.now, may_read=may_read)
    total = rows.count() if wanted.filter.narrows or wanted.days.errors else standing.subject.long_term
    context = {
        "standing": standing,
        "subject": standing.subject,
        "form": form,
        "wanted": wanted,
        "days": wanted.days,
        "at": int(wanted.now.timestamp()),
        "may_read": may_read,
        "may_pin": request.user.may(Right.MEMORY_PIN),
        "memories": listed(in_order(rows_to_show, page), standing, person=request.user, now=wanted.now),
        "paging": paging(request, page, total=total, noun="memories", at=str(int(wanted.now.timestamp()))),
        "now": wanted.now,
        "tab": "memories",
    }
    return render_page(request, "memories/list.html", "memories/_table.html", context)


@require_safe
@may("memory.view")
def user_header(request: PersonRequest, uid: UUID) -> HttpResponse:
    """The totals of a user again, after something has changed."""
    standing = standing_of(request.user, uid)
    context = {"standing": standing, "subject": standing.subject, "tab": request.GET.get("tab", "memories")}
    return render_page(request, "users/base.html", "users/_header.html", context)


def table_rows(standing: Standing, *, now: datetime, may_read: bool) -> QuerySet[LongTermMemory, Row]:
    """Return rows as a list shows them: the beginning of the text where it may be read, the score, and the session it came from.

    `source_session` is the session, or that of the message, which the memory's provenance names first; None where it names neither.
    """
    text = {"beginning": Left("text", BEGINNING), "metadata_text": Left(Cast("metadata", TextField()), METADATA_READ)} if may_read else {}
    return _with_source().scored(standing.rule, now=now).values(*COLUMNS, "score", *SOURCE, **text)


@cache  # putting it together takes longer than the database does to answer it
def _with_source() -> LongTermQuerySet:
    message = WorkingMemory.objects.filter(uid=OuterRef("source_message"), subject=OuterRef("subject"))
    session = Session.objects.filter(uid=OuterRef("source_session"), subject=OuterRef("subject"))
    return LongTermMemory.objects.annotate(
        source_message=_first_source(ItemType.WORKING),
        source_session=Coalesce(_first_source(ItemType.SESSION), Subquery(message.values("session__uid")[:1])),
        source_name=Subquery(session.values("external_id")[:1]),
    )


def _first_source(item_type: ItemType) -> Subquery:
    links = Provenance.objects.filter(derived_uid=OuterRef("uid"), subject=OuterRef("subject"), source_type=item_type)
    return Subquery(links.order_by("id").values("source_uid")[:1])


def listed(rows: Iterable[Row], standing: Standing, *, person: Person, now: datetime) -> list[Row]:
    """Add to each row what the table marks it with, and the copy of the session it came from where that lies in the archive."""
    rows = list(rows)
    archived = _archived_sources(person, standing.subject, rows)
    return [
        {
            **row,
            "source_copy": archived.get(row["source_session"]) or archived.get(row["source_message"]),
            "uid": mark_safe(str(row["uid"])),
            "marks": marks_of(row, standing, now=now),
            "noted": metadata_line(row.get("metadata_text", "")),
        }
        for row in rows
    ]


def _archived_sources(person: Person, subject: Subject, rows: Sequence[Row]) -> dict[UUID, Archived]:
    lost = [row for row in rows if row["source_name"] is None]
    if not lost or not subject.archived:
        return {}
    messages = {row["source_message"] for row in lost if row["source_message"] and not row["source_session"]}
    return {**sessions_of_messages(person, subject.pk, messages), **copies_of(person, [row["source_session"] for row in lost])}


def metadata_line(stored: str) -> str:
    """Return the metadata of a memory as a list shows it: "ticket: T-9, channel: web". Nothing where there is none."""
    if stored in {"", "{}", "null"}:
        return ""
    try:
        value = json.loads(stored)
    except ValueError:  # cut by the database
        return "long metadata"
    pairs = sorted(value.items()) if isinstance(value, dict) else [("metadata", value)]
    return ", ".join(f"{name}: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)}" for name, each in pairs)


def marks_of(memory: Row, standing: Standing, *, now: datetime) -> list[tuple[str, str]]:
    """Return what is special about a memory, as (text, tone) of badges."""
    marks = []
    rule, pinned, created_at, accessed_at = standing.rule, memory["pinned"], memory["created_at"], memory["last_accessed_at"]
    if standing.has_rule and rule.ttl and created_at and created_at < now - rule.ttl:
        marks.append(("past its limit, kept by the pin", "yellow") if pinned else (expired_words(standing, now=now), "red"))
    if standing.has_rule and rule.max_tokens is not None and memory["tokens"] > rule.max_tokens and not pinned:
        marks.append(("larger than the whole cap, goes first", "red"))
    if created_at is None:
        marks.append(("no date", "yellow"))
    if accessed_at and accessed_at > now + timedelta(minutes=5):
        marks.append(("last recall lies in the future", "yellow"))
    if memory["superseded_by"]:
        marks.append(("superseded", "secondary"))
    return marks


def expired_words(standing: Standing, *, now: datetime) -> str:
    if standing.blocked:
        return f"expired, stays because {standing.blocked}"
    if standing.waiting_run is not None:
        return f"expired, goes {standing.with_which_run}"
    at = standing.next_run_at
    return f"expired, goes at the next run, {at:%d %b %H:%M} UTC" if at else "expired"
