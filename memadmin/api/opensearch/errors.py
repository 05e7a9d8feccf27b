"""What goes wrong, in the one envelope of the compatible API: `{"error": {"root_cause": […], "type", "reason"}, "status"}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memadmin.access.scopes import Scope
from memadmin.api.authentication import ForeignTenant, NotAuthenticated
from memadmin.api.throttling import TooManyRequests
from memadmin.store.held_copies import Restricted
from memadmin.store.ingest import UidTaken
from memadmin.store.opening import Suppressed
from memadmin.store.suppression_keys import KeysUnusable
from memadmin.transfer.problems import Refused

ARGUMENT = "illegal_argument_exception"
PARSING = "parsing_exception"
PARSE = "parse_exception"
STATUS = "status_exception"
SECURITY = "security_exception"
VALIDATION = "action_request_validation_exception"
IO = "i_o_exception"
JSON = "json_parse_exception"
CONFLICT = "version_conflict_engine_exception"
MAPPING = "mapper_parsing_exception"

REFUSED: Mapping[str, tuple[int, str]] = {  # by the code of `Refused`; all others are bad arguments
    "not_json": (400, JSON),
    "not_utf8": (400, JSON),
    "not_finite": (400, JSON),
    "number_too_long": (400, JSON),
    "cut_off": (400, JSON),
    "not_an_object": (400, PARSING),
    "not_messages": (400, PARSING),
    "too_large": (413, "content_too_long_exception"),
    "too_many_values": (413, "content_too_long_exception"),
    "encoding": (415, ARGUMENT),
    "length": (411, ARGUMENT),
}


class ApiError(Exception):
    """An answer that is not 200: its status, and the type and reason of the envelope."""

    def __init__(self, status: int, type: str, reason: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.type = type
        self.reason = reason
        self.headers = dict(headers or {})

    def envelope(self) -> dict[str, Any]:
        cause = {"type": self.type, "reason": self.reason}
        return {"error": {"root_cause": [cause], **cause}, "status": self.status}


EXPECTED = (ApiError, Refused, NotAuthenticated, TooManyRequests, ForeignTenant, UidTaken, Suppressed, Restricted, KeysUnusable)


def from_exception(error: Exception) -> ApiError:
    """Return the answer for one of the EXPECTED exceptions."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, Refused):
        status, kind = REFUSED.get(error.code, (400, ARGUMENT))
        return ApiError(status, kind, f"{error.field}: {error.words}" if error.field else error.words)
    if isinstance(error, NotAuthenticated):
        return ApiError(401, SECURITY, str(error), headers={"WWW-Authenticate": 'Basic realm="memadmin"'})
    if isinstance(error, TooManyRequests):
        return ApiError(429, "too_many_requests_exception", str(error), headers={"Retry-After": str(error.retry_after)})
    if isinstance(error, UidTaken):
        return ApiError(409, CONFLICT, "Another item has this id already.")
    if isinstance(error, Suppressed | Restricted):
        return ApiError(409, "subject_erased_exception" if isinstance(error, Suppressed) else CONFLICT, str(error))
    if isinstance(error, KeysUnusable):  # its words name a path of ours
        return ApiError(503, STATUS, "Nobody can say what was erased here, so nothing new is taken until an administrator has mended that.")
    return ApiError(403, STATUS, str(error))


def bad_argument(reason: str) -> ApiError:
    return ApiError(400, ARGUMENT, reason)


def not_found(reason: str) -> ApiError:
    return ApiError(404, STATUS, reason)


def forbidden(reason: str) -> ApiError:
    return ApiError(403, STATUS, reason)


def missing_scope(scope: Scope) -> ApiError:
    return ApiError(403, SECURITY, f"This token may not {scope.label}: it lacks the scope {scope.value}.")
