"""What people and jobs do with runs. Only a recorded preview can be started, by its number, and only once.

Every move is a compare-and-set on the state: of two who want the same, one gets WrongState.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.lifecycle import ranges
from memadmin.lifecycle.drift import added_since
from memadmin.lifecycle.models import Run, RunState, RunVictim
from memadmin.lifecycle.states import WrongState
from memadmin.lifecycle.warnings import Warned, why_nothing_runs
from memadmin.store import configuration, policies

RUN = "run"
RESTORE = "restore-run"
BESIDE = "run-beside"
ENDED = (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED)


class CannotStart(Exception):
    """The preview cannot be carried out; the message says why, and what to do."""


class NothingRuns(CannotStart):
    """Retention is off, multi-tenancy is on, or the container has no policy in force."""

    def __init__(self, cause: Warned) -> None:
        super().__init__(cause.text)
        self.cause = cause


class StalePolicy(CannotStart):
    """Another policy is in force than the one that the preview was made under."""


class TooOld(CannotStart):
    """Too much may have changed since the preview was made."""


class WhatIf(CannotStart):
    """The preview judges as of a moment that had not come."""


class OtherRunLive(CannotStart):
    """Another run of the container waits or is under way; `number` is its number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Run {number} of this container is under way. Wait for its end, or call it off.")
        self.number = number


@transaction.atomic
def start(run: Run, *, actor: str, now: datetime) -> Job:
    """Have a worker carry out a preview. Raises WrongState when it was started already, and CannotStart."""
    _begin(run, RunState.QUEUED, actor=actor, now=now)
    return queue.enqueue(RUN, target=target_of(run), requested_by=actor, now=now)


@transaction.atomic
def start_reserved(run: Run, *, actor: str, now: datetime) -> Job:
    """Like `start`, for a command that carries the run out itself with `run_inline`; should it die, a worker goes on."""
    _begin(run, RunState.QUEUED, actor=actor, now=now)
    return queue.reserve(RUN, target=target_of(run), requested_by=actor, now=now)


@transaction.atomic
def start_within(run: Run, *, actor: str, now: datetime) -> None:
    """Like `start`, for a job that carries the run out as a part of its own work."""
    _begin(run, RunState.RUNNING, actor=actor, now=now)


@transaction.atomic
def take_up(run: Run) -> None:
    """A worker has begun with a queued run. Raises WrongState."""
    _move(run, RunState.QUEUED, to=RunState.RUNNING)


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
    _move(run, RunState.RUNNING, to=RunState.FINISHED, finished_at=now)
    _log(Action.RUN_FINISHED, run, actor=run.started_by, now=now, counts=_result(run))


@transaction.atomic
def fail(run: Run, *, error_code: str, actor: str, now: datetime) -> None:
    """Note that a run stopped for good with an error. What it evicted so far stays evicted. Raises WrongState when it has ended."""
    live = (RunState.PLANNING, RunState.READY, RunState.QUEUED, RunState.RUNNING)
    _move(run, *live, to=RunState.FAILED, finished_at=now, error_code=error_code)
    payload = {"error": error_code}
    _log(Action.RUN_FAILED, run, actor=actor, now=now, counts=_result(run), outcome=Outcome.FAILED, payload=payload)


def give_up(run: Run, *, error_code: str, actor: str, now: datetime) -> None:
    """Like `fail`, for a job that stops: a run that has ended meanwhile stays as it is."""
    try:
        fail(run, error_code=error_code, actor=actor, now=now)
    except WrongState:
        return


@transaction.atomic
def cancel(run: Run, *, actor: str, now: datetime, cause: str = "") -> None:
    """Call off a run that waits or is under way: it stops after its present batch. Raises WrongState."""
    _move(run, RunState.QUEUED, RunState.RUNNING, to=RunState.CANCELLED, finished_at=now, error_code=cause)
    for job in Job.objects.live().filter(kind=RUN, target=target_of(run)):
        if not cause:  # a run that stops by itself ends its own job
            queue.cancel(job, now=now)
    _log(Action.RUN_CANCELLED, run, actor=actor, now=now, counts=_result(run), reason_code=cause)


@transaction.atomic
def discard(run: Run, *, actor: str, now: datetime) -> None:
    """Drop a preview that nobody started, and the list of its victims. Raises WrongState."""
    _move(run, RunState.READY, RunState.PLANNING, to=RunState.DISCARDED, finished_at=now)
    RunVictim.objects.filter(run=run)._raw_delete(connection.alias)
    _log(Action.RUN_CANCELLED, run, actor=actor, now=now, reason_code="discarded")


