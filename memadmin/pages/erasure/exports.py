"""Exports for the person: made, handed out by a link that is shown once, called off."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.erasure.access_exports import handing, starting
from memadmin.erasure.moves import Refusal, WrongState
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.erasure.detail import act, show
from memadmin.pages.htmx import PersonRequest
from memadmin.pages.showing import show_once


@require_POST
@may("erasure.review")
def erasure_export_make(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, starting.start, said="The export is being made.")


@require_POST
@may("erasure.review")
def erasure_export_withdraw(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, starting.withdraw, said="The export was called off. Its link opens nothing any more.")


@require_POST
@may("erasure.review")
def erasure_export_link(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Make the link and show it, once: on a page that no cache keeps."""
    found = get_request(request.user, uid)
    try:
        export, code = handing.hand_out(found, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        status = 409 if isinstance(refusal, WrongState) else 422
        return show(request, get_request(request.user, uid), refused=str(refusal), status=status)
    path = reverse("pages:access-export", args=[export.uid])
    address = f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
    context = {"found": found, "export": export, "code": code, "address": address, "link": f"{address}#{code}"}
    back = (f"Request {found.number}", reverse("pages:erasure-detail", args=[uid]))
    return show_once(request, "erasure/_export_link.html", context, heading="Link for the person", back=back)
