"""An execution as a job: each step is one batch, saved together with where the execution is, so that it goes on after a kill at any place.

    ledger   a line outside the database, on the disk before anything goes
    fence    nobody writes anything about these users any more; the database refuses it too
    words    what others keep loses the person's words: first, since the person's own texts tell which they are
    rows     copies that answer searches, then children before parents, technical copies, links: place by place (see `batches`)
    came     recalls and technical copies that came since the search (see `sweeping`)
    users    exports, and the rows of the users themselves, where nothing stays behind
    forget   the database's pages, indexes, statistics and log, and what this process keeps
    look     the independent verification
    close    certificate, suppression for the time after, the names and notes of the request
    end      the database forgets these papers too; ledger, and the request is complete

Nothing that fails is passed over: the request is STALLED with a code, and goes on from where it was when somebody says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memadmin.audit import ledger, log
from memadmin.audit.actions import Action
from memadmin.erasure import approving, mentions
from memadmin.erasure.access_exports import ending
from memadmin.erasure.approving import NotApproved
from memadmin.erasure.execution import closing, fencing, physical, readers, sweeping, users
from memadmin.erasure.execution.batches import AT_ONCE, Batch, Rest, carry_out, first_size, next_batch, next_size, spared
from memadmin.erasure.execution.erasing import places_in_order
from memadmin.erasure.execution.facts import facts_of
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Manifest, Outcome, Status, Verification
from memadmin.erasure.moves import WrongState, move
from memadmin.erasure.verification import looking
from memadmin.jobs import lease, queue
from memadmin.jobs.models import Job
from memadmin.jobs.registry import JobView, Step, Waits
from memadmin.store import configuration, locations
from memadmin.store.durability import lose_at_worst
from memadmin.store.locations import Act, Location

EXECUTE = "erasure.execute"
ACTOR = "job/erasure.execute"
PHASES = ("ledger", "fence", "words", "rows", "came", "users", "forget", "look", "close", "end")
IN_WORDS = (Act.REDACT, Act.REDERIVE)
MOMENT = 0.2  # seconds between two savings of what goes through many tables, most of which hold next to nothing


class Paused(Waits):
    """The emergency stop is set: no erasure goes on until it is lifted."""


@dataclass(frozen=True, slots=True)
class At:
    """Where an execution is: the phase, the place of the manifest, its last item, how many come next; in the look, where that is.

    `after`: where the next page of a place begins that is asked once more. `horizon`: who reads since before it sees what was erased.
    """

    phase: str = PHASES[0]
    place: int = 0
    item: int = 0
    size: int = AT_ONCE
    rest: dict[str, int] | None = None  # of a list, see `batches.Rest`
    after: Any = None
    look: dict[str, Any] | None = None
    horizon: str | None = None
    done: int = 0


def begin_approved(*, now: datetime) -> int:
    """Claim every approved request and queue its execution; return how many. What does not hold any more goes back, in the log."""
    if configuration.value("erasure_paused"):
        return 0
    begun = 0
    for request in ErasureRequest.objects.filter(state=Status.APPROVED).order_by("due_on", "number"):
        try:
            begin(request, now=now)
        except (NotApproved, WrongState):
            continue  # said in the log by `claim`
        begun += 1
    return begun


def begin(request: ErasureRequest, *, now: datetime) -> Job:
    """Claim one request and queue its execution, in one transaction. Raises NotApproved, WrongState."""
    queued: list[Job] = []
    approving.claim(request, actor=ACTOR, now=now, then=lambda: queued.append(enqueue(request, actor=ACTOR, now=now)))
    return queued[0]


def enqueue(request: ErasureRequest, *, actor: str, now: datetime) -> Job:
    """Queue the execution of a request that was claimed, inside the caller's transaction. `resuming` has the ways on after a stop."""
    return queue.enqueue(EXECUTE, target=target_of(request), requested_by=actor, now=now)


def step(job: JobView, *, now: datetime) -> Step:
    """Do the next batch. A request that is not being executed (any more) ends the job."""
    request = ErasureRequest.objects.get(uid=UUID(job.target.rpartition("/")[2]))
    if request.state not in (Status.EXECUTING, Status.VERIFYING):
        return Step(finished=True, cursor=job.cursor, done=job.done)
    if configuration.value("erasure_paused"):
        raise Paused
    at = At(**(job.cursor or {}))
    after = _STEPS[at.phase](request, at, job, now)
    if isinstance(after, Step):
        return after
    return Step(finished=after is None, cursor=asdict(after or at), done=(after or at).done, total=_total(request))


def stalled(job: JobView, *, error_code: str, now: datetime) -> None:
    """The job has failed for good: say so on the request. Nothing is complete."""
    request = ErasureRequest.objects.get(uid=UUID(job.target.rpartition("/")[2]))
    if request.state in (Status.EXECUTING, Status.VERIFYING):
        move(request, Status.STALLED, now=now, error_code=error_code)
        log.append(Action.ERASURE_STALLED, actor=ACTOR, target=target_of(request), at=now, reason_code=error_code.lower()[:64])


def _total(request: ErasureRequest) -> int:
    return _manifest(request).items_total


def _manifest(request: ErasureRequest) -> Manifest:
    return request.manifests.get(number=request.manifest_number or 0)


