"""The jobs of this app."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from memadmin.erasure import (
    alarms,
    approving,
    correction_checks,
    discovery,
    ending,
    following,
    gathering,
    notices,
    purging,
    rechecking,
    rectifying,
)
from memadmin.erasure.access_exports import building, starting
from memadmin.erasure.access_exports import ending as export_ending
from memadmin.erasure.drills import running as drills
from memadmin.erasure.execution import steps
from memadmin.erasure.models import RecheckKind
from memadmin.erasure.restoring import guard
from memadmin.jobs import queue
from memadmin.jobs.parts import do_part
from memadmin.jobs.registry import JobView, Step, every_minute, holds_work_while, job, scheduled

NOTICES = "erasure.notices"


@holds_work_while
def an_older_database_was_put_back() -> bool:
    """Nothing is evicted, written or erased in it until the ledger was applied."""
    return guard.is_shut()


@job(discovery.DISCOVER, on_failed=discovery.failed)
def discover(job: JobView, *, now: datetime) -> Step:
    """One page of one place."""
    return discovery.step(job, now=now)


@every_minute
def end_old_approvals(*, now: datetime) -> None:
    """An approval that nobody used in time holds no more, and no clock that is set back revives it."""
    approving.void_expired(now=now)


@every_minute
def begin_approved(*, now: datetime) -> None:
    """Nobody presses a button to erase: what two people have agreed on begins by itself."""
    steps.begin_approved(now=now)


@job(steps.EXECUTE, on_failed=steps.stalled)
def execute(job: JobView, *, now: datetime) -> Step:
    """One batch of an approved erasure."""
    return steps.step(job, now=now)


@scheduled(ending.DAILY, default_cron="40 4 * * *")
@job(ending.DAILY)
def close(job: JobView, *, now: datetime) -> Step:
    """One complete request: closed, if it waits for nothing any more."""
    return ending.step(job, now=now)


@every_minute
def start_notices(*, now: datetime) -> None:
    """Queue the job when a recipient is to be told."""
    if notices.due(now):
        queue.enqueue(NOTICES, requested_by=notices.ACTOR, now=now)


@job(NOTICES)
def tell_recipients(job: JobView, *, now: datetime) -> Step:
    """Some notices that are due. One that breaks something keeps no other waiting."""
    waiting = notices.due(now)[:3]  # each may take all of its time, and a step is short
    for notice in waiting:
        error_code = do_part(partial(notices.send, notice, now=now), name=f"notice {notice.pk}")
        if error_code:  # it must not stay due, or the job would never end
            notices.note(notice, status=None, error_code=error_code, now=now)
    return Step(finished=not waiting, done=job.done + len(waiting))


@scheduled(rechecking.NIGHTLY, default_cron="20 4 * * *")
@job(rechecking.NIGHTLY)
def recheck_users(job: JobView, *, now: datetime) -> Step:
    """Some users: is one of them somebody who was erased?"""
    return rechecking.step(job, RecheckKind.NIGHTLY, now=now)


@scheduled(rechecking.WEEKLY, default_cron="50 1 * * 0")
@job(rechecking.WEEKLY)
def recheck_everything(job: JobView, *, now: datetime) -> Step:
    """Some rows of one table: does an erased id or text stand in it?"""
    return rechecking.step(job, RecheckKind.WEEKLY, now=now)


@job(starting.BUILD, on_failed=building.failed)
def build_access_export(job: JobView, *, now: datetime) -> Step:
    """Some pages of an export for a person."""
    return building.step(job, now=now)


@every_minute
def end_old_exports(*, now: datetime) -> None:
    """What nobody has taken in time goes, with what a broken download has left."""
    export_ending.end_old(now=now)


@job(drills.DRILL, on_failed=drills.failed)
def drill(job: JobView, *, now: datetime) -> Step:
    """The next verb of a drill, or a stretch of what it waits for."""
    return drills.step(job, now=now)


@every_minute
def continue_drill(*, now: datetime) -> None:
    """A drill whose search or execution another worker has had goes on."""
    drills.continue_drill(now=now)


@scheduled(drills.MONTHLY, default_cron="0 4 1 * *")
@job(drills.MONTHLY)
def monthly_drill(job: JobView, *, now: datetime) -> Step:
    """Begin a drill, where the settings say so and nothing is in its way."""
    drills.start_monthly(now=now)
    return Step(finished=True, done=1, total=1)


@scheduled(gathering.GATHER, default_cron="30 4 * * *")
@job(gathering.GATHER)
def gather(job: JobView, *, now: datetime) -> Step:
    """What is past the hard limit of one container."""
    return gathering.step(job, now=now)


@job(rectifying.FORGET)
def forget(job: JobView, *, now: datetime) -> Step:
    """What was corrected a moment ago leaves the file of the database."""
    return rectifying.forget(job)


@job(correction_checks.CHECK)
def check_corrections(job: JobView, *, now: datetime) -> Step:
    """Some rows of a person for whom something was corrected: do they still say what was wrong?"""
    return correction_checks.step(job, now=now)


@scheduled(following.FOLLOW_UP, default_cron="45 4 * * *")
@job(following.FOLLOW_UP)
def follow_up(job: JobView, *, now: datetime) -> Step:
    """What one ended request withheld."""
    return following.step(job, now=now)


@scheduled(purging.PURGE, default_cron="0 5 * * *")
@job(purging.PURGE)
def purge(job: JobView, *, now: datetime) -> Step:
    """Names and notes of some requests that ended long ago."""
    return purging.step(job, now=now)


@scheduled(alarms.ALARM, default_cron="0 6 * * *")
@job(alarms.ALARM)
def alarm(job: JobView, *, now: datetime) -> Step:
    """Requests that are late or due within a week."""
    return alarms.step(job, now=now)
