"""The one page of an installation whose database is not in step with what lies outside of it: why nobody is served, and what to do."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.erasure.restoring.guard import Reason, State
from memadmin.erasure.restoring.wording import told
from memadmin.pages.decorators import to_login

WHAT_TO_DO = {
    Reason.LEDGER_GONE: "Put the files of the ledger back where they were, or name where they lie in ERASURE_LEDGERS.",
    Reason.LEDGER_OLDER: "Put the newest copy of the ledger back: the checkpoints know of lines that it lacks.",
    Reason.LEDGER_DAMAGED: "Put a copy of the ledger back that is whole. Another file of it may be.",
    Reason.CHECKPOINTS_GONE: "Put the folder of the checkpoints back where it was, or name where it lies in AUDIT_ANCHORS.",
    Reason.CHECKPOINTS_DAMAGED: "Put a copy of the checkpoints back that is whole.",
}


def page(request: HttpRequest, state: State) -> HttpResponse:
    """Show who has signed in why nothing else is shown, and everybody else where to sign in."""
    person = getattr(request, "user", None)
    if not isinstance(person, Person):
        return to_login(request)
    said = told(state)
    context = {
        "told": said,
        "reasons": [reason.label for reason in state.reasons],
        "detail": state.detail,
        "to_do": [WHAT_TO_DO[reason] for reason in state.reasons if reason in WHAT_TO_DO],
        "runs_it": person.may(Right.SETTING_VIEW) or person.may(Right.ERASURE_VIEW) or person.may(Right.AUDIT_VIEW),
        "navigation": [],
    }
    response = render(request, "maintenance/page.html", context, status=503)
    response["X-Problem"] = f"{said.title}: nothing is shown or changed until {said.until}."
    return response
