"""What every address of our own API does: token, scope, JSON body, one shape for whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, TypeVar, cast

from django.utils import timezone
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from memadmin.access.principals import Principal, may_use
from memadmin.access.scopes import Scope
from memadmin.api import failures
from memadmin.api.authentication import NotAuthenticated, after_reading, authenticate
from memadmin.api.bodies import drain, read_json
from memadmin.api.noting import note_erased, note_missing_scope
from memadmin.api.opensearch.reach import find_container
from memadmin.store.models import Container
from memadmin.store.opening import Suppressed
from memadmin.store.text import clean

_Read = TypeVar("_Read")


class TokenAuthentication(BaseAuthentication):
    """API tokens, as a Bearer token or the password of Basic authentication. A browser's session means nothing here."""

    def authenticate(self, request: Request) -> tuple[Principal, None]:
        try:
            return authenticate(request._request, now=timezone.now()), None
        except NotAuthenticated as refusal:
            raise exceptions.NotAuthenticated(str(refusal)) from None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="memadmin"'


class HasScope(BasePermission):
    """The view names a scope for each method; the token must have it."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        scope = cast(ApiView, view).scopes["GET" if request.method == "HEAD" else str(request.method)]
        if not principal_of(request).has(scope):
            note_missing_scope(principal_of(request), scope, now=cast(ApiView, view).now)
            raise exceptions.PermissionDenied(f"This token may not {scope.label}: it lacks the scope {scope.value}.")
        return True


class StrictJson(BaseParser):
    """Reads a JSON object within our limits. An empty body is an empty object."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        request: Request = (parser_context or {})["request"]
        return body_of(request, lambda: read_json(request._request)) or {}


class ApiView(APIView):
    """Base of all views. `scopes` names what each method asks of the token."""

    scopes: ClassVar[Mapping[str, Scope]] = {}
    answers_once: ClassVar[bool] = True  # its writes take an Idempotency-Key
    authentication_classes = [TokenAuthentication]
    permission_classes = [HasScope]
    parser_classes = [StrictJson]
    renderer_classes = [JSONRenderer]

    def __init_subclass__(cls) -> None:
        methods = [method.lower() for method in cls.scopes]
        cls.http_method_names = [*methods, *(["head"] if "get" in methods else [])]

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view = super().as_view(**initkwargs)
        view.scopes = dict(cls.scopes)  # type: ignore[attr-defined]
        return view

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.now: datetime = timezone.now()
        if str(request.method).lower() not in self.http_method_names:
            raise exceptions.MethodNotAllowed(str(request.method))
        super().initial(request, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, Suppressed):
            note_erased(principal_of(self.request), exc, now=self.now)
        return super().handle_exception(exc)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(response, "exception", False):  # a problem is JSON, whatever the view sends else
            request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
            drain(request._request)
            if response.status_code == 500:
                failures.name_it(response)
        finished = super().finalize_response(request, response, *args, **kwargs)
        finished.headers.setdefault("Cache-Control", "private, no-store")
        return finished


class Nowhere(ApiView):
    """Every other address: the answer is a problem like any other."""

    scopes = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), Scope.CONTAINER_READ)
    permission_classes = []
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise exceptions.NotFound("There is no such address. The schema at /api/v1/schema lists those that there are.")


def body_of(request: Request, read: Callable[[], _Read]) -> _Read:
    """Read the body of a request, slow ones under a token that still works afterwards."""
    try:
        return after_reading(principal_of(request), read)
    except NotAuthenticated as refusal:
        raise exceptions.NotAuthenticated(str(refusal)) from None


def principal_of(request: Request) -> Principal:
    return cast(Principal, request.user)


def container_of(request: Request, cid: str) -> Container:
    """Return the container of a path, or 404: one that the token may not use does not exist for it."""
    principal = principal_of(request)
    container = find_container(clean(cid))
    if container is None or not may_use(principal, container):
        raise exceptions.NotFound
    return container


def whole_container(request: Request, cid: str) -> Container:
    """Like `container_of`, for what shows everybody's memories: only a token with all access may. Raises PermissionDenied."""
    container = container_of(request, cid)
    check_all_access(request)
    return container


def check_all_access(request: Request) -> None:
    if not principal_of(request).all_access:
        raise exceptions.PermissionDenied("This shows what all writers have stored, so it needs a token with all access.")


def check_reaches_all(request: Request) -> None:
    if not principal_of(request).reaches_all:
        raise exceptions.PermissionDenied(
            "This is about the whole installation, so it needs a token with all access to all containers, and of no tenant."
        )


def valid(shape: type[Serializer[Any]], given: object) -> dict[str, Any]:
    """Return the checked input. Raises ValidationError."""
    serializer = shape(data=given)
    serializer.is_valid(raise_exception=True)
    return cast("dict[str, Any]", serializer.validated_data)
