"""What people and jobs do with runs. Only a recorded preview can be started, by its number, and only once.

Every move is a compare-and-set on the state: of two who want the same, one gets WrongState.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from django.db import connection, transaction

from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.lifecycle import housekeeping, planning, ranges, second_person
from memadmin.lifecycle.drift import added_since
from memadmin.lifecycle.models import Run, RunCluster, RunState, RunVictim, Trigger
from memadmin.lifecycle.moves import move, record, target_of, version_of
from memadmin.lifecycle.starting import CannotStart, NothingRuns, OtherRunLive, StalePolicy, TermsChanged, TooOld, WhatIf, may_start
from memadmin.lifecycle.states import WrongState
from memadmin.store.models import Container

__all__ = [
    "CannotStart",
    "NothingRuns",
    "OtherRunLive",
    "StalePolicy",
    "TermsChanged",
    "TooOld",
    "WhatIf",
    "WrongState",
    "may_start",
    "target_of",
]

RUN = "run"
RESTORE = "restore-run"
BESIDE = "run-beside"
ENDED = (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED, RunState.REFUSED)


@transaction.atomic
def start(run: Run, *, actor: str, now: datetime) -> Job | None:
    """Have a worker carry out a preview. None: it is large, and waits for a second person.

    Raises WrongState when it was started already, and CannotStart.
    """
    if not _begin(run, RunState.QUEUED, actor=actor, now=now):
        return None
    return queue.enqueue(RUN, target=target_of(run), requested_by=actor, now=now)


@transaction.atomic
def start_reserved(run: Run, *, actor: str, now: datetime) -> Job | None:
    """Like `start`, for a command that carries the run out itself with `run_inline`; should it die, a worker goes on."""
    if not _begin(run, RunState.QUEUED, actor=actor, now=now):
        return None
    return queue.reserve(RUN, target=target_of(run), requested_by=actor, now=now)


@transaction.atomic
def start_within(run: Run, *, actor: str, now: datetime) -> bool:
    """Like `start`, for a job that carries the run out as a part of its own work. False: it waits for a second person."""
    return _begin(run, RunState.RUNNING, actor=actor, now=now)


@transaction.atomic
def take_up(run: Run) -> None:
    """A worker has begun with a queued run. Raises WrongState."""
    move(run, RunState.QUEUED, to=RunState.RUNNING)


@transaction.atomic
def ask_for_help(run: Run, *, now: datetime) -> None:
    """Have a second worker carry out a large run too, if one is free."""
    if ranges.worth_two_workers(run):
        queue.enqueue(BESIDE, target=target_of(run), requested_by=run.started_by, now=now)


@transaction.atomic
def finish(run: Run, *, now: datetime) -> None:
    """Close a run whose victims have all been dealt with. Raises WrongState."""
    run.refresh_from_db()
    if run.cursor < run.planned:
        raise WrongState(f"Run {run.number} has {run.planned - run.cursor:,} victims to go.")
    move(run, RunState.RUNNING, to=RunState.FINISHED, finished_at=now)
    record(Action.RUN_FINISHED, run, actor=run.started_by, now=now, counts=_result(run))


@transaction.atomic
def fail(run: Run, *, error_code: str, actor: str, now: datetime) -> None:
    """Note that a run stopped for good with an error. What it evicted so far stays evicted. Raises WrongState when it has ended."""
    live = (RunState.PLANNING, RunState.READY, RunState.WAITING, RunState.QUEUED, RunState.RUNNING)
    move(run, *live, to=RunState.FAILED, finished_at=now, error_code=error_code)
    payload = {"error": error_code}
    record(Action.RUN_FAILED, run, actor=actor, now=now, counts=_result(run), outcome=Outcome.FAILED, payload=payload)


def give_up(run: Run, *, error_code: str, actor: str, now: datetime) -> None:
    """Like `fail`, for a job that stops: a run that has ended meanwhile stays as it is."""
    try:
        fail(run, error_code=error_code, actor=actor, now=now)
    except WrongState:
        return


@transaction.atomic
def cancel(run: Run, *, actor: str, now: datetime, cause: str = "") -> None:
    """Call off a run that waits or is under way: it stops after its present batch. Raises WrongState."""
    move(run, RunState.WAITING, RunState.QUEUED, RunState.RUNNING, to=RunState.CANCELLED, finished_at=now, error_code=cause)
    for job in Job.objects.live().filter(kind=RUN, target=target_of(run)):
        if not cause:  # a run that stops by itself ends its own job
            queue.cancel(job, now=now)
    second_person.void(run)
    record(Action.RUN_CANCELLED, run, actor=actor, now=now, counts=_result(run), reason_code=cause)


@transaction.atomic
def discard(run: Run, *, actor: str, now: datetime) -> None:
    """Drop a preview that nobody started, and the list of its victims. Raises WrongState."""
    move(run, RunState.READY, RunState.PLANNING, to=RunState.DISCARDED, finished_at=now)
    RunVictim.objects.filter(run=run)._raw_delete(connection.alias)
    RunCluster.objects.filter(run=run)._raw_delete(connection.alias)
    record(Action.RUN_CANCELLED, run, actor=actor, now=now, reason_code="discarded")


@transaction.atomic
def restore_run(run: Run, *, actor: str, now: datetime) -> Job:
    """Have a worker put back what a run evicted, as far as the archive has it. Raises WrongState while the run is not over."""
    return _asked_back(run, queue.enqueue, actor=actor, now=now)


@transaction.atomic
def restore_run_reserved(run: Run, *, actor: str, now: datetime) -> Job:
    """Like `restore_run`, for a command that goes on with `run_inline`."""
    return _asked_back(run, queue.reserve, actor=actor, now=now)


def _asked_back(run: Run, queued: Callable[..., Job], *, actor: str, now: datetime) -> Job:
    _check_restorable(run)
    job = queued(RESTORE, target=target_of(run), requested_by=actor, now=now)
    record(Action.RUN_RESTORE_ASKED, run, actor=actor, now=now)
    return job


def _check_restorable(run: Run) -> None:
    run.refresh_from_db()
    if run.state not in ENDED:
        raise WrongState(f"Run {run.number} is {run.get_state_display()}: only what an ended run evicted can be restored.")


@transaction.atomic
def note_restored(run: Run, found: Mapping[str, int], *, actor: str, now: datetime, outcome: Outcome = Outcome.OK) -> None:
    """Write down what a restore has put back at its end, or where it was given up."""
    counts = {"items": found["items"], "already_there": found["already_there"]}
    counts |= {"refused": found["refused"]} if found["refused"] else {}
    record(Action.RUN_RESTORED, run, actor=actor, now=now, counts=counts, outcome=outcome)


def of_target(target: str) -> Run:
    """Return the run that a job's target names."""
    run: Run = Run.objects.select_related("container").get(pk=int(target.removeprefix("runs/")))
    return run


