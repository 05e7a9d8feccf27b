"""What a person sees when a page cannot be shown. `X-Problem` carries the sentence that an htmx request shows as a toast."""

import logging
import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.access.roles import Role, roles_with

logger = logging.getLogger(__name__)
ADMINISTRATORS_SHOWN = 5


def not_allowed(request: HttpRequest, right: Right) -> HttpResponse:
    context: dict[str, object] = {
        "right": right,
        "roles": [role.label for role in roles_with(right)],
        "administrators": _administrators()[:ADMINISTRATORS_SHOWN],
    }
    return _problem(request, "errors/403.html", context, status=403, text=f"Not allowed: you need the right to {right.label}.")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _problem(request, "errors/403.html", {}, status=403, text="Not allowed.")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _problem(request, "errors/404.html", {}, status=404, text="Not found: it may have been removed, or you may not see it.")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer a request that is not one of ours: a foreign host name, too much data. Reads nothing but a template."""
    response = HttpResponse(render_to_string("errors/400.html"), status=400)
    response["X-Problem"] = "The server did not accept this request."
    return response


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _problem(request, "errors/csrf.html", {}, status=403, text="This page was open for too long. Reload it and try again.")


def broken(request: HttpRequest) -> HttpResponse:
    """Answer 500. Reads nothing but a template: the database or the session may be what broke."""
    error_id, reading = uuid.uuid4().hex[:8], request.method in {"GET", "HEAD"}
    logger.error("page failed, error id %s", error_id)
    response = HttpResponse(render_to_string("errors/500.html", {"error_id": error_id, "reading": reading}), status=500)
    what = "This could not be loaded" if reading else "This may not have happened"  # a list that failed must not pass for an empty one
    response["X-Problem"] = f"{what}: something broke on our side (error id {error_id})."
    return response


def _problem(request: HttpRequest, template: str, context: dict[str, object], *, status: int, text: str) -> HttpResponse:
    response = render(request, template, context, status=status)
    response["X-Problem"] = text
    return response


def _administrators() -> list[str]:
    active = Person.objects.filter(is_active=True).order_by("login")
    return [str(person) for person in active if Role.ADMINISTRATOR in person.roles]
