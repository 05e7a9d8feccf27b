"""The states of a request, and the only way from one to another: an UPDATE that compares. Who loses a race changes nothing."""

from __future__ import annotations

from datetime import datetime

from memadmin.erasure.models import ErasureRequest, Status

MOVES: dict[Status, frozenset[Status]] = {
    Status.RECEIVED: frozenset({Status.DISCOVERING, Status.REFUSED, Status.CANCELLED}),
    Status.DISCOVERING: frozenset({Status.REVIEW, Status.RECEIVED, Status.REFUSED, Status.CANCELLED}),
    Status.REVIEW: frozenset(
        {
            Status.DISCOVERING,
            Status.RECEIVED,
            Status.AWAITING_APPROVAL,
            Status.NOTHING_HELD,
            Status.COMPLETED,
            Status.REFUSED,
            Status.CANCELLED,
        }
    ),
    Status.AWAITING_APPROVAL: frozenset({Status.APPROVED, Status.REVIEW, Status.REFUSED, Status.CANCELLED}),
    Status.APPROVED: frozenset({Status.EXECUTING, Status.AWAITING_APPROVAL, Status.REVIEW, Status.REFUSED, Status.CANCELLED}),
    Status.EXECUTING: frozenset({Status.STALLED, Status.VERIFYING}),
    Status.STALLED: frozenset({Status.EXECUTING, Status.VERIFYING}),
    Status.VERIFYING: frozenset({Status.RESIDUE_FOUND, Status.COMPLETED, Status.STALLED}),
    Status.RESIDUE_FOUND: frozenset({Status.EXECUTING, Status.VERIFYING, Status.REVIEW}),
    Status.COMPLETED: frozenset({Status.CLOSED}),
    Status.CLOSED: frozenset(),
    Status.REFUSED: frozenset(),
    Status.CANCELLED: frozenset(),
    Status.NOTHING_HELD: frozenset(),
}
BEFORE_EXECUTION = frozenset({Status.RECEIVED, Status.DISCOVERING, Status.REVIEW, Status.AWAITING_APPROVAL, Status.APPROVED})
NOT_ENDED = BEFORE_EXECUTION | {Status.EXECUTING, Status.STALLED, Status.VERIFYING, Status.RESIDUE_FOUND}


class Refusal(Exception):
    """Something about a request was asked for that is not allowed. `code` goes into the audit log, the message is for people."""

    code = "refused"


class WrongState(Refusal):
    """The request is not, or not any more, in a state that allows this."""

    code = "wrong_state"


def move(request: ErasureRequest, to: Status, *, now: datetime, expect: Status | None = None, **values: object) -> None:
    """Move the request, from the state that the caller has seen unless it expects another, and set values with it. Raises WrongState."""
    seen = Status(request.state) if expect is None else expect
    if to not in MOVES[seen]:
        raise WrongState(f"Request {request.number} is {seen.label}: this cannot be done with it (any more).")
    moved = ErasureRequest.objects.filter(pk=request.pk, state=seen).update(state=to, state_since=now, **values)
    if not moved:
        raise WrongState(f"Request {request.number} was changed by somebody else this moment. Look at it again.")
    request.refresh_from_db()


def touch(request: ErasureRequest, *, within: frozenset[Status], **values: object) -> None:
    """Change a request that is still in one of these states. Raises WrongState."""
    if not ErasureRequest.objects.filter(pk=request.pk, state__in=within).update(**values):
        state = Status(ErasureRequest.objects.values_list("state", flat=True).get(pk=request.pk))
        raise WrongState(f"Request {request.number} is {state.label}: this cannot be changed any more.")
    request.refresh_from_db()
