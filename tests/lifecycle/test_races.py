"""Retention against people and against itself, with real transactions, threads and killed processes."""

import os
import random
import signal
import time

import pytest
from django.utils import timezone

from memadmin.audit.models import AuditEntry
from memadmin.jobs import reconcile
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import NotFree, run_inline
from memadmin.lifecycle import runs
from memadmin.lifecycle.enforcement import enforce_batch
from memadmin.lifecycle.models import Kept, Run, RunKept, RunState, RunVictim
from memadmin.store import pinning
from memadmin.store.models import Archived, LongTermMemory
from tests.factories import ACTOR, NOON
from tests.jobs.at_once import at_once, outcomes_at_once
from tests.jobs.cluster import running_cluster
from tests.lifecycle.slow_batches.apps import BETWEEN, INSIDE
from tests.runs import a_policy, assert_store_agrees, fill, governed, memories_of, named_by, preview

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEEP_THREE = a_policy(relevance={"max_records": 3})
SECONDS = 120


def test_a_pin_against_a_run_a_hundred_times_is_never_evicted():
    container = governed(KEEP_THREE, archive_days=None)
    fill(container, 103)
    run = preview(container)
    runs.start_within(run, actor=ACTOR, now=NOON)

    victims = RunVictim.objects.of_run(run).in_order().values_list("item_id", flat=True)
    saved = sum(a_pin_meets_a_batch(run, LongTermMemory.objects.get(pk=key), delay=random.random() * 0.004) for key in list(victims))

    runs.finish(run, now=NOON)
    assert (run.removed, run.kept) == (100 - saved, saved)
    assert RunKept.objects.filter(why=Kept.PINNED).count() == saved
    assert_store_agrees()


def a_pin_meets_a_batch(run, memory, *, delay):
    """Return 1 when the pin came first. Then the memory is there, else the person was told that it has gone."""

    def pin():
        time.sleep(delay)
        return pinning.pin(memory, reason="allergy", actor=ACTOR, now=NOON)

    outcomes = outcomes_at_once(lambda: enforce_batch(run.number, now=NOON, size=1), pin)
    errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    is_there = LongTermMemory.objects.filter(pk=memory.pk, pinned=True).exists()
    assert all(isinstance(error, pinning.Gone) for error in errors), errors
    assert is_there == (not errors)
    return int(is_there)


def test_of_two_who_start_a_preview_one_does():
    run = preview(governed(KEEP_THREE))

    outcomes = outcomes_at_once(*[lambda: runs.start(Run.objects.get(pk=run.pk), actor=ACTOR, now=NOON)] * 2)

    assert sorted(type(outcome).__name__ for outcome in outcomes) in (["Job", "WrongState"], ["Job", "OtherRunLive"])
    assert AuditEntry.objects.filter(action="run.started").count() == 1


def test_of_two_previews_of_a_container_started_at_once_one_runs():
    container = governed(KEEP_THREE)
    first, second = preview(container), preview(container)

    outcomes = outcomes_at_once(
        lambda: runs.start(first, actor=ACTOR, now=NOON),
        lambda: runs.start(second, actor=ACTOR, now=NOON),
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Job", "OtherRunLive"]


def test_of_two_workers_on_one_run_one_does_it():
    container = governed(KEEP_THREE)
    fill(container, 30)
    run = preview(container)
    job = runs.start_reserved(run, actor=ACTOR, now=NOON)

    outcomes = outcomes_at_once(*[lambda: run_inline(Job.objects.get(pk=job.pk), now=NOON)] * 2)

    assert any(isinstance(outcome, NotFree) for outcome in outcomes)
    run.refresh_from_db()
    assert (run.state, run.removed) == (RunState.FINISHED, 27)
    assert AuditEntry.objects.filter(action="run.finished").count() == 1
    assert_store_agrees()


def test_two_workers_past_the_lease_take_turns_and_evict_each_victim_once():
    container = governed(KEEP_THREE)
    fill(container, 43)
    run = preview(container)
    runs.start_within(run, actor=ACTOR, now=NOON)

    def work():
        removed = 0
        while True:
            batch = enforce_batch(run.number, now=NOON, size=3)
            removed += batch.removed
            if batch.is_last:
                return removed

    assert sum(at_once(work)) == 40
    run.refresh_from_db()
    assert (run.removed, Archived.objects.filter(run_number=run.number).count()) == (40, 40)
    assert_store_agrees()


def test_a_worker_killed_twice_evicts_each_victim_once(tmp_path):
    container = governed(KEEP_THREE)
    fill(container, 63)
    run = preview(container, now=timezone.now())
    survivors = memories_of(container) - named_by(run)
    with running_cluster("tests.lifecycle.slow_batches.settings", log=tmp_path / "qcluster.log") as group:
        job = runs.start(run, actor=ACTOR, now=timezone.now())
        until = time.monotonic() + SECONDS

        kill_worker_of(job, attempt=1, after=BETWEEN + INSIDE / 2, group=group, until=until)
        kill_worker_of(job, attempt=2, after=BETWEEN / 2, group=group, until=until)
        wait_for(job, lambda: job.state == JobState.DONE, until=until)

    run.refresh_from_db()
    assert (run.state, run.removed, run.kept) == (RunState.FINISHED, 60, 0)
    assert memories_of(container) == survivors
    assert Archived.objects.filter(run_number=run.number).count() == 60
    assert AuditEntry.objects.filter(action="run.finished").count() == 1
    assert_store_agrees()


def kill_worker_of(job, *, attempt, after, group, until):
    begun_at = job.done
    wait_for(job, lambda: job.state == JobState.RUNNING and job.attempts >= attempt and job.done > begun_at, until=until)
    worker = int(job.leased_by.split(":")[1])
    assert os.getpgid(worker) == group
    time.sleep(after)
    os.kill(worker, signal.SIGKILL)


def wait_for(job, reached, *, until):
    while not reached():
        assert time.monotonic() < until, f"{job.state}, {job.done} done, {job.attempts} attempts"
        time.sleep(0.03)
        reconcile.reconcile(now=timezone.now())  # the tick's part, which comes once a minute
        job.refresh_from_db()
