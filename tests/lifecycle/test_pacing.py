"""A run leaves others room: behind each batch it rests for a part of the time that the batch took."""

import pytest
from django.db import connection

from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import enforcement, pacing, runs
from memadmin.lifecycle.enforcement import Batch
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.pacing import paced_batch
from tests.databases import is_sqlite
from tests.factories import ACTOR, NOON
from tests.runs import a_policy, fill, governed, preview


@pytest.fixture
def rests(monkeypatch):
    """The seconds of each rest; a batch takes what `takes` says."""
    rested = []
    monkeypatch.setattr(pacing.time, "sleep", rested.append)
    return rested


def takes(monkeypatch, seconds, *, done):
    clock = iter([100.0, 100.0 + seconds])
    monkeypatch.setattr(pacing.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(pacing, "enforce_batch", lambda number, **_: Batch(removed=done, kept=0, done=done, planned=10))


@pytest.mark.parametrize(("seconds", "rest"), [(0.4, 0.1), (60.0, 1.0)])
def test_it_rests_a_quarter_of_what_a_batch_took_and_never_long(rests, monkeypatch, seconds, rest):
    monkeypatch.setattr(connection, "vendor", "postgresql")
    takes(monkeypatch, seconds, done=5)

    paced_batch(1, now=NOON)

    assert rests == [pytest.approx(rest)]


def test_behind_the_last_batch_nothing_is_waited_for(rests, monkeypatch):
    monkeypatch.setattr(connection, "vendor", "postgresql")
    takes(monkeypatch, 0.3, done=10)

    paced_batch(1, now=NOON)

    assert rests == []


def test_on_sqlite_a_writer_waits_for_the_batch_itself_and_no_rest_is_made(rests, monkeypatch):
    monkeypatch.setattr(connection, "vendor", "sqlite")
    takes(monkeypatch, 0.3, done=5)

    paced_batch(1, now=NOON)

    assert rests == []


@pytest.mark.django_db
def test_the_job_of_a_run_rests_between_its_batches(rests, monkeypatch):
    monkeypatch.setattr(enforcement, "AT_ONCE_ON_SQLITE" if is_sqlite() else "AT_ONCE", 2)
    container = governed(a_policy(relevance={"max_records": 1}), archive_days=None)
    fill(container, 6)

    run_inline(runs.start_reserved(preview(container), actor=ACTOR, now=NOON), now=NOON)

    assert Run.objects.get().state == RunState.FINISHED
    assert len(rests) == (0 if is_sqlite() else 2)
