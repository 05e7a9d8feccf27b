"""When the clock starts what. The rows are data: the apps give their first times, people change them.

A due schedule is started by whoever moves its `next_run_at` first. A slot that was missed is made good once; one that was run is
never run again, though the clock be set back. Where a setting says every how many hours a kind starts, the hours are counted from its last
start and its times are not looked at.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django_q.models import Schedule as EngineSchedule

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.jobs import cron as cron_times
from memadmin.jobs import heartbeat, queue, registry
from memadmin.jobs.cron import InvalidCron
from memadmin.jobs.models import Job, Schedule
from memadmin.store import configuration

logger = logging.getLogger(__name__)
TICK_NAME = "memadmin-tick"
TICK = {"func": "memadmin.jobs.tasks.tick", "schedule_type": EngineSchedule.MINUTES, "minutes": 1, "repeats": -1}
CLOCK_MAY_DIFFER = timedelta(days=1)  # a time that lies further ahead than this explains was written by a wrong clock


@transaction.atomic
def ensure(*, now: datetime) -> None:
    """Make or mend django-q2's one schedule, the tick, and make the rows of kinds that have none yet."""
    heartbeat.take_turn(now)
    ticks = list(EngineSchedule.objects.filter(name=TICK_NAME).order_by("pk"))
    for double in ticks[1:]:
        double.delete()
    if not ticks:
        EngineSchedule.objects.create(name=TICK_NAME, next_run=now, **TICK)
    else:
        due = min(ticks[0].next_run, now + timedelta(minutes=1))  # a wrong clock may have put it years ahead
        EngineSchedule.objects.filter(pk=ticks[0].pk).update(next_run=due, args=None, kwargs=None, **TICK)
    missing = set(registry.CRONS) - set(Schedule.objects.values_list("kind", flat=True))
    Schedule.objects.bulk_create([_new(kind, now=now) for kind in sorted(missing)], ignore_conflicts=True)


def start_due(*, now: datetime) -> None:
    """Queue a job for each enabled schedule whose time has come."""
    follow_settings(now=now)
    for schedule in Schedule.objects.filter(enabled=True, kind__in=registry.HANDLERS).order_by("kind"):
        try:
            _start_if_due(schedule, now=now)
        except InvalidCron:  # written past `change`; the others must run
            logger.error("schedule %s: its times cannot be read, nothing is started", schedule.kind)


@transaction.atomic
def follow_settings(*, now: datetime) -> None:
    """Let schedules take over the hours that a setting has been given meanwhile. What would have run before now is not made good."""
    for kind in registry.INTERVALS:
        hours = _interval(kind)
        for schedule in Schedule.objects.select_for_update().filter(kind=kind).exclude(interval_hours=hours):
            schedule.interval_hours = hours
            schedule.next_run_at = _following(schedule, now)
            schedule.save(update_fields=["interval_hours", "next_run_at"])


def next_run(kind: str, *, now: datetime) -> datetime | None:
    """Return when the clock starts this kind next (in the past: it is overdue), None while its schedule is switched off.

    Raises UnknownKind when it has no schedule.
    """
    schedule = get(kind, now=now)
    return schedule.next_run_at if schedule.enabled else None


def get(kind: str, *, now: datetime) -> Schedule:
    """Return the schedule as stored, or as it will be once a worker has started. Raises UnknownKind."""
    return Schedule.objects.filter(kind=kind).first() or _new(kind, now=now)


@transaction.atomic
def change(kind: str, *, cron: str | None = None, enabled: bool | None = None, actor: str, now: datetime) -> Schedule:
    """Set the times, or switch the schedule on or off; None leaves as it is. Slots missed before now are not made good.

    Raises InvalidCron, UnknownKind.
    """
    schedule = _locked(kind, now=now)
    before = _times(schedule)
    if cron is not None:
        schedule.cron = cron_times.parse(cron)
    if enabled is not None:
        schedule.enabled = enabled
    after = _times(schedule)
    if after == before:
        return schedule
    schedule.next_run_at = _following(schedule, now)
    schedule.save()
    payload = {"before": before, "after": after}
    log.append(Action.SCHEDULE_CHANGED, actor=actor, target=f"schedules/{kind}", at=now, payload=payload)
    return schedule


@transaction.atomic
def run_now(kind: str, *, actor: str, now: datetime) -> Job:
    """Queue this kind at once, whatever its times. Of several who do it at once one succeeds. Raises AlreadyLive and UnknownKind."""
    schedule = _locked(kind, now=now)
    schedule.last_job = queue.enqueue_alone(kind, requested_by=actor, now=now)
    schedule.last_run_at = now
    schedule.save()
    log.append(Action.SCHEDULE_STARTED, actor=actor, target=f"schedules/{kind}", at=now)
    return schedule.last_job


def _start_if_due(schedule: Schedule, *, now: datetime) -> None:
    if schedule.next_run_at > _next_after(schedule, now + CLOCK_MAY_DIFFER):
        logger.warning("schedule %s: a wrong clock had put its next run too far ahead", schedule.kind)
        _as_seen(schedule).update(next_run_at=_next_after(schedule, now))
    elif schedule.next_run_at <= now:
        _start(schedule, now=now)


@transaction.atomic
def _start(schedule: Schedule, *, now: datetime) -> None:
    if not _as_seen(schedule).update(next_run_at=_following(schedule, now), last_run_at=now):
        return  # another process, or a person, was faster
    job = queue.enqueue(schedule.kind, requested_by=f"job/{schedule.kind}", now=now)
    Schedule.objects.filter(kind=schedule.kind).update(last_job=job)
    logger.info("schedule %s: job %d", schedule.kind, job.pk)


def _as_seen(schedule: Schedule) -> QuerySet[Schedule]:
    return Schedule.objects.filter(kind=schedule.kind, enabled=True, cron=schedule.cron, next_run_at=schedule.next_run_at)


def _following(schedule: Schedule, now: datetime) -> datetime:
    """Return the first time after now that is also after the last run: the clock may have been set back over it."""
    last = schedule.last_run_at or now
    return _next_after(schedule, max(now, last) if last <= now + CLOCK_MAY_DIFFER else now)


def _next_after(schedule: Schedule, moment: datetime) -> datetime:
    """Return the first time of the schedule later than a moment: by its hours, counted from its last start, else by its times."""
    if schedule.interval_hours is None:
        return cron_times.next_after(schedule.cron, moment)
    start, step = min(schedule.last_run_at or moment, moment), timedelta(hours=schedule.interval_hours)
    return start + step * ((moment - start) // step + 1)


def _interval(kind: str) -> int | None:
    """Return every how many hours a kind starts, None where its times count: the setting has its default, or there is none."""
    key = registry.INTERVALS.get(kind)
    hours = configuration.value(key) if key else None
    return None if key is None or hours == configuration.REGISTRY[key].default else hours


def _times(schedule: Schedule) -> dict[str, object]:
    return {"cron": schedule.cron, "enabled": schedule.enabled}


def _locked(kind: str, *, now: datetime) -> Schedule:
    if not Schedule.objects.filter(kind=kind).exists():
        Schedule.objects.bulk_create([_new(kind, now=now)], ignore_conflicts=True)
    return Schedule.objects.select_for_update().get(kind=kind)


def _new(kind: str, *, now: datetime) -> Schedule:
    if kind not in registry.CRONS:
        raise registry.UnknownKind(kind)
    schedule = Schedule(kind=kind, cron=registry.CRONS[kind], interval_hours=_interval(kind))
    schedule.next_run_at = _next_after(schedule, now)
    return schedule
