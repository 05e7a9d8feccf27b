"""Ways on for an execution that stopped: it stalled with an error, or its verification found something left."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import discovery
from memadmin.erasure.deciding import return_to_review
from memadmin.erasure.execution.steps import EXECUTE, PHASES, At, enqueue
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, FindingKind, Manifest, Status, Verification
from memadmin.erasure.moves import Refusal, WrongState, move
from memadmin.erasure.refusals import audited
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.store import configuration

VERIFIES = PHASES[PHASES.index("look") :]  # the phases in which a request is being verified


class Stopped(Refusal):
    """The emergency stop is set."""

    code = "stopped"


class NotLeft(Refusal):
    """What was found is not something that is left: erasing more would not help."""

    code = "not_left"


@audited(Action.ERASURE_GOES_ON)
def go_on(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Let an execution go on. A stalled one does from where it was; after a residue, what is left is looked for first.

    Then technical copies, and what the approval named, are erased without asking again; where anything else is there, the request goes to
    review. Raises WrongState, Stopped, NotLeft.
    """
    _check_not_stopped()
    if request.state == Status.RESIDUE_FOUND:
        _look_for_the_rest(request, actor=actor, now=now)
        return
    last = Job.objects.filter(kind=EXECUTE, target=target_of(request)).order_by("-pk").first()
    phase = (last.cursor or {}).get("phase", "") if last else ""
    move(request, Status.VERIFYING if phase in VERIFIES else Status.EXECUTING, now=now, expect=Status.STALLED, error_code="")
    log.append(Action.ERASURE_GOES_ON, actor=actor, target=target_of(request), at=now)
    if last is None:
        enqueue(request, actor=actor, now=now)
    else:
        queue.retry(last, requested_by=actor)


@audited(Action.ERASURE_LOOKS_AGAIN)
def look_again(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Verify anew, where the cause of a finding was mended outside: a file deleted, an answering database. Raises WrongState, Stopped."""
    _check_not_stopped()
    _check_not_searched(request)
    move(request, Status.VERIFYING, now=now, expect=Status.RESIDUE_FOUND)
    job = enqueue(request, actor=actor, now=now)
    Job.objects.filter(pk=job.pk).update(cursor=asdict(At(VERIFIES[0])))
    log.append(Action.ERASURE_LOOKS_AGAIN, actor=actor, target=target_of(request), at=now)


@audited(Action.ERASURE_RETURNED)
def back_to_review(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Look for everything anew, and let a second person approve what is found: what was decided before stands. Raises WrongState."""
    if request.state != Status.RESIDUE_FOUND:
        raise WrongState(f"Request {request.number} is {Status(request.state).label}: no residue was found.")
    _check_not_searched(request)
    return_to_review(request, code="residue", actor=actor, now=now)
    discovery.start(request, actor=actor, now=now)


def last_look(request: ErasureRequest) -> Verification | None:
    found: Verification | None = request.verifications.order_by("-number").first()
    return found


def is_searched(request: ErasureRequest) -> bool:
    """Whether what is left is being looked for this moment."""
    return request.state == Status.RESIDUE_FOUND and Manifest.objects.filter(request=request, completed_at=None).exists()


def _look_for_the_rest(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    locked = ErasureRequest.objects.select_for_update().get(pk=request.pk)
    if locked.state != Status.RESIDUE_FOUND:
        raise WrongState(f"Request {locked.number} was changed by somebody else this moment. Look at it again.")
    _check_not_searched(locked)
    look = last_look(locked)
    kinds = set(look.findings.values_list("kind", flat=True)) if look else set()
    if kinds != {FindingKind.RESIDUE}:
        raise NotLeft(
            "A control was not seen, so nobody knows what is left. Look again once the cause is mended."
            if FindingKind.BLIND in kinds
            else "Something that was to stay has gone. Send the request back to review: what is there now is looked for and approved anew."
        )
    discovery.look_for_the_rest(locked, actor=actor, now=now)


def _check_not_stopped() -> None:
    if configuration.value("erasure_paused"):
        raise Stopped("All erasures are stopped. Nothing goes on before the stop is lifted, in the inbox of requests or under Settings.")


def _check_not_searched(request: ErasureRequest) -> None:
    if is_searched(request):
        raise WrongState(f"What is left of request {request.number} is being looked for this moment. Wait until that has ended.")
