"""One step of a run towards its end, whatever state it is in. What a step has done is saved with the run itself: it may be repeated."""

from __future__ import annotations

from datetime import datetime

from memadmin.lifecycle import planning, runs, second_person
from memadmin.lifecycle.enforcement import Stopped
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.pacing import paced_batch
from memadmin.lifecycle.states import WrongState
from memadmin.lifecycle.summarising import merging


def advance(run: Run, *, actor: str, now: datetime) -> bool:
    """Take the next step and return True when the run has ended. A run that has to stop is called off."""
    run.refresh_from_db()
    if run.state == RunState.PLANNING:
        planning.record(run, now=now)
    elif run.state == RunState.READY:
        runs.start_within(run, actor=actor, now=now)
        if run.state == RunState.WAITING:  # for a second person: whoever asked goes on with the next container
            return True
        runs.ask_for_help(run, now=now)
    elif run.state == RunState.QUEUED:
        void = second_person.why_void(run, now=now)
        if void:
            runs.cancel(run, actor=actor, now=now, cause=void)
            return True
        runs.take_up(run)
        runs.ask_for_help(run, now=now)
    elif run.state == RunState.RUNNING:
        return _evict(run, actor=actor, now=now)
    else:
        return True
    return False


def _evict(run: Run, *, actor: str, now: datetime) -> bool:
    try:
        if merging.merge_next(run, now=now):
            run.refresh_from_db()
            if run.cursor < run.planned:
                return False
        batch = paced_batch(run.number, now=now)
    except Stopped as stop:
        runs.cancel(run, actor=actor, now=now, cause=stop.cause.code)
        return True
    except WrongState:
        run.refresh_from_db()
        if run.is_live:
            raise
        return True  # called off during the batch
    if batch.is_last:
        runs.finish(run, now=now)
    return batch.is_last


def help_along(run: Run, *, now: datetime) -> bool:
    """Take a batch that nobody else is at, and return True when there is none. The end of the run is left to its own job."""
    try:
        batch = paced_batch(run.number, now=now, wait=False)
    except (Stopped, WrongState):
        return True
    return batch.is_last or not (batch.removed or batch.kept)
