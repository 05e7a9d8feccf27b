"""Answers to requests of the API that no endpoint got to, or that broke one. Programs read JSON, not our pages."""

from __future__ import annotations

import logging
import uuid

from django.http import HttpRequest, HttpResponse, JsonResponse

from memadmin.api.bodies import drain
from memadmin.api.opensearch.errors import ARGUMENT, STATUS, ApiError
from memadmin.erasure.restoring.wording import Told

logger = logging.getLogger(__name__)
COMPATIBLE = "/_"
OURS = "/api"


def is_api(request: HttpRequest) -> bool:
    """True for an address of the API, whether it exists or not, and for a program that asks for something else."""
    return request.path.startswith(COMPATIBLE) or _is_ours(request) or is_program(request)


def is_program(request: HttpRequest) -> bool:
    """True for a client that comes with credentials and wants no page."""
    return "Authorization" in request.headers and "text/html" not in request.headers.get("Accept", "")


def not_found(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    return _answer(request, ApiError(404, STATUS, "There is nothing at this address."), code="not_found")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    error = ApiError(400, ARGUMENT, "The server did not accept this request: a foreign host name, or too much data.")
    return _answer(request, error, code="bad_request")


def broken(request: HttpRequest) -> JsonResponse:
    response = _answer(request, ApiError(500, STATUS, "Internal server error"), code="error")
    name_it(response)
    return response


def name_it(response: HttpResponse) -> None:
    """Give a failure a name by which the log is found that tells of it."""
    error_id = uuid.uuid4().hex[:8]
    logger.error("request to the API failed, error id %s", error_id)
    response["X-Error-Id"] = error_id


def maintenance(request: HttpRequest, said: Told) -> JsonResponse:
    """Answer while the database is not in step with what lies outside of it."""
    error = ApiError(503, STATUS, f"{said.title}. Nothing is read or written until {said.until}.")
    return _answer(request, error, code="restored_backup" if said.is_restored else "not_in_step")


def _answer(request: HttpRequest, error: ApiError, *, code: str) -> JsonResponse:
    """Each API has one shape for whatever goes wrong. What the client still sends is read, or it would find its connection cut."""
    drain(request)
    if not _is_ours(request):
        return JsonResponse(error.envelope(), status=error.status)
    whose = "client_error" if error.status < 500 else "server_error"
    return JsonResponse({"type": whose, "errors": [{"code": code, "detail": error.reason, "attr": None}]}, status=error.status)


def _is_ours(request: HttpRequest) -> bool:
    return request.path == OURS or request.path.startswith(f"{OURS}/")
