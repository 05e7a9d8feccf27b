from datetime import UTC, datetime, timedelta

import pytest
from django_q.models import Schedule as EngineSchedule

from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.jobs import queue, registry, runner, schedules
from memadmin.jobs.cron import InvalidCron
from memadmin.jobs.models import Job, JobState, Schedule
from memadmin.jobs.queue import AlreadyLive
from memadmin.jobs.registry import Step, UnknownKind
from tests.factories import ACTOR, NOON
from tests.jobs.at_once import at_once

THREE = datetime(2026, 3, 2, 3, tzinfo=UTC)  # the first night after NOON


@pytest.fixture
def nightly(handle, monkeypatch) -> str:
    """The kind of a job that is started every night at three; the product's own schedules are out of the way."""
    monkeypatch.setattr(registry, "CRONS", {"nightly": "0 3 * * *"})
    handle("nightly", lambda job, *, now: Step(True))
    return "nightly"


def ended(kind: str = "nightly") -> None:
    for job in Job.objects.live().filter(kind=kind):
        runner.run_inline(job, now=NOON)


@pytest.mark.django_db
def test_the_tick_is_made_once_and_carries_no_arguments(nightly):
    for _ in range(2):
        schedules.ensure(now=NOON)

    tick = EngineSchedule.objects.get(name="memadmin-tick")
    assert (tick.func, tick.schedule_type, tick.minutes, tick.repeats) == ("memadmin.jobs.tasks.tick", "I", 1, -1)
    assert (tick.args, tick.kwargs, tick.next_run) == (None, None, NOON)


@pytest.mark.django_db
def test_a_changed_or_doubled_tick_is_mended(nightly):
    for _ in range(2):
        EngineSchedule.objects.create(name="memadmin-tick", func="old.name", args="(1,)", repeats=0, next_run=NOON + timedelta(days=999))

    schedules.ensure(now=NOON)

    tick = EngineSchedule.objects.get(name="memadmin-tick")
    assert (tick.func, tick.args, tick.repeats, tick.next_run) == ("memadmin.jobs.tasks.tick", None, -1, NOON + timedelta(minutes=1))


@pytest.mark.django_db(transaction=True)
def test_workers_that_start_at_once_make_one_tick(nightly):
    at_once(lambda: schedules.ensure(now=NOON), times=4)

    assert EngineSchedule.objects.filter(name="memadmin-tick").count() == 1
    assert Schedule.objects.get().next_run_at == THREE


@pytest.mark.django_db
def test_times_that_a_person_set_outlive_a_restart(nightly):
    schedules.change(nightly, cron="30 4 * * *", actor=ACTOR, now=NOON)

    schedules.ensure(now=NOON)

    assert Schedule.objects.get().cron == "30 4 * * *"


@pytest.mark.django_db
def test_a_due_schedule_starts_one_job(nightly):
    schedules.ensure(now=NOON)

    for seconds in (-1, 0, 1, 30):
        schedules.start_due(now=THREE + timedelta(seconds=seconds))
        ended()

    schedule, job = Schedule.objects.get(), Job.objects.get()
    assert (schedule.last_job, schedule.last_run_at, schedule.next_run_at) == (job, THREE, THREE + timedelta(days=1))
    assert (job.kind, job.target, job.requested_by) == (nightly, "", "job/nightly")


@pytest.mark.django_db(transaction=True)
def test_two_ticks_at_once_start_a_due_schedule_once(nightly):
    schedules.ensure(now=NOON)

    for night in range(5):
        at_once(lambda night=night: schedules.start_due(now=THREE + timedelta(days=night)), times=4)
        ended()

    assert Job.objects.count() == 5


@pytest.mark.django_db
def test_nights_that_were_missed_are_made_good_once(nightly):
    schedules.ensure(now=NOON)

    for hour in range(3):
        schedules.start_due(now=THREE + timedelta(days=10, hours=hour))
        ended()

    assert Job.objects.count() == 1
    assert Schedule.objects.get().next_run_at == THREE + timedelta(days=11)


@pytest.mark.django_db
def test_a_clock_that_is_set_back_does_not_run_the_night_again(nightly):
    schedules.ensure(now=NOON)
    schedules.start_due(now=THREE)
    ended()

    for hour in range(-3, 20):
        schedules.start_due(now=THREE + timedelta(hours=hour))
        ended()

    assert Job.objects.count() == 1


@pytest.mark.django_db
def test_changing_the_times_under_a_clock_set_back_does_not_run_the_night_again(nightly):
    schedules.ensure(now=NOON)
    schedules.start_due(now=THREE)

    schedules.change(nightly, cron="0 2,3 * * *", actor=ACTOR, now=THREE - timedelta(hours=4))

    assert Schedule.objects.get().next_run_at == THREE + timedelta(hours=23)


@pytest.mark.django_db
def test_a_clock_that_was_years_ahead_does_not_stop_the_nights_for_years(nightly):
    schedules.ensure(now=NOON + timedelta(days=2000))
    schedules.start_due(now=NOON + timedelta(days=2001))
    ended()

    schedules.start_due(now=NOON)
    assert Schedule.objects.get().next_run_at == THREE

    schedules.start_due(now=THREE)
    assert Job.objects.count() == 2


