"""How often the nightly run starts where a setting says every how many hours."""

from datetime import timedelta

import pytest

from memadmin.jobs import registry, schedules
from memadmin.jobs.models import Job, Schedule
from memadmin.jobs.registry import Step
from memadmin.store import configuration
from tests.factories import ACTOR, NOON
from tests.jobs.test_schedules import THREE, ended

pytestmark = pytest.mark.django_db
KEY = "retention_job_interval_hours"


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


@pytest.fixture(autouse=True)
def nightly(handle, monkeypatch):
    monkeypatch.setattr(registry, "CRONS", {"nightly": "0 3 * * *"})
    monkeypatch.setattr(registry, "INTERVALS", {"nightly": KEY})
    handle("nightly", lambda job, *, now: Step(True))
    schedules.ensure(now=NOON)


def every(number, *, now=NOON):
    configuration.change(KEY, number, actor=ACTOR, now=now)
    schedules.follow_settings(now=now)


def next_run(now=NOON):
    return schedules.next_run("nightly", now=now)


def started(now):
    schedules.start_due(now=now)
    ended()
    return Job.objects.count()


def test_at_its_default_the_times_of_the_schedule_count():
    every(24)

    assert next_run() == THREE


def test_any_other_number_counts_from_the_last_start_and_does_not_drift():
    every(6)

    assert next_run() == NOON + hours(6)
    assert [started(NOON + hours(6) + timedelta(seconds=40 * minute)) for minute in range(3)] == [1, 1, 1]
    assert next_run() == NOON + hours(12)
    assert started(NOON + hours(12.01)) == 2
    assert next_run() == NOON + hours(18)


def test_a_shorter_interval_starts_nothing_for_the_time_before_it_was_set():
    every(168)
    Schedule.objects.update(last_run_at=NOON)

    every(1, now=NOON + hours(50.5))

    assert started(NOON + hours(50.6)) == 0
    assert next_run() == NOON + hours(51)


def test_back_at_the_default_the_times_count_again():
    every(168)

    every(None)

    assert next_run() == THREE


def test_a_week_is_not_taken_for_a_wrong_clock():
    every(168)

    assert started(NOON + hours(1)) == 0
    assert next_run() == NOON + hours(168)


def test_a_setting_that_was_changed_past_every_page_is_followed_at_the_next_tick():
    configuration.change(KEY, 2, actor=ACTOR, now=NOON)

    schedules.start_due(now=NOON + hours(1))

    assert next_run() == NOON + hours(3)


def test_times_may_be_changed_meanwhile_and_wait():
    every(2)

    schedules.change("nightly", cron="30 4 * * *", actor=ACTOR, now=NOON)

    assert next_run() == NOON + hours(2)
    every(24)
    assert next_run() == THREE + hours(1.5)