def _begin(run: Run, state: RunState, *, actor: str, now: datetime) -> bool:
    """Let a preview begin, or put it before a second person: then return False."""
    Container.objects.select_for_update().get(pk=run.container_id)  # of two that begin at once one sees the other
    run.refresh_from_db()
    if run.state == RunState.READY:
        may_start(run, now=now)
        if second_person.wanted(run):
            second_person.ask(run, actor=actor, now=now)
            return False
    outcome = {**run.outcome, "added": added_since(run)} if run.high_water else run.outcome
    if second_person.is_large_without_one(run):
        outcome["second_person"] = second_person.RULE_IS_OFF
    move(run, RunState.READY, to=state, started_at=now, started_by=actor, outcome=outcome, **version_of(run))
    if run.trigger == Trigger.NIGHTLY:
        second_person.replace_waiting(run, actor=actor, now=now)
    housekeeping.start_clock(run.container, planning.policy_of(run), now=now)
    payload = {"policy_digest": run.policy_digest}
    record(Action.RUN_STARTED, run, actor=actor, now=now, counts={"planned": run.planned, "added": outcome["added"]}, payload=payload)
    return True


def _result(run: Run) -> dict[str, int]:
    """The numbers of the log: ids and words stay out of it."""
    counts = {"planned": run.planned, "removed": run.removed, "kept": run.kept}
    for name, each in run.outcome.items():
        if isinstance(each, Mapping):
            counts |= {f"{name}.{unit}": number for unit, number in each.items() if number}
    return counts
