"""Requests about the one large person, on copies of the store: taking one in, searching, and running the jobs of it."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from bench import store_1m
from bench.erasure_setup import ADDRESS, COPY
from bench.timing import there
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.erasure import discovery, intake
from memadmin.erasure.intake import Opening
from memadmin.erasure.look_alikes import candidates
from memadmin.erasure.models import Channel, ErasureRequest, Ground, IdentityLevel, Kind, Origin
from memadmin.jobs import lease
from memadmin.jobs.models import Job
from memadmin.jobs.registry import handler_of
from memadmin.store.models import Container


def on_a_copy(measure: Any) -> Any:
    connection.close()
    store_1m.clone(ADDRESS, COPY)
    try:
        return measure()
    finally:
        connection.close()
        store_1m.drop(COPY)
        _forget_what_lies_outside()


def _forget_what_lies_outside() -> None:
    """Else the next copy is taken for a restored backup, as it should be, and serves nobody."""
    for ledger in settings.ERASURE_LEDGERS:
        Path(ledger).unlink(missing_ok=True)
    shutil.rmtree(settings.AUDIT_ANCHORS, ignore_errors=True)


def officers() -> list[Person]:
    """Make the two people whom an erasure needs."""
    return [Person.objects.create(login=f"officer-{number}", roles=[Role.COMPLIANCE.value], all_containers=True) for number in (1, 2)]


def opened(
    user_id: str, actor: str, now: datetime, *, kind: Kind = Kind.SUBJECT, ground: Ground = Ground.CONSENT_WITHDRAWN
) -> ErasureRequest:
    meant = [each for each in candidates(user_id, list(Container.objects.values_list("pk", flat=True))) if each.origin == Origin.GIVEN]
    opening = Opening(kind=kind, ground=ground, channel=Channel.PAGE, identity=IdentityLevel.TOKEN, ticked=meant, others=[])
    return intake.open_request(opening, actor=actor, now=now)


def discovered(request: ErasureRequest, actor: str, now: datetime) -> None:
    manifest = discovery.start(request, actor=actor, now=now)
    run(Job.objects.get(target=discovery.job_target(manifest)))


def run(job: Job) -> float:
    """Run a job as a worker does, and return the seconds of its longest step."""
    view, longest = there(lease.take(job.pk, now=datetime.now(UTC))), 0.0
    while True:
        begun = time.perf_counter()
        step = handler_of(job.kind).step(view, now=datetime.now(UTC))
        longest = max(longest, time.perf_counter() - begun)
        if step.finished:
            break
        view = there(lease.checkpoint(view, step, now=datetime.now(UTC)))
    lease.finish(view, step, now=datetime.now(UTC))
    return longest
