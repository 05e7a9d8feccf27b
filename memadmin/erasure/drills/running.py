"""A drill as a job: each step does the next verb of the real workflow, or a stretch of the search or execution that it waits for.

    plant    a container, the person in every place, the neighbour; a request about the person
    search   the discovery, and whether it found everything
    approve  review, freezing, and the approval by the second of two made-up actors
    execute  claim, execution and verification, as for anybody
    check    the neighbour, the raw bytes, the certificate
    tidy     everything that was made goes

What is not as it should be is noted, and the drill goes on with tidying up. Real requests are neither read nor moved.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import approving, bulk_decisions, deciding, discovery, intake
from memadmin.erasure.approving import NotApproved, Word
from memadmin.erasure.drills import checking, guarding, names, planting, tidying
from memadmin.erasure.execution import steps
from memadmin.erasure.intake import Opening, target_of
from memadmin.erasure.look_alikes import candidate_of
from memadmin.erasure.models import (
    Channel,
    Drill,
    DrillState,
    ErasureRequest,
    Ground,
    IdentityLevel,
    Kind,
    Origin,
    Outcome,
    Status,
)
from memadmin.erasure.moves import Refusal, WrongState
from memadmin.jobs import queue, runner
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.parts import do_part
from memadmin.jobs.registry import JobView, Step
from memadmin.store import configuration, ingest, locations
from memadmin.store.locations import ItemClass
from memadmin.store.models import Subject

DRILL, MONTHLY = "erasure.drill", "erasure.monthly_drill"
ACTOR = "job/erasure.drill"
STRETCH = timedelta(seconds=10)
PHASES = ("plant", "search", "approve", "execute", "check", "tidy")


class CannotDrill(Refusal):
    """A drill is under way, or all erasures are stopped."""

    code = "cannot_drill"


@transaction.atomic
def start(*, actor: str, now: datetime, at_once: bool = False) -> Drill:
    """Begin a drill; with `at_once` the caller runs its job. Raises CannotDrill."""
    if configuration.value("erasure_paused"):
        raise CannotDrill("All erasures are stopped. A drill begins when the stop is lifted, in the inbox of requests or under Settings.")
    try:
        with transaction.atomic():
            drill = Drill.objects.create(requested_by=actor, started_at=now)
    except IntegrityError:
        raise CannotDrill("A drill is under way. Wait for its report.") from None
    log.append(Action.ERASURE_DRILL_STARTED, actor=actor, target=tidying.target_of_drill(drill), at=now)
    into_the_queue = queue.reserve if at_once else queue.enqueue
    into_the_queue(DRILL, target=tidying.target_of_drill(drill), requested_by=actor, now=now)
    return drill


def start_monthly(*, now: datetime) -> Drill | None:
    """Begin a drill where the settings want one each month; None where they do not, or something is in its way."""
    if not configuration.value("erasure_drill_monthly"):
        return None
    try:
        return start(actor=ACTOR, now=now)
    except CannotDrill:
        return None


def continue_drill(*, now: datetime) -> None:
    """Go on with a drill whose search or execution another worker has had."""
    for drill in Drill.objects.filter(state=DrillState.RUNNING):
        queue.enqueue(DRILL, target=tidying.target_of_drill(drill), requested_by=ACTOR, now=now)


def step(job: JobView, *, now: datetime) -> Step:
    """Do the next of it. What another worker has in hand ends the job: a minute later it goes on."""
    drill = Drill.objects.get(uid=UUID(job.target.rpartition("/")[2]))
    if drill.state != DrillState.RUNNING:
        return Step(finished=True, cursor=job.cursor, done=job.done)
    request = ErasureRequest.objects.filter(drill=drill).first()
    phase = phase_of(drill, request)
    try:
        waits = _do(phase, drill, request, now=now)
    except (Refusal, NotApproved) as refusal:
        _fault(drill, f"{phase}.{refusal.code}")
        waits = False
    done = PHASES.index(phase)
    drill.refresh_from_db()
    ended = drill.state != DrillState.RUNNING
    return Step(finished=waits or ended, cursor={"phase": phase}, done=len(PHASES) if ended else done, total=len(PHASES))


def phase_of(drill: Drill, request: ErasureRequest | None) -> str:
    """Return what is to be done next, from what stands in the database: so a drill goes on after a kill at any place."""
    if drill.failures or (request is not None and request.state not in _PHASE):
        return "tidy"
    if request is None:
        return "plant"
    phase = _PHASE[Status(request.state)]
    return "tidy" if phase == "check" and drill.neighbour_same is not None else phase


_PHASE = {
    Status.RECEIVED: "search",
    Status.DISCOVERING: "search",
    Status.REVIEW: "approve",
    Status.AWAITING_APPROVAL: "approve",
    Status.APPROVED: "execute",
    Status.EXECUTING: "execute",
    Status.VERIFYING: "execute",
    Status.COMPLETED: "check",
}


def _do(phase: str, drill: Drill, request: ErasureRequest | None, *, now: datetime) -> bool:
    """Do the next of a phase, and return whether another worker has to come to its end first."""
    if phase == "tidy":
        _tidy(drill, request, now=now)
        return False
    if request is None:
        _plant(drill, now=now)
        return False
    if phase == "search":
        return _search(drill, request, now=now)
    if phase == "execute":
        return _execute(request, now=now)
    (_approve if phase == "approve" else _check)(drill, request, now=now)
    return False


@transaction.atomic
def _plant(drill: Drill, *, now: datetime) -> None:
    actor = names.actor_of(drill, names.INTAKE)
    word = names.person_of(drill)
    name = guarding.container_name(drill)
    container = ingest.create_container(name=name, description=f"About {word}", actor=actor, now=now)
    drill.container_id = container.pk
    drill.save(update_fields=["container_id"])
    planting.plant(drill, container, actor=actor, now=now)
    drill.neighbour_digest = checking.neighbour_digest(drill)
    drill.save(update_fields=["neighbour_digest"])
    person = Subject.objects.select_related("container").get(container=container, user_id=word)
    opening = Opening(
        kind=Kind.SUBJECT,
        ground=Ground.OTHER,
        channel=Channel.DRILL,
        identity=IdentityLevel.APPLICATION,
        ticked=[candidate_of(person, Origin.GIVEN)],
        drill=drill,
    )
    request = intake.open_request(opening, actor=actor, now=now)
    guarding.check_only_planted(request)


def _search(drill: Drill, request: ErasureRequest, *, now: datetime) -> bool:
    if request.state == Status.RECEIVED:
        if request.error_code:
            _fault(drill, f"search.{request.error_code.lower()}")
            return False
        Drill.objects.filter(pk=drill.pk).update(traces_before=checking.traces(drill))
        discovery.start(request, actor=names.actor_of(drill, names.REVIEWER), now=now)
    return _work_on(discovery.DISCOVER, f"{target_of(request)}/{request.manifest_number}", now=now)


def _approve(drill: Drill, request: ErasureRequest, *, now: datetime) -> None:
    """Review and freeze as the one actor, approve as the other."""
    if request.state == Status.REVIEW:
        _note_found(drill, request)
        reviewer = names.actor_of(drill, names.REVIEWER)
        for item_class in (ItemClass.MIXED, ItemClass.MENTION):
            if request.manifests.filter(
                number=request.manifest_number or 0, items__item_class=item_class, items__decision="waiting"
            ).exists():
                bulk_decisions.accept_planned(request, item_class, actor=reviewer, now=now)
        deciding.submit(request, actor=reviewer, now=now)
    word = Word(digest=request.manifest_digest, number=str(request.number), proved_at=now, method="drill")
    approving.approve(request, word, actor=names.actor_of(drill, names.APPROVER), now=now)


def _note_found(drill: Drill, request: ErasureRequest) -> None:
    manifest = deciding.current(request)
    for place in drill.places.all():
        place.found = manifest.items.filter(location=place.location).count()
        place.save(update_fields=["found"])
        if place.found < place.planted:
            _fault(drill, f"not_found.{place.location}")


def _execute(request: ErasureRequest, *, now: datetime) -> bool:
    if request.state == Status.APPROVED:
        try:
            steps.begin(request, now=now)
        except WrongState:
            return False  # the tick has begun it this moment
    return _work_on(steps.EXECUTE, target_of(request), now=now)


def _check(drill: Drill, request: ErasureRequest, *, now: datetime) -> None:
    """Look at what came out of it, and note every fault by its code."""
    look = request.verifications.order_by("-number").first()
    if look is None or look.outcome != Outcome.CLEAN or look.controls != look.controls_seen:
        _fault(drill, "verification_not_clean")
    for place in drill.places.all():
        outcome = request.outcomes.filter(location=place.location).first()
        place.erased = outcome.erased + outcome.redacted + outcome.rederived if outcome else 0
        table = locations.get(place.location).table
        place.left = sum(look.findings.filter(table=table).values_list("rows", flat=True)) if look else None
        place.save(update_fields=["erased", "left"])
        if place.erased < place.planted:
            _fault(drill, f"not_erased.{place.location}")
    for code in checking.certificate_faults(request):
        _fault(drill, code)
    same, left = checking.neighbour_digest(drill) == drill.neighbour_digest, checking.traces(drill)
    Drill.objects.filter(pk=drill.pk).update(neighbour_same=same, traces_after=left)
    drill.refresh_from_db()
    faults = {"neighbour_changed": not same, "traces_left": left > 0, "traces_blind": not drill.traces_before}
    for code in (code for code, holds in faults.items() if holds):
        _fault(drill, code)


def _tidy(drill: Drill, request: ErasureRequest | None, *, now: datetime) -> None:
    if request is not None and request.state != Status.COMPLETED and not drill.failures:
        _fault(drill, f"request.{request.state}" + (f".{request.error_code.lower()}" if request.error_code else ""))
    tidying.tidy(drill, actor=ACTOR, now=now)
    tidying.forget(drill)
    _look_for_traces(drill)
    _end(drill, now=now)


def _look_for_traces(drill: Drill) -> None:
    """After a failure too nothing of the made-up person may be left."""
    if drill.failures and (left := checking.traces(drill)):
        Drill.objects.filter(pk=drill.pk).update(traces_after=left)
        _fault(drill, "traces_left")


@transaction.atomic
def _end(drill: Drill, *, now: datetime) -> None:
    drill.refresh_from_db()
    failures = drill.failures if drill.tidied else [*drill.failures, "leftovers"]
    state = DrillState.FAILED if failures else DrillState.PASSED
    if Drill.objects.filter(pk=drill.pk, state=DrillState.RUNNING).update(state=state, ended_at=now, failures=failures):
        counts = {"failures": len(failures), "places": drill.places.count()}
        target = tidying.target_of_drill(drill)
        log.append(Action.ERASURE_DRILL_ENDED, actor=ACTOR, target=target, at=now, reason_code=state.value, counts=counts)


def _work_on(kind: str, target: str, *, now: datetime) -> bool:
    """Work on the search or execution for a while; True where another worker has it, or it waits for its next attempt."""
    job = Job.objects.filter(kind=kind, target=target).order_by("-pk").first()
    if job is None or job.state not in (JobState.QUEUED, JobState.RUNNING):
        return False
    before = (job.done, job.cursor)
    do_part(lambda: runner.run_stretch(job.pk, clock=lambda: now, stretch=STRETCH), name=kind)
    job.refresh_from_db()
    return job.is_live and (job.done, job.cursor) == before


def _fault(drill: Drill, code: str) -> None:
    """Note a code once."""
    drill.refresh_from_db(fields=["failures"])
    if code not in drill.failures:
        Drill.objects.filter(pk=drill.pk).update(failures=[*drill.failures, code[:100]])
        drill.refresh_from_db(fields=["failures"])


def failed(job: JobView, *, error_code: str, now: datetime) -> None:
    """The job has failed for good: say so, and take away what was planted."""
    drill = Drill.objects.get(uid=UUID(job.target.rpartition("/")[2]))
    _fault(drill, f"stopped.{error_code.lower()}")
    do_part(lambda: tidying.tidy(drill, actor=ACTOR, now=now), name=DRILL)
    do_part(lambda: tidying.forget(drill), name=DRILL)
    _end(drill, now=now)
