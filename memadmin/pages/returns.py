"""What was erased and must not come back: the suppressions, and what came back nevertheless and waits for a decision."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Max, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_containers, within
from memadmin.audit.ledger import LedgerUnusable
from memadmin.erasure import came_again
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.visibility import visible_requests
from memadmin.pages.decorators import may
from memadmin.pages.forms import uids_in
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.lists import by_time, in_order, paging, slice_of
from memadmin.pages.returned_review import Narrowed
from memadmin.store import admission, arrivals, dropping, quarantine, releasing, suppression
from memadmin.store.arrivals import Way
from memadmin.store.held_copies import Restricted
from memadmin.store.ingest import UidTaken
from memadmin.store.models import Mode, Returned, Subject, Suppression
from memadmin.store.opening import Suppressed
from memadmin.store.suppression_keys import KeysUnusable
from memadmin.store.text import clean

SHOWN = 50
WAYS: dict[str, str] = {
    Way.API: "over the API",
    Way.BULK: "in bulk over the API",
    Way.IMPORT: "in an imported file",
    Way.ARCHIVE: "restored from the archive, or to be",
    Way.MODEL: "said again by a model",
}


@require_safe
@may("erasure.view")
def suppression_list(request: PersonRequest) -> HttpResponse:
    rows = _visible_suppressions(request.user)
    page = slice_of(request, rows.annotate(key=by_time("store_suppression.since")), key="key", descending=True)
    found = in_order(Suppression.objects.select_related("container"), page)
    context = {
        "suppressions": found,
        "names": names_of(each.lifted_by for each in found if each.lifted_by),
        "requests": _requests(request.user, found),
        "paging": paging(request, page, total=rows.count(), noun="suppressions"),
        "waiting": _waiting(request.user).count(),
        "marked": came_again.marked(request.user).users,
        "standing": {mode.value for mode in Mode} - {Mode.LIFTED.value, Mode.FENCE.value},
        "may_read": request.user.may(Right.MEMORY_READ_TEXT),
    }
    return render_page(request, "returns/suppressions.html", "returns/_suppressions.html", context)


def _requests(person: Person, found: Iterable[Suppression]) -> dict[str, ErasureRequest]:
    """Return the requests that these follow from, by their references, as far as the person sees them."""
    uids = uids_in(each.request_ref.removeprefix("erasure/") for each in found)
    return {f"erasure/{row.uid}": row for row in visible_requests(person).filter(uid__in=uids)} if uids else {}


@require_POST
@may("erasure.approve")
def suppression_lift(request: PersonRequest, uid: UUID) -> HttpResponse:
    suppressed = get_object_or_404(_visible_suppressions(request.user), uid=uid)
    try:
        suppression.lift(suppressed, reason=clean(request.POST.get("reason", "")), actor=actor_of(request.user), now=timezone.now())
    except (suppression.NoReason, suppression.NotStanding, KeysUnusable, LedgerUnusable) as error:
        problem(request, str(error))
    else:
        notice(request, "Lifted: it may come back. Nothing was brought back by this.")
    return redirect("pages:suppression-list")


@require_safe
@may("erasure.view")
def returned_list(request: PersonRequest) -> HttpResponse:
    narrowed = Narrowed.read(request, request.user)
    rows = narrowed.rows
    page = slice_of(request, rows.annotate(key=by_time("store_returned.arrived_at")), key="key", descending=True)
    found = in_order(Returned.objects.select_related("container", "subject"), page)
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    context = {
        "rows": [{"returned": each, "text": _text(each) if may_read else None} for each in found],
        "names": names_of({*(each.arrived_by for each in found), *(entry.actor for entry in arrivals.lately(SHOWN))}),
        "paging": paging(request, page, total=rows.count(), noun="items"),
        "may_read": may_read,
        "narrowed": narrowed,
        "upto": rows.aggregate(last=Max("pk"))["last"],
        "may_review": request.user.may(Right.ERASURE_REVIEW),
        "lately": _lately(request.user),
    }
    return render_page(request, "returns/list.html", "returns/_table.html", context)


@require_safe
@may("erasure.view")
def marked_list(request: PersonRequest) -> HttpResponse:
    """Who came again and was let in, or says what was erased once."""
    rows = came_again.marked_users(request.user)
    page = slice_of(request, rows.annotate(key=by_time("store_subject.stored_at")), key="key", descending=True)
    found = in_order(Subject.objects.select_related("container").annotate(items=came_again.ITEMS), page)
    texts = came_again.texts_of([each.pk for each in found])
    context = {
        "rows": [{"subject": each, "texts": texts.get(each.pk, 0), "of_id": each.suppressed == Mode.FLAG} for each in found],
        "paging": paging(request, page, total=rows.count(), noun="users"),
    }
    return render_page(request, "returns/marked.html", "returns/_marked.html", context)


@require_POST
@may("erasure.review")
def returned_release(request: PersonRequest, pk: int) -> HttpResponse:
    returned = get_object_or_404(_waiting(request.user).select_related("container"), pk=pk)
    try:
        releasing.release(returned, reason=clean(request.POST.get("reason", "")), actor=actor_of(request.user), now=timezone.now())
    except (suppression.NoReason, suppression.NotStanding, KeysUnusable) as error:
        problem(request, str(error))
    except (Suppressed, Restricted, UidTaken) as error:
        problem(request, f"It was not let in. {error}")
    else:
        notice(request, "It was let in.")
    return redirect("pages:returned-list")


@require_POST
@may("erasure.review")
def returned_drop(request: PersonRequest, pk: int) -> HttpResponse:
    returned = get_object_or_404(_waiting(request.user), pk=pk)
    dropping.drop([returned], actor=actor_of(request.user), now=timezone.now())
    notice(request, "It was dropped for good.")
    return redirect("pages:returned-list")


def _lately(person: Person) -> list[dict[str, Any]]:
    """Return what came again lately and was refused, or let in and marked, of containers that this person may see."""
    seen = {str(uid): name for uid, name in visible_containers(person).values_list("uid", "name")}
    rows = []
    for entry in arrivals.lately(SHOWN):
        container = entry.target.rpartition("/")[2]
        if container not in seen and not person.all_containers:
            continue
        way = entry.target.split("/")[1] if entry.target.startswith("arrivals/") else ""
        rows.append({"entry": entry, "container": seen.get(container, ""), "way": WAYS.get(way, ""), "items": entry.counts.get("items", 1)})
    return rows


def _visible_suppressions(person: Person) -> QuerySet[Suppression]:
    return Suppression.objects.filter(Q(container__isnull=True) | Q(container__in=visible_containers(person)))


def _waiting(person: Person) -> QuerySet[Returned]:
    return within(person, quarantine.waiting())


def _text(returned: Returned) -> str:
    """Return what was set aside, in words where it has some."""
    try:
        item = quarantine.content_of(returned)
    except KeysUnusable:
        return "It cannot be opened: the key that sealed it is missing."
    said = [text for text in admission.texts_in(item) if text]
    return "\n".join(said) or json.dumps(getattr(item, "metadata", {}), ensure_ascii=False)
