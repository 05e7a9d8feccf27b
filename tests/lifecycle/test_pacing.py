"""A run leaves others room: its batches are of the size that takes a little time, whatever the size of the store."""

from itertools import count

import pytest
from django.db import connection

from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import enforcement, pacing, runs
from memadmin.lifecycle.enforcement import Batch
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.pacing import LEAST, MOST, Pace, paced_batch
from tests.databases import is_sqlite
from tests.factories import ACTOR, NOON
from tests.runs import a_policy, fill, governed, preview


@pytest.fixture(autouse=True)
def pace(monkeypatch):
    pace = Pace()
    monkeypatch.setattr(pacing, "_pace", pace)
    return pace


@pytest.fixture
def shares(monkeypatch):
    """The shares of the usual size that batches are taken at; on PostgreSQL, for a run that has much to do."""
    asked = []

    def taken(number, *, share=1.0, **_):
        asked.append(share)
        return Batch(removed=5, kept=0, done=5, planned=1_000)

    monkeypatch.setattr(connection, "vendor", "postgresql")
    monkeypatch.setattr(pacing, "enforce_batch", taken)
    return asked


def each_takes(monkeypatch, seconds):
    asked = count()  # the clock, before each batch and behind it
    monkeypatch.setattr(pacing.time, "monotonic", lambda: 100.0 * ((place := next(asked)) // 2) + seconds * (place % 2))


def batches(times, run=1):
    for _ in range(times):
        paced_batch(run, now=NOON)


def test_batches_that_take_long_become_smaller_down_to_an_eighth(shares, monkeypatch):
    each_takes(monkeypatch, 0.5)

    batches(5)

    assert shares == [1, 1 / 2, 1 / 4, LEAST, LEAST]


def test_batches_that_are_soon_done_become_larger_up_to_twice_the_usual(shares, monkeypatch):
    each_takes(monkeypatch, 0.01)

    batches(3)

    assert shares == [1, MOST, MOST]


def test_batches_that_take_a_little_time_stay_as_they_are(shares, monkeypatch):
    each_takes(monkeypatch, 0.05)

    batches(3)

    assert shares == [1, 1, 1]


def test_another_run_begins_with_what_is_usual(shares, monkeypatch):
    each_takes(monkeypatch, 0.5)
    batches(3)

    batches(1, run=2)

    assert shares[-1] == 1


def test_a_batch_that_others_had_taken_says_nothing_of_the_time_that_one_takes(shares, monkeypatch):
    monkeypatch.setattr(pacing, "enforce_batch", lambda number, **given: shares.append(given["share"]) or Batch(0, 0, done=5, planned=10))
    each_takes(monkeypatch, 0.001)

    batches(2)

    assert shares == [1, 1]


@pytest.mark.django_db
def test_the_job_of_a_run_takes_batches_of_that_share(pace, monkeypatch):
    monkeypatch.setattr(enforcement, "AT_ONCE_ON_SQLITE" if is_sqlite() else "AT_ONCE", 2)
    monkeypatch.setattr(pace, "learn", lambda _: setattr(pace, "share", 1.5))
    container = governed(a_policy(relevance={"max_records": 1}), archive_days=None)
    fill(container, 8)
    cursors = []
    monkeypatch.setattr(pacing, "enforce_batch", lambda *given, **named: noted(cursors, enforcement.enforce_batch(*given, **named)))

    run_inline(runs.start_reserved(preview(container), actor=ACTOR, now=NOON), now=NOON)

    assert Run.objects.get().state == RunState.FINISHED
    assert cursors == ([2, 4, 6, 7] if is_sqlite() else [2, 5, 7])


def noted(cursors, batch):
    cursors.append(batch.done)
    return batch
