"""The only reader of htmx headers, and the only writer: whole page or part, toasts, notices."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event
from django_htmx.middleware import HtmxDetails

from memadmin.access.models import Person

VARY = ("HX-Request", "HX-Boosted", "HX-History-Restore-Request")


class PersonRequest(HttpRequest):
    """What a view behind `may` or `signed_in` receives."""

    user: Person
    htmx: HtmxDetails


def wants_part(request: HttpRequest) -> bool:
    """True when htmx will put the answer into the page; a boosted link and a history restore want the whole page."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(request: HttpRequest, page: str, part: str, context: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """Render `part` for htmx and `page`, which includes it, for everybody else."""
    response = render(request, part if wants_part(request) else page, dict(context), status=status)
    patch_vary_headers(response, VARY)
    return response


def toast(response: HttpResponse, text: str, undo_url: str | None = None, *, undo_target: str | None = None) -> HttpResponse:
    """Let the browser show `text` once this part has arrived, with an Undo button that posts to `undo_url`.

    `undo_target` is the CSS selector of the element that the answer to the undo replaces; without it Undo loads a page.
    """
    return trigger_client_event(response, "memadmin:toast", {"text": text, "undo": undo_url, "replaces": undo_target})


def notice(request: HttpRequest, text: str, undo_url: str | None = None) -> None:
    """Say `text` on the next whole page: what `toast` is for a redirect, and all there is without JavaScript."""
    messages.success(request, text, extra_tags=undo_url or "")


def problem(request: HttpRequest, text: str) -> None:
    """Say on the next whole page that something did not happen. It stays until it is closed."""
    messages.error(request, text)


def leave_to(request: HttpRequest, url: str) -> HttpResponse:
    """Make htmx load `url` as a whole page, for answers that are not a part of the page it asked from."""
    return HttpResponseClientRedirect(url)


def page_address(request: HttpRequest) -> str:
    """Return the path and query of the page that the person looks at, "" when unknown. It comes from the browser: check it before use."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    if htmx:
        return htmx.current_url_abs_path or ""
    return request.get_full_path() if request.method == "GET" else request.headers.get("Referer", "")
