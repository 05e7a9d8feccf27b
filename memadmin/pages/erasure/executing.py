"""What is done about an erasure that stopped, and what the person is given before it begins."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.erasure.certificates import issuing
from memadmin.erasure.execution import resuming
from memadmin.erasure.moves import Refusal
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.erasure.detail import act, show, status_of
from memadmin.pages.htmx import PersonRequest
from memadmin.pages.showing import show_once


@require_POST
@may("erasure.review")
def erasure_go_on(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, resuming.go_on, said="The erasure goes on.")


@require_POST
@may("erasure.review")
def erasure_look_again(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, resuming.look_again, said="The database is looked through again.")


@require_POST
@may("erasure.review")
def erasure_back_to_review(request: PersonRequest, uid: UUID) -> HttpResponse:
    return act(request, uid, resuming.back_to_review, said="Every place is being asked. What is found is approved anew.")


@sensitive_variables("receipt")
@require_POST
@may("erasure.intake")
def erasure_receipt(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Show a new receipt, once: it is nowhere else."""
    found = get_request(request.user, uid)
    try:
        receipt = issuing.give_receipt(found, actor=actor_of(request.user), now=timezone.now())
    except Refusal as refusal:
        return show(request, found, refused=str(refusal), status=status_of(refusal))
    back = (f"Request {found.number}", reverse("pages:erasure-detail", args=[uid]))
    context = {"found": found, "receipt": receipt}
    return show_once(request, "erasure/_receipt.html", context, heading="The person's receipt", back=back)