@transaction.atomic
def restore_run(run: Run, *, actor: str, now: datetime) -> Job:
    """Have a worker put back what a run evicted, as far as the archive has it. Raises WrongState while the run is not over."""
    run.refresh_from_db()
    if run.state not in ENDED:
        raise WrongState(f"Run {run.number} is {run.get_state_display()}: only what an ended run evicted can be restored.")
    return queue.enqueue(RESTORE, target=target_of(run), requested_by=actor, now=now)


@transaction.atomic
def note_restored(run: Run, *, items: int, already_there: int, actor: str, now: datetime) -> None:
    """Write down that a restore has come to its end."""
    _log(Action.RUN_RESTORED, run, actor=actor, now=now, counts={"items": items, "already_there": already_there})


def target_of(run: Run) -> str:
    return f"runs/{run.number}"


def of_target(target: str) -> Run:
    """Return the run that a job's target names."""
    run: Run = Run.objects.select_related("container").get(pk=int(target.removeprefix("runs/")))
    return run


def _begin(run: Run, state: RunState, *, actor: str, now: datetime) -> None:
    run.refresh_from_db()
    if run.state == RunState.READY:
        may_start(run, now=now)
    outcome = {**run.outcome, "added": added_since(run)} if run.high_water else run.outcome
    try:
        with transaction.atomic():
            _move(run, RunState.READY, to=state, started_at=now, started_by=actor, outcome=outcome, **_version_of(run))
    except IntegrityError:
        raise _other_live(run) from None
    payload = {"policy_digest": run.policy_digest}
    _log(Action.RUN_STARTED, run, actor=actor, now=now, counts={"planned": run.planned, "added": outcome["added"]}, payload=payload)


def _version_of(run: Run) -> dict[str, Any]:
    """A preview of values that were not published yet is carried out under the version that has them now."""
    return {} if run.policy_version_id else {"policy_version": policies.published(run.container)}


def may_start(run: Run, *, now: datetime) -> None:
    """Raise CannotStart, with the reason, when the preview cannot be carried out now."""
    blocked = why_nothing_runs(run.container)
    if blocked:
        raise NothingRuns(blocked)
    published = policies.published(run.container)
    if published is None or published.digest != run.policy_digest:
        now_in_force = f"version {published.number} is in force now" if published else "none is in force now"
        raise StalePolicy(f"Preview {run.number} was made {_made_under(run, now_in_force)}")
    if run.as_of > run.created_at:
        raise WhatIf(f"Preview {run.number} judges as of a later moment: it shows what would go, and cannot be carried out.")
    hours = configuration.value("preview_valid_hours")
    if run.created_at < now - timedelta(hours=hours):
        raise TooOld(f"Preview {run.number} is more than {hours} hours old. Make a new one.")
    if Run.objects.live().of_container(run.container).exists():
        raise _other_live(run)


def _made_under(run: Run, now_in_force: str) -> str:
    if run.policy_version:
        return f"under policy version {run.policy_version.number}; {now_in_force}. Make a new preview."
    return f"for a policy that is not in force; {now_in_force}. Publish these values, and this preview can be carried out."


def _other_live(run: Run) -> OtherRunLive:
    return OtherRunLive(Run.objects.live().of_container(run.container).values_list("number", flat=True)[0])


def _move(run: Run, *allowed: RunState, to: RunState, **values: Any) -> None:
    """Compare and set the state."""
    if not Run.objects.filter(pk=run.pk, state__in=allowed).update(state=to, **values):
        run.refresh_from_db()
        raise WrongState(f"Run {run.number} is {run.get_state_display()}.")
    run.refresh_from_db()


def _result(run: Run) -> dict[str, int]:
    """The numbers of the log: ids and words stay out of it."""
    counts = {"planned": run.planned, "removed": run.removed, "kept": run.kept}
    for name, each in run.outcome.items():
        if isinstance(each, Mapping):
            counts |= {f"{name}.{unit}": number for unit, number in each.items() if number}
    return counts


def _log(
    action: Action,
    run: Run,
    *,
    actor: str,
    now: datetime,
    counts: Mapping[str, int] | None = None,
    reason_code: str = "",
    outcome: Outcome = Outcome.OK,
    payload: Mapping[str, Any] | None = None,
) -> None:
    body = {"container": str(run.container.uid), **(payload or {})}
    log.append(action, actor=actor, target=target_of(run), at=now, counts=counts, reason_code=reason_code, outcome=outcome, payload=body)
