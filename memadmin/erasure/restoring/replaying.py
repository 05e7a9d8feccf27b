"""One erasure once more: the same search, the same execution, the same verification, on what an older database holds.

Nobody approves again: the line of the ledger is the approval, by the digest that it names, and the log says so. What a reviewer decided to
keep or to treat otherwise is decided alike; what was stored after the erasure was complete belongs to somebody new and stays.
Killed at any place, it goes on from there when it is called again.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import discovery, manifests
from memadmin.erasure.deciding import current, return_to_review
from memadmin.erasure.drift import STORED
from memadmin.erasure.execution import resuming, steps
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Approval, Decision, ErasureRequest, Manifest, ManifestItem, Status
from memadmin.erasure.models.manifests import Answer
from memadmin.erasure.moves import move
from memadmin.erasure.querysets import ENDED
from memadmin.erasure.restoring.papers import ACTOR
from memadmin.erasure.restoring.told import Erasure
from memadmin.jobs import queue
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.store import refs
from memadmin.store.locations import Act

LEDGER = "ledger"
AFTER = "after_erasure"
NOTHING = "nothing_restored"
AT_ONCE = 500
UNDER_WAY = (Status.EXECUTING, Status.VERIFYING, Status.STALLED)
Moment = datetime | None  # a fixed time, for tests; None: the clock


class NotDone(Exception):
    """The erasure could not be done again; the message says why. Nobody is let in."""


def replay(request: ErasureRequest, told: Erasure, *, now: datetime, fixed: Moment = None) -> int:
    """Erase once more, and return how many things went. Raises NotDone, and what the execution raises."""
    if request.state not in ENDED and request.state not in UNDER_WAY:
        _search(request, now=now, fixed=fixed)
        _approve(request, told, now=now)
    if request.state in UNDER_WAY:
        _execute(request, now=now, fixed=fixed)
    if request.state not in ENDED:
        raise NotDone(f"Request {request.number} is {Status(request.state).label}: what is left is named on its page. Run this again.")
    return sum(request.outcomes.values_list("erased", flat=True)) + sum(request.outcomes.values_list("redacted", flat=True))


def _search(request: ErasureRequest, *, now: datetime, fixed: Moment) -> None:
    back: dict[Status, Callable[[], None]] = {
        Status.DISCOVERING: lambda: move(request, Status.RECEIVED, now=now, manifest_number=None),
        Status.AWAITING_APPROVAL: lambda: return_to_review(request, code=LEDGER, actor=ACTOR, now=now),
        Status.APPROVED: lambda: return_to_review(request, code=LEDGER, actor=ACTOR, now=now),
        Status.RESIDUE_FOUND: lambda: return_to_review(request, code=LEDGER, actor=ACTOR, now=now),
    }
    with transaction.atomic():
        if Status(request.state) in back:
            back[Status(request.state)]()
        manifest = discovery.start(request, actor=ACTOR, now=now)
    run_inline(_taken(discovery.DISCOVER, discovery.job_target(manifest)), now=fixed)
    request.refresh_from_db()


@transaction.atomic
def _approve(request: ErasureRequest, told: Erasure, *, now: datetime) -> None:
    """Decide as was decided, freeze, and let the line of the ledger be the approval."""
    manifest = current(request)
    if manifest.answers.filter(answer__in=[Answer.UNREACHABLE, Answer.FAILED]).exists():
        raise NotDone(f"A place could not be asked what it holds for request {request.number}. Run this again once it answers.")
    _decide(manifest, told)
    manifests.sum_up(manifest)
    if not manifest.items_total and not request.attempt:
        move(request, Status.NOTHING_HELD, now=now, outcome_code=NOTHING, reviewed_by=ACTOR)
        log.append(Action.ERASURE_NOTHING_HELD, actor=ACTOR, target=target_of(request), at=now, reason_code=LEDGER)
        return
    Manifest.objects.filter(pk=manifest.pk).update(frozen_at=now)
    digest = manifest.digest
    move(request, Status.AWAITING_APPROVAL, now=now, manifest_number=manifest.number, manifest_digest=digest, reviewed_by=ACTOR)
    _note_approval(request, told, now=now)
    move(request, Status.APPROVED, now=now)
    token = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
    attempt = max(request.attempt, told.attempt)
    move(request, Status.EXECUTING, now=now, execution_token=token, attempt=attempt)
    job = queue.reserve(steps.EXECUTE, target=target_of(request), requested_by=ACTOR, now=now)
    Job.objects.filter(pk=job.pk).update(cursor=asdict(steps.At("fence")))  # the line of the ledger stands
    counts = {"line": told.intent.seq, "attempt": attempt, "items": manifest.items_total}
    target = f"{target_of(request)}/{told.facts['digest']}"
    log.append(Action.ERASURE_REAPPLIED, actor=ACTOR, target=target, at=now, reason_code=LEDGER, counts=counts)


def _note_approval(request: ErasureRequest, told: Erasure, *, now: datetime) -> None:
    Approval.objects.create(
        request=request,
        approver=f"system/{LEDGER}",
        manifest_digest=request.manifest_digest,
        approved_at=told.intent.at,
        expires_at=now + timedelta(days=1),
        method=LEDGER,
        used_at=now,
    )


def _decide(manifest: Manifest, told: Erasure) -> None:
    decided: dict[str, list[str]] = told.facts.get("decided", {})
    for item in manifest.items.order_by("pk").iterator(chunk_size=5_000) if decided else ():
        found = decided.get(refs.item_ref(item.row_uid, key=told.facts["key_id"]))
        if found and item.reason_code != manifests.HELD:
            act, code, day = found
            _treat([item.pk], act=act, code=code, review_on=date.fromisoformat(day) if day else None)
    for name, model, stored in STORED:
        later: Any = model.objects.filter(**{f"{stored}__gt": told.ended_at}).values("uid")
        items = manifest.items.filter(location=name, act=Act.DELETE, row_uid__in=later)
        _treat(list(items.values_list("pk", flat=True)), act=Act.WITHHOLD, code=AFTER, review_on=None)
    manifest.items.filter(decision=Decision.WAITING).update(decision=Decision.MADE, decided_by=ACTOR)


def _treat(ids: list[int], **values: Any) -> None:
    act, code, review_on = values["act"], values["code"], values["review_on"]
    for at in range(0, len(ids), AT_ONCE):
        ManifestItem.objects.filter(pk__in=ids[at : at + AT_ONCE]).update(
            act=act, reason_code=code, review_on=review_on, decision=Decision.MADE, decided_by=ACTOR
        )


def _execute(request: ErasureRequest, *, now: datetime, fixed: Moment) -> None:
    if request.state == Status.STALLED:
        resuming.go_on(request, actor=ACTOR, now=now)
        request.refresh_from_db()
    run_inline(_taken(steps.EXECUTE, target_of(request)), now=fixed)
    request.refresh_from_db()


def _taken(kind: str, target: str) -> Job:
    """Return the job, taken from whoever worked on it before the database was put back: they are not there any more."""
    job = Job.objects.filter(kind=kind, target=target).order_by("-pk").first()
    if job is None or job.state not in (JobState.QUEUED, JobState.RUNNING):
        raise NotDone("The job of an erasure that is under way is not in this database, or has failed. Let it go on from its page.")
    if job.state == JobState.RUNNING:
        Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED, lease_until=None, leased_by="")
    job.refresh_from_db()
    return job
