"""While the database is not in step with what lies outside of it, nobody is served but who signs in to see why (`erasure.restoring`)."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from memadmin.api import failures
from memadmin.erasure.restoring import guard
from memadmin.erasure.restoring.guard import State
from memadmin.erasure.restoring.wording import told
from memadmin.pages import maintenance

SERVED = {"healthz", "readyz", "login", "logout", "theme"}
RETRY_AFTER = 60  # seconds
Answer = Callable[[HttpRequest], HttpResponseBase]


def maintenance_middleware(get_response: Answer) -> Answer:
    def middleware(request: HttpRequest) -> HttpResponseBase:
        state = guard.state()
        if state.is_open or _url_name(request) in SERVED:
            return get_response(request)
        return refused(request, state)

    return middleware


def refused(request: HttpRequest, state: State) -> HttpResponse:
    """Answer 503, in the form of whoever asks."""
    response: HttpResponse = failures.maintenance(request, told(state)) if failures.is_api(request) else maintenance.page(request, state)
    if response.status_code == 503:
        response["Retry-After"] = str(RETRY_AFTER)
    response["Cache-Control"] = "private, no-store"
    return response


def _url_name(request: HttpRequest) -> str:
    try:
        return resolve(request.path_info).url_name or ""
    except Resolver404:
        return ""
