"""Who may open a view. Every view wears exactly one of `may`, `signed_in` and `open_to_all`.

They leave `required_right` on the view, so that a test can hold that no URL was forgotten.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from memadmin.access import refusals
from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.audit.actions import Action
from memadmin.pages.errors import not_allowed
from memadmin.pages.htmx import leave_to, page_address, wants_part

View = Callable[..., HttpResponseBase]
SIGNED_IN = "signed in"
OPEN_TO_ALL = "open to all"
SAFE = ("GET", "HEAD", "OPTIONS")
SENSITIVE = {Right.AUDIT_VIEW, *(right for right in Right if right.startswith("erasure."))}  # here to look is to try, too


def may(right: Right | str) -> Callable[[View], View]:
    """Ask for a signed-in person with this right. Raises ValueError at import when there is no such right."""
    wanted = Right(right)

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return to_login(request)
            if not request.user.may(wanted):
                if request.method not in SAFE or wanted in SENSITIVE:
                    note_refusal(request.user, wanted)
                return keep_private(not_allowed(request, wanted))
            return keep_private(view(request, *args, **kwargs))

        return _marked(guarded, wanted)

    return decorate


def signed_in(view: View) -> View:
    """Ask for a signed-in person, whatever their roles."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return to_login(request)
        return keep_private(view(request, *args, **kwargs))

    return _marked(guarded, SIGNED_IN)


def open_to_all(view: View) -> View:
    """Ask for nothing; says so where the view is written."""

    @wraps(view)
    def unguarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return view(request, *args, **kwargs)

    return _marked(unguarded, OPEN_TO_ALL)


def to_login(request: HttpRequest) -> HttpResponse:
    """Send to the login page, from where the person comes back to the page they were on."""
    url = reverse("pages:login")
    back = page_address(request)
    if is_ours(request, back):
        url = f"{url}?{urlencode({'next': back})}"
    return leave_to(request, url) if wants_part(request) else redirect(url)


def is_ours(request: HttpRequest, url: str) -> bool:
    """True when the address stays on this site; an open redirect would lend our name to a phishing page."""
    return url_has_allowed_host_and_scheme(url, allowed_hosts={request.get_host()}, require_https=request.is_secure())


def keep_private(response: HttpResponseBase) -> HttpResponseBase:
    """Keep the page out of every cache: after logging out, Back must not show somebody's memories."""
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response


def note_refusal(person: Person, right: Right) -> None:
    """Write down that somebody tried what they have no right to."""
    refusals.note(Action.ACCESS_REFUSED, actor=actor_of(person), target=f"rights/{right.value}", lacks=right.value, now=timezone.now())


def _marked(view: View, right: str) -> View:
    view.required_right = right  # type: ignore[attr-defined]
    return view
