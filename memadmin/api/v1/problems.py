"""What goes wrong, in one shape: `{"type", "errors": [{"code", "detail", "attr"}]}`, and for a conflict what stands now beside it."""

from __future__ import annotations

from typing import Any

from drf_standardized_errors.formatter import ExceptionFormatter
from drf_standardized_errors.handler import ExceptionHandler
from drf_standardized_errors.types import ErrorResponse
from rest_framework import exceptions

from memadmin.api.authentication import ForeignTenant
from memadmin.api.throttling import TooManyRequests
from memadmin.lifecycle import approval
from memadmin.lifecycle.runs import CannotStart
from memadmin.lifecycle.states import WrongState
from memadmin.store import deleting, drafts, editing, pinning, policies
from memadmin.store.deleting import Pinned
from memadmin.store.held_copies import Restricted
from memadmin.store.ingest import UidTaken
from memadmin.store.opening import Suppressed
from memadmin.store.paging import InvalidPlace
from memadmin.store.suppression_keys import KeysUnusable
from memadmin.transfer.exporting import NobodyFound
from memadmin.transfer.problems import Refused
from memadmin.webhooks.subscriptions import BadSubscription
from retention.policy import InvalidPolicy

KEYS_UNUSABLE = "Nobody can say what was erased here, so nothing new is taken: an administrator must put the file of keys back."
STATUS_OF = {"too_large": 413, "too_many_values": 413, "encoding": 415, "length": 411}  # of `Refused`, by its code; all others are 400


class Conflict(exceptions.APIException):
    """The request does not fit what stands now. `yours` and `current` are both versions, where there are two."""

    status_code = 409
    default_code = "conflict"

    def __init__(self, detail: str, *, code: str = "conflict", yours: Any = None, current: Any = None) -> None:
        super().__init__(detail, code)
        self.versions = {} if current is None else {"yours": yours, "current": current}


class Unprocessable(exceptions.APIException):
    status_code = 422
    default_code = "idempotency_key_reused"


class Unavailable(exceptions.APIException):
    status_code = 503
    default_code = "unavailable"


class Handler(ExceptionHandler):
    """Gives the expected failures of the verbs their answers."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        return converted(exc) or super().convert_known_exceptions(exc)


class Formatter(ExceptionFormatter):
    """Adds both versions to the answer to a conflict."""

    def format_error_response(self, error_response: ErrorResponse) -> Any:
        body = super().format_error_response(error_response)
        return {**body, **self.exc.versions} if isinstance(self.exc, Conflict) else body


def converted(error: Exception) -> Exception | None:
    """Return the answer for an expected failure; None for anything else."""
    match error:
        case Refused():
            return _refused(error)
        case InvalidPolicy():
            return exceptions.ValidationError({f"policy.{error.field}".rstrip("."): [str(error)]})
        case InvalidPlace():
            return exceptions.ValidationError({"cursor": [str(error)]})
        case pinning.NoReason():
            return exceptions.ValidationError({"reason": [str(error)]})
        case BadSubscription():
            return exceptions.ValidationError({"url": [str(error)]})
        case Pinned():
            return Conflict("This memory is pinned. To delete it nevertheless, say force=true and a reason.", code="pinned")
        case UidTaken():
            return Conflict("Another item has this id already.", code="id_taken")
        case Suppressed():
            return Conflict(str(error), code="subject_erased")
        case Restricted():
            return Conflict(str(error), code="restricted")
        case KeysUnusable():
            return Unavailable(KEYS_UNUSABLE)
        case editing.Gone() | pinning.Gone() | deleting.Gone() | NobodyFound():
            return exceptions.NotFound()
        case pinning.AlreadyPinned() | pinning.NotPinned() | CannotStart() | WrongState() | deleting.Held():
            return Conflict(str(error))
        case approval.NoReason():
            return exceptions.ValidationError({"reason": [str(error)]})
        case approval.NotSecondPerson():
            return exceptions.PermissionDenied(str(error))
        case approval.OtherList():
            return Conflict(str(error), code="other_list")
        case TooManyRequests():
            return exceptions.Throttled(wait=error.retry_after)
        case ForeignTenant():
            return exceptions.PermissionDenied(str(error))
    return _about_policies(error)


def _about_policies(error: Exception) -> exceptions.APIException | None:
    match error:
        case policies.Conflict():
            return Conflict(str(error), code="base_changed")
        case policies.RetentionIsOff():
            return Conflict(str(error), code="retention_off")
        case policies.DraftChanged():
            return Conflict(str(error), code="draft_changed")
        case policies.NoSuchVersion() | drafts.AlreadyScheduled():
            return Conflict(str(error))
        case drafts.BadTime():
            return exceptions.ValidationError({"publish_at": [str(error)]})
    return None


def _refused(error: Refused) -> exceptions.APIException:
    status = STATUS_OF.get(error.code)
    if status is None:
        return exceptions.ValidationError({error.field or "body": [exceptions.ErrorDetail(error.words, error.code)]})
    refusal = exceptions.APIException(error.words, error.code)
    refusal.status_code = status
    return refusal
