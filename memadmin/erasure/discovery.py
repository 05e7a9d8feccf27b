"""Asking every place what it holds for a request. A job: each step is one page of one place, saved with the job's cursor.

Order: what hangs on the named items or was derived, then place by place (for whole users, then for what was reached), then mixed items,
then other people's items that mention the person. A place that cannot be asked answers `unreachable` or `failed`: nothing makes that
look empty.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import asking, closure, deltas, manifests, mentions
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Kind, Manifest, Status
from memadmin.erasure.moves import move
from memadmin.erasure.refusals import audited
from memadmin.erasure.scope import RequestScope
from memadmin.jobs import lease, queue
from memadmin.jobs.registry import JobView, Step

DISCOVER = "erasure.discover"
MOMENT = 0.2  # seconds, in which SQLite lets nobody else write
UNITS = 1_000  # of progress for each phase


@dataclass(frozen=True, slots=True)
class At:
    """Where a discovery is: the phase, the place in it, and where the last page of that place ended."""

    phase: str = "closure"
    place: int = 0
    after: Any = None


Phase = Callable[[Manifest, RequestScope, At], At]


@audited(Action.ERASURE_DISCOVERY_STARTED)
def start(request: ErasureRequest, *, actor: str, now: datetime) -> Manifest:
    """Begin a new version of the request's manifest, and queue the job that fills it. Raises WrongState."""
    number = _next_number(request)
    move(request, Status.DISCOVERING, now=now, manifest_number=number, manifest_digest="", error_code="")
    return _begun(request, number, actor=actor, now=now, reason="")


def look_for_the_rest(request: ErasureRequest, *, actor: str, now: datetime) -> Manifest:
    """Look for what an execution has left, while the request stands as it is: `deltas.settle` says how it goes on."""
    return _begun(request, _next_number(request), actor=actor, now=now, reason="residue")


def _begun(request: ErasureRequest, number: int, *, actor: str, now: datetime, reason: str) -> Manifest:
    manifest = Manifest.objects.create(request=request, number=number, cutoff_at=now, follows=deltas.executed(request))
    queue.enqueue(DISCOVER, target=job_target(manifest), requested_by=actor, now=now)
    counts = {"manifest": number}
    log.append(Action.ERASURE_DISCOVERY_STARTED, actor=actor, target=target_of(request), at=now, reason_code=reason, counts=counts)
    return manifest


def _next_number(request: ErasureRequest) -> int:
    return (request.manifests.order_by("-number").values_list("number", flat=True).first() or 0) + 1


def _is_wanted(manifest: Manifest) -> bool:
    """Whether the request still waits for this search."""
    request = manifest.request
    if request.state == Status.RESIDUE_FOUND:
        return manifest.follows_id is not None and manifest.completed_at is None
    return request.state == Status.DISCOVERING and request.manifest_number == manifest.number


def job_target(manifest: Manifest) -> str:
    return f"erasure/{manifest.request.uid}/{manifest.number}"


def manifest_of(target: str) -> Manifest:
    """Return the manifest that a job is about. Raises Manifest.DoesNotExist."""
    _, uid, number = target.split("/")
    return Manifest.objects.select_related("request").get(request__uid=uid, number=number)


def step(job: JobView, *, now: datetime) -> Step:
    """One page, written together with the place in the search. A request that was withdrawn meanwhile ends the job."""
    manifest = manifest_of(job.target)
    at = At(**job.cursor) if job.cursor else At()
    if not _is_wanted(manifest):
        mentions.forget()
        return Step(finished=True, cursor=job.cursor, done=job.done)
    if at.phase == "finish":
        _finish(manifest, now=now)
        mentions.forget()
        return Step(finished=True, cursor=job.cursor, done=len(PHASES) * UNITS, total=len(PHASES) * UNITS)
    with transaction.atomic():
        return lease.save(job, _step_at(_go_on(manifest, at)), now=now)


def _go_on(manifest: Manifest, at: At) -> At:
    """Go through pages for a moment: most places hold next to nothing, and each saving costs more than asking them."""
    scope, until = mentions.searching(manifest), time.monotonic() + MOMENT
    while True:
        at = PHASES[at.phase](manifest, scope, at)
        if at.phase == "finish" or time.monotonic() >= until:
            return at


