"""Answers to requests of the API that no endpoint got to, or that broke one. Programs read JSON, not our pages."""

from __future__ import annotations

import logging
import uuid

from django.http import HttpRequest, JsonResponse

from memadmin.api.opensearch.errors import ARGUMENT, STATUS, ApiError

logger = logging.getLogger(__name__)
PATHS = ("/_", "/api/")


def is_api(request: HttpRequest) -> bool:
    """True for an address of the API, whether it exists or not."""
    return request.path.startswith(PATHS)


def not_found(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    return _answer(ApiError(404, STATUS, "There is nothing at this address."))


def bad_request(request: HttpRequest, exception: Exception | None = None) -> JsonResponse:
    return _answer(ApiError(400, ARGUMENT, "The server did not accept this request: a foreign host name, or too much data."))


def broken(request: HttpRequest) -> JsonResponse:
    error_id = uuid.uuid4().hex[:8]
    logger.error("request to the API failed, error id %s", error_id)
    response = _answer(ApiError(500, STATUS, "Internal server error"))
    response["X-Error-Id"] = error_id
    return response


def _answer(error: ApiError) -> JsonResponse:
    return JsonResponse(error.envelope(), status=error.status)