@pytest.mark.django_db
def test_a_night_that_is_still_at_work_is_not_started_beside_itself(nightly):
    schedules.ensure(now=NOON)

    schedules.start_due(now=THREE)
    schedules.start_due(now=THREE + timedelta(days=1))

    assert Job.objects.count() == 1


@pytest.mark.django_db
def test_a_schedule_of_a_kind_that_is_no_more_starts_nothing(nightly):
    Schedule.objects.create(kind="gone", cron="* * * * *", next_run_at=NOON)

    schedules.start_due(now=NOON)

    assert Job.objects.count() == 0


@pytest.mark.django_db
def test_times_that_cannot_be_read_do_not_stop_the_others(nightly, handle):
    handle("broken", lambda job, *, now: Step(True))
    schedules.ensure(now=NOON)
    Schedule.objects.create(kind="broken", cron="every night", next_run_at=NOON)

    schedules.start_due(now=THREE)

    assert Job.objects.get().kind == nightly


@pytest.mark.django_db
def test_a_schedule_that_is_switched_off_rests_and_makes_nothing_good(nightly):
    schedules.change(nightly, enabled=False, actor=ACTOR, now=NOON)
    schedules.start_due(now=THREE)
    assert schedules.next_run(nightly, now=THREE) is None

    schedules.change(nightly, enabled=True, actor=ACTOR, now=THREE + timedelta(hours=1))
    schedules.start_due(now=THREE + timedelta(hours=2))

    assert Job.objects.count() == 0
    assert schedules.next_run(nightly, now=THREE) == THREE + timedelta(days=1)


@pytest.mark.django_db
def test_a_change_is_in_the_audit_log_with_before_and_after(nightly):
    schedule = schedules.change(nightly, cron="15 4 * * *", actor=ACTOR, now=NOON)

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.target, entry.at) == ("schedule.changed", ACTOR, "schedules/nightly", NOON)
    assert '"after":{"cron":"15 4 * * *","enabled":true}' in AuditPayload.objects.get().body
    assert schedule.next_run_at == datetime(2026, 3, 2, 4, 15, tzinfo=UTC)


@pytest.mark.django_db
def test_a_change_that_changes_nothing_is_not_in_the_audit_log(nightly):
    schedules.change(nightly, cron=" 0  3 * * *", enabled=True, actor=ACTOR, now=NOON)

    assert AuditEntry.objects.count() == 0


@pytest.mark.django_db
def test_times_that_are_none_are_refused_and_nothing_changes(nightly):
    schedules.ensure(now=NOON)

    with pytest.raises(InvalidCron, match="0 25"):
        schedules.change(nightly, cron="0 25 * * *", enabled=False, actor=ACTOR, now=NOON)

    assert (Schedule.objects.get().cron, Schedule.objects.get().enabled) == ("0 3 * * *", True)


@pytest.mark.django_db
def test_a_person_can_start_it_outside_its_times(nightly):
    job = schedules.run_now(nightly, actor=ACTOR, now=NOON)

    assert (job.kind, job.requested_by) == (nightly, ACTOR)
    assert schedules.next_run(nightly, now=NOON) == THREE
    assert AuditEntry.objects.get().action == "schedule.started"


@pytest.mark.django_db
def test_it_is_not_started_while_it_waits_or_runs_and_nobody_is_said_to_have_started_it(nightly):
    first = queue.enqueue(nightly, requested_by="job/nightly", now=NOON)

    with pytest.raises(AlreadyLive) as refused:
        schedules.run_now(nightly, actor=ACTOR, now=NOON)

    assert refused.value.job == first
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_the_next_run_is_known_before_the_first_worker_has_started(nightly):
    assert schedules.next_run(nightly, now=NOON) == THREE
    assert Schedule.objects.count() == 0


@pytest.mark.django_db
def test_a_kind_without_schedule_is_refused_by_name():
    for call in (schedules.next_run, lambda kind, *, now: schedules.run_now(kind, actor=ACTOR, now=now)):
        with pytest.raises(UnknownKind, match="nobody"):
            call("nobody", now=NOON)


@pytest.mark.django_db
def test_a_day_and_a_half_on_two_machines_starts_each_slot_once(nightly, monkeypatch):
    """Ticks of two machines whose clocks differ; one is away in between, later both are, and what they missed is made good once."""
    monkeypatch.setitem(registry.CRONS, nightly, "0 * * * *")
    schedules.ensure(now=NOON)
    started = []

    for minute in range(2, 36 * 60, 5):
        now = NOON + timedelta(minutes=minute)
        away = {"first": 170 <= minute < 250 or 595 <= minute < 725, "second": 595 <= minute < 725}
        for machine, behind in (("first", 0), ("second", 20)):
            if not away[machine]:
                schedules.start_due(now=now - timedelta(seconds=behind))
                started += Job.objects.filter(state=JobState.QUEUED).values_list("created_at", flat=True)
                ended()

    slots = [at.replace(minute=0, second=0) for at in started]
    everything = [NOON + timedelta(hours=hour) for hour in range(1, 36)]
    missed = [NOON + timedelta(hours=hour) for hour in (10, 11)]
    assert slots == [slot for slot in everything if slot not in missed]