def failed(job: JobView, *, error_code: str, now: datetime) -> None:
    """Put the request back, so that somebody can begin anew; what was found so far counts for nothing."""
    mentions.forget()
    manifest = manifest_of(job.target)
    request = manifest.request
    if not _is_wanted(manifest):
        return
    if request.state == Status.DISCOVERING:
        move(request, Status.RECEIVED, now=now, manifest_number=None, error_code=error_code)
    else:
        manifest.delete()  # the request stands as it did before the search
    log.append(Action.ERASURE_DISCOVERY_FAILED, actor=f"job/{job.kind}", target=target_of(request), at=now)


def _step_at(at: At) -> Step:
    phases = [*PHASES, "finish"]
    done = phases.index(at.phase) * UNITS + min(at.place * 20, UNITS - 1)
    return Step(finished=False, cursor=asdict(at), done=done, total=len(PHASES) * UNITS)


def _closure(manifest: Manifest, scope: RequestScope, at: At) -> At:
    if at.after is None:
        closure.begin(manifest, scope)
    if closure.expand(manifest, scope):
        return replace(at, after=1)
    closure.judge(manifest, scope)
    return At("places")


def _places(manifest: Manifest, scope: RequestScope, at: At) -> At:
    """What whole users own."""
    asked = asking.places() if scope.subjects else []
    if at.place >= len(asked):
        manifests.look_anew(manifest)
        return At("reached")
    after = asking.ask(manifest, scope, asked[at.place], at.after)
    return At(at.phase, at.place + 1) if after is None else replace(at, after=after)


def _reached(manifest: Manifest, scope: RequestScope, at: At) -> At:
    """What single items are, or what was reached from whole users: everything by its uid."""
    asked = asking.places()
    if at.place >= len(asked) or not manifest.scope_items.exists():
        return At("mixed")
    copied = None if scope.subjects else scope.is_copied  # of whole users they were looked for with the rest
    reached = replace(scope, subjects=(), subject_uids=frozenset(), identifiers=(), is_copied=copied)
    after = asking.ask(manifest, reached, asked[at.place], at.after, again=bool(scope.subjects))
    return At(at.phase, at.place + 1) if after is None else replace(at, after=after)


def _mixed(manifest: Manifest, scope: RequestScope, at: At) -> At:
    after = asking.add_mixed(manifest, scope, at.after or 0)
    return At("mentions") if after is None else replace(at, after=after)


def _mentions(manifest: Manifest, scope: RequestScope, at: At) -> At:
    searched = asking.searched_places() if manifest.request.kind != Kind.STORAGE_LIMIT else []  # an age says nothing about other people
    if at.place >= len(searched):
        return At("finish")
    after = asking.add_mentions(manifest, searched[at.place], at.after or 0)
    return At(at.phase, at.place + 1) if after is None else replace(at, after=after)


PHASES: dict[str, Phase] = {"closure": _closure, "places": _places, "reached": _reached, "mixed": _mixed, "mentions": _mentions}


@transaction.atomic
def _finish(manifest: Manifest, *, now: datetime) -> None:
    request = manifest.request
    manifests.look_anew(manifest)
    asking.note_answers(manifest)
    manifests.sum_up(manifest)
    manifest.completed_at = now
    manifest.pinned = asking.count_pinned(manifest)
    manifest.save(update_fields=["completed_at", "pinned"])
    _hand_on(manifest, now=now)
    counts = {"manifest": manifest.number, "items": manifest.items_total, "undecided": manifest.undecided}
    counts["not_asked"] = manifest.answers.filter(answer__in=["unreachable", "failed"]).count()
    log.append(Action.ERASURE_DISCOVERED, actor=f"job/{DISCOVER}", target=target_of(request), at=now, counts=counts)


def _hand_on(manifest: Manifest, *, now: datetime) -> None:
    """To the reviewer; after a residue it depends on what is left."""
    if manifest.request.state == Status.RESIDUE_FOUND:
        deltas.settle(manifest, now=now)
        return
    if manifest.follows is not None:
        deltas.carry_over(manifest)
        manifests.sum_up(manifest)
    move(manifest.request, Status.REVIEW, now=now)
