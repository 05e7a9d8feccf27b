"""Who the recipients of what a request was about are, what each was told and answered, and what a person decides about the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.erasure import disclosures, notices, recipients
from memadmin.erasure.models import ErasureRequest, Kind, NoticeState, Recipient, RecipientNotice
from memadmin.erasure.models.recipients import OPEN_STATES
from memadmin.erasure.moves import Refusal
from memadmin.erasure.querysets import ENDED
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem
from memadmin.store.suppression_keys import KeysUnusable

SHOWN = 200
NAMES = 20


@require_safe
@may("erasure.view")
def notice_list(request: PersonRequest, uid: UUID) -> HttpResponse:
    found = get_request(request.user, uid)
    rows = list(found.notices.select_related("recipient", "container").order_by("recipient__name", "container", "part")[:SHOWN])
    context = {
        "found": found,
        "heading": _heading(found, is_told=bool(rows)),
        "rows": [_shown(row, request.user) for row in rows],
        "report": _report(found),
        "will_be_told": not rows and found.completed_at is None and found.kind != Kind.ACCESS,
        "names": names_of({row.ended_by for row in rows if row.ended_by.startswith("person/")}),
        "may_manage": request.user.may(Right.RECIPIENT_MANAGE),
        "choices": [(state.value, state.label) for state in notices.NOT_TOLD],
        "now": timezone.now(),
    }
    return render(request, "recipients/notices.html", context)


def _heading(found: ErasureRequest, *, is_told: bool) -> str:
    """Say what the page can tell by now: nobody is told of anything before it is done, and of an access nobody is."""
    if is_told:
        return "Who had copies, and what they were told"
    if found.completed_at is not None or found.kind == Kind.ACCESS or found.state in ENDED:
        return "Who has copies"
    return "Who has copies, and will be told"


def _shown(row: RecipientNotice, person: Person) -> dict[str, Any]:
    """Return a notice; with the names that it is about for who has to tell them, and may know whose request it is."""
    by_hand = row.state in OPEN_STATES and row.recipient.kind != "webhook"
    shown = {"notice": row, "is_open": row.state in OPEN_STATES, "by_hand": by_hand, "references": [], "more": 0, "lost": False}
    if by_hand and person.may(Right.ERASURE_REVIEW):
        try:
            known = notices.names_in(row)
        except KeysUnusable:
            return {**shown, "lost": True}
        shown |= {"references": known[:NAMES], "more": max(len(known) - NAMES, 0)}
    return shown


def _report(found: ErasureRequest) -> list[dict[str, Any]]:
    """Return who has data of whom the request is about, as long as its papers say who that is. After an erasure its notices tell."""
    if found.purged_at is not None or (found.completed_at is not None and Kind(found.kind).erases):
        return []
    ticked = found.subjects.filter(ticked=True, container__isnull=False, subject_id__isnull=False).values_list("container", "subject_id")
    people = {(container, subject) for container, subject in ticked if container and subject} | {
        *found.items.values_list("container", "subject_id")
    }
    return [_of_recipient(each, people) for each in recipients.of_containers({container for container, _ in people})]


def _of_recipient(recipient: Recipient, people: set[tuple[int, int]]) -> dict[str, Any]:
    """Of how many of these people it is noted that they were given data, and of how many it is not."""
    reached = None if recipient.all_containers else set(recipient.containers.values_list("pk", flat=True))
    meant = {subject for container, subject in people if reached is None or container in reached}
    counted = disclosures.counts_of(recipient, {container for container, _ in people}, subjects=meant)
    return {"recipient": recipient, "counted": counted, "not_noted": len(meant) - counted.people}


@require_POST
@may("recipient.manage")
def notice_told(request: PersonRequest, uid: UUID, notice: UUID) -> HttpResponse:
    return _act(request, uid, notice, notices.told_by_hand, "It is noted that they were told.")


@require_POST
@may("recipient.manage")
def notice_answered(request: PersonRequest, uid: UUID, notice: UUID) -> HttpResponse:
    return _act(request, uid, notice, notices.acknowledge, "It is noted that they have answered.")


@require_POST
@may("recipient.manage")
def notice_again(request: PersonRequest, uid: UUID, notice: UUID) -> HttpResponse:
    return _act(request, uid, notice, notices.try_again, "It is sent anew.")


@require_POST
@may("recipient.manage")
def notice_decide(request: PersonRequest, uid: UUID, notice: UUID) -> HttpResponse:
    given, text = request.POST.get("state", ""), request.POST.get("text", "")
    state = NoticeState(given) if given in NoticeState.values else NoticeState.PENDING
    return _act(request, uid, notice, lambda row, **who: notices.decide(row, state, text, **who), "It is noted why they are not told.")


def _act(request: PersonRequest, uid: UUID, name: UUID, verb: Callable[..., None], words: str) -> HttpResponse:
    row = get_object_or_404(get_request(request.user, uid).notices, uid=name)
    try:
        verb(row, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        problem(request, str(refusal))
    else:
        notice(request, words)
    return redirect("pages:notice-list", uid)