def _ledger(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At:
    ledger.write("intent", request=str(request.uid), at=now, facts=facts_of(request))
    request.outcomes.update(withheld=0)  # of an execution before this one: what stays is counted anew
    return At("fence")


def _fence(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At:
    fencing.shut(request, _manifest(request), actor=ACTOR, now=now)
    return At("words")


def _words(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At | Step:
    return _items(request, at, job, now, acts=IN_WORDS, then="rows")


def _rows(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At | Step:
    return _items(request, at, job, now, acts=(Act.DELETE, Act.WITHHOLD), then="came")


def _items(request: ErasureRequest, at: At, job: JobView, now: datetime, *, acts: tuple[Act, ...], then: str) -> At | Step:
    """Take one batch of one place. It is saved in the transaction of the rows: who lost the lease meanwhile rolls back."""
    manifest = _manifest(request)
    lines = list(manifest.lines.values_list("location", "act"))
    places, with_work = places_in_order([name for name, _ in lines]), {name for name, act in lines if act in acts}
    began, batch = time.monotonic(), None
    while batch is None:
        if at.place >= len(places):
            return At(then, done=at.done)
        if places[at.place].name in with_work:
            batch = _batch(manifest, places[at.place], at, acts)
        at = at if batch else replace(at, place=at.place + 1, item=0, size=first_size(at.size))
    with transaction.atomic():
        lose_at_worst()  # what was erased and where the execution is are lost together; the ledger is told of the end after both
        carried = carry_out(request, batch, actor=ACTOR, now=now)
        counts = {"items": carried.items}
        log.note(Action.ERASURE_BATCH, actor=ACTOR, target=target_of(request), at=now, reason_code=batch.location.name, counts=counts)
        size = at.size if at.rest else next_size(at.size, took=time.monotonic() - began)
        rest = asdict(carried.rest) if carried.rest else None
        after = replace(at, item=carried.upto, rest=rest, done=at.done + carried.items, size=size)
        return lease.save(job, Step(finished=False, cursor=asdict(after), done=after.done, total=manifest.items_total), now=now)


def _batch(manifest: Manifest, location: Location, at: At, acts: tuple[Act, ...]) -> Batch | None:
    if at.rest is not None:
        return spared(manifest, location, Rest(**at.rest), acts=acts, behind=at.item)
    return next_batch(manifest, location, acts=acts, behind=at.item, size=at.size)


def _came(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At:
    sweep, places, until = sweeping.Sweep(request, _manifest(request), ACTOR, now), sweeping.places(), time.monotonic() + MOMENT
    with transaction.atomic():
        while at.place < len(places):
            after = sweep.page(places[at.place], at.after)
            at = replace(at, after=after) if after is not None else replace(at, place=at.place + 1, after=None)
            if time.monotonic() >= until:
                return _saved(job, at, now=now)
        return _saved(job, At("users", done=at.done), now=now)


def _users(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At:
    with transaction.atomic():
        ending.erase_with(request, _manifest(request), actor=ACTOR, now=now)
        sweeping.Sweep(request, _manifest(request), ACTOR, now).everything()
        users.remove(request, actor=ACTOR, now=now)
    return At("forget", done=at.done)


def _forget(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At:
    mentions.forget()
    if at.horizon is None:  # saved: of those who begin to read from now on none keeps the database from forgetting
        return replace(at, horizon=readers.horizon())
    physical.forget((location.table for location in locations.in_order() if location.table), deleted_before=at.horizon)
    if request.state == Status.EXECUTING:
        with transaction.atomic():
            move(request, Status.VERIFYING, now=now)
            log.append(Action.ERASURE_EXECUTED, actor=ACTOR, target=target_of(request), at=now, counts=_counts(request))
    return At("look", done=at.done)


def _counts(request: ErasureRequest) -> dict[str, int]:
    names = ("erased", "redacted", "rederived", "absent", "withheld")
    return {name: sum(request.outcomes.values_list(name, flat=True)) for name in names}


def _look(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At | None:
    if at.look is None:
        with transaction.atomic():
            verification = looking.begin(_manifest(request), now=now)
            return _saved(job, replace(at, look={"verification": verification.pk, **looking.Place().as_cursor()}), now=now)
    verification = Verification.objects.select_related("manifest", "request").get(pk=at.look["verification"])
    look, until = looking.Look(verification), time.monotonic() + MOMENT
    place = looking.step(look, looking.Place.read(at.look), now=now)
    while place is not None and time.monotonic() < until:
        place = looking.step(look, place, now=now)
    with transaction.atomic():  # what was found and where the look is: a kill between the two would count it twice
        looking.save(look, now=now)
        if place is not None:
            return _saved(job, replace(at, look={"verification": verification.pk, **place.as_cursor()}), now=now)
        if verification.outcome == Outcome.CLEAN:
            return _saved(job, At("close", done=at.done), now=now)
        _residue(request, verification, now=now)
    return None


def _saved(job: JobView, after: At, *, now: datetime) -> At:
    lease.checkpoint(job, Step(finished=False, cursor=asdict(after), done=after.done, total=job.total), now=now)
    return after


def _residue(request: ErasureRequest, verification: Verification, *, now: datetime) -> None:
    """Not complete: somebody looks at the findings, and the search begins anew or the execution goes on."""
    move(request, Status.RESIDUE_FOUND, now=now)
    counts = {"findings": verification.findings.count()}
    log.append(
        Action.ERASURE_RESIDUE_FOUND, actor=ACTOR, target=target_of(request), at=now, counts=counts, reason_code=verification.outcome
    )


def _close(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At:
    closing.close(request, _manifest(request), actor=ACTOR, now=now)
    return At("end", done=at.done)


def _end(request: ErasureRequest, at: At, job: JobView, now: datetime) -> At | None:
    if at.horizon is None:
        return replace(at, horizon=readers.horizon())
    closing.complete(request, deleted_before=at.horizon, actor=ACTOR, now=now)
    return None


_STEPS: dict[str, Callable[[ErasureRequest, At, JobView, datetime], At | Step | None]] = {
    "ledger": _ledger,
    "fence": _fence,
    "words": _words,
    "rows": _rows,
    "came": _came,
    "users": _users,
    "forget": _forget,
    "look": _look,
    "close": _close,
    "end": _end,
}
