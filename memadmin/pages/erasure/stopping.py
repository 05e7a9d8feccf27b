"""The emergency stop of all erasures, where one is looked at that runs: set and lifted by who may approve erasures, always asked first."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of, names_of
from memadmin.access.models import Person
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.erasure.visibility import visible_requests
from memadmin.pages import confirming
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice
from memadmin.store import configuration
from memadmin.store.models import Setting

STOP = "erasure_paused"
RUNNING = (Status.EXECUTING, Status.VERIFYING)


def stop_of(person: Person) -> dict[str, Any]:
    """Return the context of `erasure/_stop.html`: whether the stop is set, since when and by whom, and how many it would hold up."""
    is_on = bool(configuration.value(STOP))
    row = Setting.objects.filter(key=STOP).first() if is_on else None
    return {
        "stop_on": is_on,
        "stop_since": row.changed_at if row else None,
        "stop_by": names_of([row.changed_by])[row.changed_by] if row else "",
        "stop_running": visible_requests(person).filter(state__in=RUNNING).count(),
    }


@require_POST
@may("erasure.approve")
def erasure_stop(request: PersonRequest) -> HttpResponse:
    """Stop all erasures, after a question."""
    running = ErasureRequest.objects.filter(state__in=RUNNING).count()
    waiting = ErasureRequest.objects.filter(state=Status.APPROVED).count()
    said = f"{running:,} {'is' if running == 1 else 'are'} under way and {waiting:,} approved."
    keeps = [
        "Those under way stop after their present batch. What is erased by then cannot be brought back.",
        "What is fenced stays fenced: nobody writes anything about these users meanwhile.",
        "The time of the requests runs on, and an approval may run out.",
    ]
    words = {"verb": "Stop all erasures", "consequence": f"No erasure would begin or go on until this is lifted: {said}", "keeps": keeps}
    return _switched(request, True, words, done="All erasures are stopped.", danger=True)


@require_POST
@may("erasure.approve")
def erasure_lift_stop(request: PersonRequest) -> HttpResponse:
    """Let erasures go on, after a question."""
    begin = ErasureRequest.objects.filter(state=Status.APPROVED).count()
    keeps = [
        "Those under way go on from where they were. One that has stalled meanwhile goes on with the button on its page.",
        f"Approved, and beginning within a minute: {begin:,}. Each is checked once more before it begins.",
    ]
    words = {"verb": "Lift the stop", "consequence": "Erasures would begin and go on again.", "keeps": keeps}
    return _switched(request, False, words, done="The stop is lifted: erasures begin and go on.", danger=False)


def _switched(request: PersonRequest, on: bool, words: dict[str, Any], *, done: str, danger: bool) -> HttpResponse:
    back = _back(request.POST.get("back", ""))
    if not confirming.is_sure(request):
        hidden = {"sure": "yes", "back": request.POST.get("back", "")}
        confirm = {**words, "action": request.path, "cancel": back, "hidden": hidden, "danger": danger}
        return confirming.ask(request, confirm, heading=str(words["verb"]))
    configuration.change(STOP, on, actor=actor_of(request.user), now=timezone.now())
    notice(request, done)
    return redirect(back)


def _back(name: str) -> str:
    """Return the page of the request with this uid, else the inbox."""
    try:
        return reverse("pages:erasure-detail", args=[UUID(name)])
    except ValueError:
        return reverse("pages:erasure-list")
