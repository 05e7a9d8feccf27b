"""What tests of executions need: a request carried to its end, and one whose place lied about what it had erased."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from memadmin.erasure import discovery
from memadmin.erasure.execution import steps
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Manifest, Status
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.store import locations
from tests.erasure.workflow import approved, opened
from tests.factories import NOON

CANARY = "zebrafinch7canary"


def execute(request: ErasureRequest, *, now: datetime = NOON) -> ErasureRequest:
    """Begin what is approved, and work off the request's execution to its end or its stop."""
    steps.begin_approved(now=now)
    return go_through(request, now=now)


def go_through(request: ErasureRequest, *, now: datetime = NOON) -> ErasureRequest:
    """Work off what waits for this request: searches, then the execution."""
    for kind, target in ((discovery.DISCOVER, f"{target_of(request)}/"), (steps.EXECUTE, target_of(request))):
        for job in Job.objects.filter(kind=kind, target__startswith=target, state=JobState.QUEUED).order_by("pk"):
            run_inline(job, now=now)
    request.refresh_from_db()
    return request


def with_a_residue(monkeypatch: Any, *, place: str = "store.archive", user_id: str = CANARY) -> ErasureRequest:
    """Return a request of which one place said that it had erased, and had not. Afterwards the place is honest."""
    request = opened(user_id)
    approved(request)
    with monkeypatch.context() as lying:
        lying.setitem(locations.LOCATIONS, place, replace(locations.get(place), delete=lambda keys: len(keys)))
        execute(request)
    assert request.state == Status.RESIDUE_FOUND
    return request


def newest(request: ErasureRequest) -> Manifest:
    found: Manifest = request.manifests.order_by("-number")[0]
    return found
