"""What every address of the compatible API does: token, scope, body, the work, and one envelope for whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.api.authentication import after_reading, authenticate
from memadmin.api.bodies import drain, read_body, read_object
from memadmin.api.noting import note_missing_scope, noting_the_erased
from memadmin.api.opensearch import filtering
from memadmin.api.opensearch.errors import EXPECTED, ApiError, forbidden, from_exception, missing_scope
from memadmin.api.opensearch.querying import text_tests
from memadmin.recall.touching import NOT_SAID, Occasion
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.text import clean

SWITCHED_OFF = "The Agentic Memory APIs are not enabled. To enable, please update the setting plugins.ml_commons.agentic_memory_enabled"
NO_TENANT = "Tenant ID header is missing or has no value"
OCCASION_HEADERS = ("X-Memory-Session", "X-Memory-Invocation")
MEDIA_TYPES = {"application/json", "application/vnd.opensearch+json"}
TRUE, FALSE = ("", "true"), ("false",)


@dataclass(frozen=True, slots=True)
class Call:
    """A request that may be answered: its token works and has the scope. `document` is None where there was no body."""

    principal: Principal
    document: dict[str, Any] | None
    parameters: QueryDict
    now: datetime
    occasion: Occasion = NOT_SAID
    method: str = "GET"

    def flag(self, name: str) -> bool:
        """Return a query parameter that is true or false; absent is false. Raises ApiError."""
        value = self.parameters.get(name, "false").lower()
        if value not in (*TRUE, *FALSE):
            raise ApiError(
                400, "illegal_argument_exception", f"Failed to parse value [{value[:60]}] as only [true] or [false] are allowed."
            )
        return value in TRUE


@dataclass(frozen=True, slots=True)
class WithHeaders:
    """An answer that says something in its headers too."""

    document: dict[str, Any]
    headers: Mapping[str, str]


class UnsupportedMedia(Exception):
    """The body is said to be something else than JSON."""


Handler = Callable[..., dict[str, Any] | WithHeaders | HttpResponse]


def endpoint(scope: Scope) -> Callable[[Handler], Handler]:
    """Name the scope that a handler asks of the token. A handler takes a Call and the parts of the path."""

    def decorate(handler: Handler) -> Handler:
        handler.scope = scope  # type: ignore[attr-defined]
        return handler

    return decorate


def route(**handlers: Handler) -> Callable[..., HttpResponse]:
    """Return the view of an address: a handler for each method, as `route(GET=read, PUT=change)`. HEAD is GET without a body."""
    by_method = {**handlers, **({"HEAD": handlers["GET"]} if "GET" in handlers else {})}

    @csrf_exempt  # no cookie is read, so there is nothing to forge
    def view(request: HttpRequest, **parts: str) -> HttpResponse:
        try:
            answer = _answer(request, by_method, parts)
        except EXPECTED as error:
            answer = _refusal(from_exception(error))
        except UnsupportedMedia as error:
            answer = JsonResponse({"error": f"Content-Type header [{str(error)[:100]}] is not supported", "status": 406}, status=406)
        finally:
            text_tests.forget()
        if answer.status_code >= 400:
            drain(request)
        answer.headers.setdefault("Cache-Control", "private, no-store")
        return answer

    view.scopes = {method: handler.scope for method, handler in by_method.items()}  # type: ignore[attr-defined]
    return view


def _answer(request: HttpRequest, handlers: Mapping[str, Handler], parts: Mapping[str, str]) -> HttpResponse:
    now = timezone.now()
    principal = authenticate(request, now=now)
    handler = handlers.get(request.method or "")
    if handler is None:
        return _wrong_method(request, handlers)
    scope: Scope = handler.scope  # type: ignore[attr-defined]
    if not principal.has(scope):
        note_missing_scope(principal, scope, now=now)
        raise missing_scope(scope)
    wanted = filtering.parse(request.GET.get("filter_path", ""))
    document = after_reading(principal, lambda: _document(request))
    call = Call(principal, document, request.GET, now, _occasion(request), str(request.method))
    with noting_the_erased(principal, now=now):
        answer = handler(call, **{name: clean(part) for name, part in parts.items()})
    if isinstance(answer, HttpResponse):
        return answer
    said, headers = (answer.document, answer.headers) if isinstance(answer, WithHeaders) else (answer, {})
    pretty = request.GET.get("pretty", "false").lower() in TRUE
    return JsonResponse(wanted.of(said), json_dumps_params={"indent": 2} if pretty else {}, headers=headers)


def _document(request: HttpRequest) -> dict[str, Any] | None:
    """Return the body. Raises Refused, and the answer for a body that is said to be no JSON."""
    raw = read_body(request)
    if not raw.strip():
        return None
    said = request.headers.get("Content-Type", "")
    if said.partition(";")[0].strip().lower() not in MEDIA_TYPES:
        raise UnsupportedMedia(said)
    return read_object(raw)


def _occasion(request: HttpRequest) -> Occasion:
    """Return during what the agent asks, from two headers of ours: no field of the API says it. One that is too long says nothing."""
    session, invocation = (clean(request.headers.get(name, ""))[: MAX_ID_LENGTH + 1] for name in OCCASION_HEADERS)
    return Occasion(*(name if 0 < len(name) <= MAX_ID_LENGTH else None for name in (session, invocation)))


def check_enabled(principal: Principal) -> None:
    """Raise the answer for a switched-off API."""
    if not principal.switched_on:
        raise forbidden(SWITCHED_OFF)


def check_tenant(principal: Principal) -> None:
    """Raise the answer for a missing tenant, where tenants are kept apart."""
    if principal.tenancy and not principal.tenant:
        raise forbidden(NO_TENANT)


def _refusal(error: ApiError) -> HttpResponse:
    return JsonResponse(error.envelope(), status=error.status, headers=error.headers)


def _wrong_method(request: HttpRequest, handlers: Mapping[str, Handler]) -> HttpResponse:
    allowed = sorted(method for method in handlers if method != "HEAD")
    text = f"Incorrect HTTP method for uri [{request.path}] and method [{request.method}], allowed: [{', '.join(allowed)}]"
    return JsonResponse({"error": text, "status": 405}, status=405, headers={"Allow": ", ".join(sorted(handlers))})
