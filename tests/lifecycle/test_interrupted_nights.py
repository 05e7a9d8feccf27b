"""A night that is interrupted anywhere ends like one that was not: the same rows, counters, copies, runs and entries of the log."""

from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import psycopg
import pytest
from django.db import OperationalError, close_old_connections, connection

from memadmin.jobs import queue, reconcile
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_stretch
from memadmin.lifecycle import enforcement, nightly, planning
from memadmin.lifecycle.models import Run
from memadmin.lifecycle.tasks import tonight
from memadmin.store.models import Container
from tests.databases import database_url, is_sqlite
from tests.factories import NOON
from tests.jobs.forked import KILLED, die_at, in_a_process
from tests.lifecycle.nights import a_full_store, a_whole_night, assert_nothing_is_amiss, undisturbed, view, what_is_left


class Killed(BaseException):
    """A worker dies: no handler of errors runs, what was not committed is lost."""


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)
    for name in ("AT_ONCE", "AT_ONCE_ON_SQLITE", "COPIED", "SESSIONS"):
        monkeypatch.setattr(enforcement, name, 2)


@contextmanager
def dying_at(statement):
    """Let the worker die before its so-manieth statement; give a list that says whether it did."""
    seen, died = [], []

    def count(execute, sql, params, many, context):
        seen.append(sql)
        if len(seen) == statement:
            died.append(sql)
            raise Killed
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield died


def step_until_alive(cursor, every):
    """Take one step of the night; before, die in it at each `every`-th statement, one after the other."""
    statement = 1
    while True:
        with dying_at(statement) as died:
            try:
                return tonight(view(cursor), now=NOON)
            except Killed:
                assert died
        statement += every


@pytest.fixture
def expected(transactional_db):
    return undisturbed()


@pytest.mark.slow
def test_killed_before_every_statement_of_every_step_it_ends_like_one_that_was_not(expected):
    a_full_store()

    a_whole_night(partial(step_until_alive, every=1))

    assert what_is_left() == expected
    assert_nothing_is_amiss()


def how_far(job):
    """Return what a batch leaves behind once it is committed."""
    return Job.objects.values_list("cursor", flat=True).get(pk=job.pk), list(Run.objects.order_by("number").values_list("state", "cursor"))


def free_again(job):
    """Do what the tick does once the lease of a dead worker is over, as if there were no end of attempts."""
    Job.objects.filter(pk=job.pk).update(attempts=0)
    reconcile.reconcile(now=NOON + timedelta(minutes=6))


@pytest.mark.slow
def test_processes_killed_inside_each_batch_and_at_each_boundary_change_nothing_in_the_end(expected):
    a_full_store()
    job = queue.enqueue("nightly", requested_by="job/nightly", now=NOON)
    inside = boundaries = 0
    place = 1

    def one_step():
        die_at(place)
        run_stretch(job.pk, clock=lambda: NOON, stretch=timedelta(0))

    while Job.objects.get(pk=job.pk).state != JobState.DONE:
        before = how_far(job)
        ended = in_a_process(one_step)
        place = place + 1 if how_far(job) == before else 1
        if ended == KILLED:
            inside, boundaries = (inside + 1, boundaries) if place > 1 else (inside, boundaries + 1)
            free_again(job)

    assert boundaries >= 20  # as many as there are batches, and more
    assert inside > boundaries
    assert what_is_left() == expected
    assert_nothing_is_amiss()


def work_until_done(job, interrupted, *, first, further):
    """Give the job to one worker after the other; each is interrupted at a later statement than the last. Return how many were."""
    times, statement = 0, first
    while Job.objects.get(pk=job.pk).state != JobState.DONE:
        with interrupted(statement):
            try:
                run_stretch(job.pk, clock=lambda: NOON, stretch=timedelta(minutes=5))
            except OperationalError:
                times += 1
        close_old_connections()
        free = {"state": JobState.QUEUED, "lease_until": None, "leased_by": "", "ready_at": None, "attempts": 0}
        Job.objects.exclude(state=JobState.DONE).update(**free)  # what the tick does a little later
        statement += further
    return times


@contextmanager
def connection_cut_at(statement):
    """Let the server end the connection before its so-manieth statement, which may be in the middle of a batch."""
    seen = []

    def count(execute, sql, params, many, context):
        seen.append(sql)
        if len(seen) == statement:
            with psycopg.connect(database_url(), autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield


@contextmanager
def room_for(pages):
    """Let the file of the database grow by so many pages, and no further."""
    with connection.cursor() as cursor:
        [size] = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count = {size + pages}")
    yield
    with connection.cursor() as cursor:  # another connection, if the first one was given up
        cursor.execute("PRAGMA max_page_count = 1073741823")


@pytest.mark.slow
def test_a_connection_that_is_cut_again_and_again_changes_nothing_in_the_end(expected):
    if is_sqlite():
        pytest.skip("SQLite has no connection that somebody else could cut")
    a_full_store()
    job = queue.enqueue("nightly", requested_by="job/nightly", now=NOON)

    times = work_until_done(job, connection_cut_at, first=8, further=11)

    assert times >= 5
    assert what_is_left() == expected
    assert_nothing_is_amiss()


@pytest.mark.slow
def test_a_full_disk_changes_nothing_in_the_end(expected):
    if not is_sqlite():
        pytest.skip("only SQLite can be told how large its file may grow")
    a_full_store()
    job = queue.enqueue("nightly", requested_by="job/nightly", now=NOON)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # leaves no free page

    times = work_until_done(job, room_for, first=0, further=1)

    assert times >= 2
    assert what_is_left() == expected
    assert_nothing_is_amiss()


def test_a_database_that_stays_broken_costs_a_container_its_turn_and_not_the_others(db, monkeypatch):
    a_full_store()
    first = Container.objects.get(name="main")
    record = planning.record

    def breaks(run, **options):
        if run.container == first:
            raise OperationalError("no answer")
        return record(run, **options)

    monkeypatch.setattr(planning, "record", breaks)
    cursor = tonight(view(None), now=NOON).cursor
    with pytest.raises(OperationalError):
        tonight(view(cursor, attempt=1), now=NOON)

    step = tonight(view(cursor, attempt=5), now=NOON)
    while not step.finished:
        step = tonight(view(step.cursor), now=NOON)

    assert list(Run.objects.order_by("number").values_list("state", "error_code")) == [
        ("failed", "OperationalError"),
        ("finished", ""),
        ("finished", ""),
    ]
