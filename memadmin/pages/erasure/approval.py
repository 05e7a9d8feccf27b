"""The second pair of eyes: a page with the numbers and the digest, the password again where needed, and one POST."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth import authenticate
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from memadmin.access import throttling
from memadmin.access.actors import actor_of, names_of
from memadmin.erasure import approving, deciding
from memadmin.erasure.approving import Word
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.moves import Refusal
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.erasure.asking import question_of
from memadmin.pages.erasure.detail import act, show, status_of
from memadmin.pages.erasure.guiding import NAMED, named_in
from memadmin.pages.erasure.stopping import stop_of
from memadmin.pages.htmx import PersonRequest, notice
from memadmin.store import configuration
from memadmin.store.locations import Act

PROVED_AT = "proved_at"  # in the browser's session: when the password was given last


@require_safe
@may("erasure.approve")
def erasure_approval(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Show what is asked: numbers by act, the digest, who asked. Nothing changes."""
    return _ask(request, get_request(request.user, uid))


@sensitive_post_parameters("password")
@require_POST
@may("erasure.approve")
def erasure_approve(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Approve the digest of the page. A password, where one came along, is tried first and proves the person anew."""
    found = get_request(request.user, uid)
    problem = _prove(request) if "password" in request.POST else ""
    if problem:
        return _ask(request, found, problem=problem, status=422)
    word = Word(digest=request.POST.get("digest", ""), number=request.POST.get("number", ""), proved_at=proved_at(request))
    try:
        approving.approve(found, word, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        return _ask(request, get_request(request.user, uid), problem=str(refusal), status=status_of(refusal))
    notice(request, "Approved. The erasure begins by itself within a minute.")
    return redirect("pages:erasure-detail", uid)


@require_POST
@may("erasure.approve")
def erasure_send_back(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, deciding.send_back, reason=request.POST.get("reason", ""), said="Sent back to review.")


def proved_at(request: PersonRequest) -> datetime | None:
    """Return when this browser's person last gave their password, None when nobody knows."""
    stored = request.session.get(PROVED_AT)
    return datetime.fromisoformat(stored) if stored else None


def _ask(request: PersonRequest, found: ErasureRequest, *, problem: str = "", status: int = 200) -> HttpResponse:
    if found.state != "awaiting_approval":
        return show(request, found, refused=problem or "This request does not wait for an approval.", status=409)
    why_not = question_of(request.user, found)["why_not"]
    if why_not:
        return show(request, found, refused=problem or f"{why_not[0].upper()}{why_not[1:]}.", status=403)
    manifest = deciding.current(found)
    totals: dict[str, int] = {}
    for line in manifest.lines.order_by("act"):
        totals[Act(line.act).label] = totals.get(Act(line.act).label, 0) + line.items
    minutes = configuration.value("erasure_fresh_login_minutes")
    proved = proved_at(request)
    fresh = proved is not None and timezone.now() - proved < timedelta(minutes=minutes)
    context = {
        "found": found,
        "manifest": manifest,
        "totals": totals,
        "names": names_of([found.opened_by, found.reviewed_by]),
        "fresh": fresh,
        "minutes": minutes,
        "problem": problem,
        "subjects": found.subjects.filter(ticked=True, container__isnull=False).select_related("container").order_by("id")[:NAMED],
        **named_in(request.user, found),
        "stopped": configuration.value("erasure_paused"),
        **stop_of(request.user),
        "block_days": configuration.value("erasure_block_days"),
        "set_aside": configuration.value("erasure_set_aside"),
    }
    return render(request, "erasure/approval.html", context, status=status)


def _prove(request: PersonRequest) -> str:
    """Try the password; wrong ones count like those of signing in. Return what is wrong, "" when it was right."""
    login = request.user.login
    if throttling.wait_before(login, request, now=timezone.now()):
        return "Too many failed attempts. Wait some minutes and try again."
    person = authenticate(request, login=login, password=request.POST.get("password", ""))
    if person is None or person.pk != request.user.pk:
        return "This is not your password."
    request.session[PROVED_AT] = timezone.now().isoformat()
    return ""
