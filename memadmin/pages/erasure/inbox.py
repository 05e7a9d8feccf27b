"""The inbox of compliance: what is open, how much of its time is gone, and what is late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django import forms
from django.db.models import CharField, Count
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.erasure import alarms, came_again, telling
from memadmin.erasure.alarms import SOON
from memadmin.erasure.intake import today
from memadmin.erasure.models import ErasureRequest, Kind, Origin, RequestItem, RequestSubject, Status
from memadmin.erasure.querysets import RequestQuerySet
from memadmin.erasure.visibility import visible_requests
from memadmin.pages.decorators import may
from memadmin.pages.erasure.stopping import stop_of
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.plurals import counted

OPEN, LATE, UNTOLD, ENDED, ALL = "open", "late", "untold", "ended", "all"


class InboxFilter(forms.Form):
    show = forms.ChoiceField(
        required=False,
        choices=[
            (OPEN, "Open"),
            (LATE, "Late or due within 7 days"),
            (UNTOLD, "Complete, the person to be told"),
            (ENDED, "Ended"),
            (ALL, "All"),
        ],
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    kind = forms.ChoiceField(
        required=False, choices=[("", "Every kind"), *Kind.choices], widget=forms.Select(attrs={"class": "form-select"})
    )


@dataclass(frozen=True)
class Clock:
    """How far the time of a request is gone, in whole percent, and what to say beside the bar."""

    percent: int
    tone: str
    text: str


def clock_of(request: ErasureRequest, day: date) -> Clock:
    begun = today(request.received_at)
    whole = max((request.due_on - begun).days, 1)
    left = (request.due_on - day).days
    percent = min(max(round(100 * (whole - left) / whole), 0), 100)
    if request.paused_on is not None:
        return Clock(percent, "secondary", "stands: waiting for proof of identity")
    if left < 0:
        return Clock(100, "red", f"{_days(-left)} late")
    tone = "red" if left <= 2 else "yellow" if day > request.target_on or left <= SOON.days else "green"
    return Clock(percent, tone, "due today" if not left else f"{_days(left)} left")


@require_safe
@may("erasure.view")
def erasure_list(request: PersonRequest) -> HttpResponse:
    filters = InboxFilter(request.GET)
    chosen = filters.cleaned_data if filters.is_valid() else {"show": OPEN, "kind": ""}
    day = today(timezone.now())
    everything = visible_requests(request.user).filter(drill=None)  # drills have a list of their own
    rows = _shown(everything, chosen["show"] or OPEN, day)
    rows = rows.filter(kind=chosen["kind"]) if chosen["kind"] else rows
    ended = chosen["show"] in {ENDED, ALL}
    dated = rows.annotate(due_text=Cast("due_on", CharField()))
    page = slice_of(request, rows, key="number", descending=True) if ended else slice_of(request, dated, key="due_text")
    found = in_order(rows, page)
    about = _about(found)
    context = {
        "rows": [(each, clock_of(each, day), each.state not in _ENDED, about.get(each.pk)) for each in found],
        "filters": filters,
        "show": chosen["show"] or OPEN,
        "kind": chosen["kind"],
        "paging": paging(request, page, total=rows.count(), noun="requests"),
        "late": alarms.late(everything, day).count(),
        **stop_of(request.user),
        "aside": came_again.set_aside(request.user),
        "marked": came_again.marked(request.user),
        "untold": telling.to_be_told(everything).count(),
        "soon": everything.open().filter(due_on__gte=day, due_on__lte=day + SOON, paused_on=None).count(),
    }
    return render_page(request, "erasure/list.html", "erasure/_table.html", context)


@dataclass
class About:
    """Whom or what a request is about, for one line: the first id (None: purged), and how many users or items there are."""

    user_id: str | None = None
    users: int = 0
    items: int = 0


def _about(found: Sequence[ErasureRequest]) -> dict[int, About]:
    """Return it by the keys of these requests; two queries, however many they are."""
    told = {each.pk: About() for each in found}
    users = RequestSubject.objects.filter(request__in=told, ticked=True).exclude(origin=Origin.ALIAS).order_by("-id")
    for key, user_id in users.values_list("request_id", "user_id"):
        told[key].user_id, told[key].users = user_id, told[key].users + 1
    for key, items in RequestItem.objects.filter(request__in=told).order_by().values_list("request").annotate(Count("pk")):
        told[key].items = items
    return told


_ENDED = {Status.COMPLETED, Status.CLOSED, Status.REFUSED, Status.CANCELLED, Status.NOTHING_HELD}


def _shown(rows: RequestQuerySet, show: str, day: date) -> RequestQuerySet:
    if show == ALL:
        return rows
    if show == UNTOLD:
        return telling.to_be_told(rows)
    if show == ENDED:
        return rows.filter(state__in=_ENDED)
    rows = rows.exclude(state__in=_ENDED)
    return rows.filter(due_on__lte=day + SOON) if show == LATE else rows


def _days(number: int) -> str:
    return counted(number, "day")
