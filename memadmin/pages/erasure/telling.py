"""After a complete erasure: the letter to the person, and noting that they were told."""

from __future__ import annotations

from datetime import date
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from memadmin.erasure import telling
from memadmin.erasure.visibility import get_request
from memadmin.pages.decorators import may
from memadmin.pages.erasure.detail import act, show
from memadmin.pages.htmx import PersonRequest


@require_POST
@may("erasure.intake")
def erasure_told(request: PersonRequest, uid: UUID) -> HttpResponse:
    try:
        told_on = date.fromisoformat(request.POST.get("told_on", ""))
    except ValueError:
        return show(request, get_request(request.user, uid), refused="Say on which day the person was told.", status=422)
    return act(request, uid, telling.note_told, told_on=told_on, said="It is noted that the person was told.")
