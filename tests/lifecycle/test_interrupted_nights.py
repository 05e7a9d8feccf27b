"""A night that is interrupted anywhere ends like one that was not: the same rows, counters, copies, runs and entries of the log."""

from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, close_old_connections, connection

from memadmin.audit.models import AuditEntry
from memadmin.jobs import queue
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.registry import JobView
from memadmin.jobs.runner import run_stretch
from memadmin.lifecycle import enforcement, nightly, planning
from memadmin.lifecycle.models import Run, RunKept, RunVictim
from memadmin.lifecycle.tasks import tonight
from memadmin.store import configuration
from memadmin.store.models import Archived, Container, HistoryEntry, LongTermMemory, Session, Subject, WorkingMemory
from memadmin.store.models.subjects import COUNTERS
from tests.databases import database_url, is_sqlite
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, days, make_container, store
from tests.runs import a_policy, assert_store_agrees, governed

POLICY = a_policy(sessions={"retention_days": 30}, long_term={"retention_days": 90}, history={"max_count": 2}, relevance={"max_records": 3})


class Killed(BaseException):
    """A worker dies: no handler of errors runs, what was not committed is lost."""


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)
    for name in ("AT_ONCE", "COPIED", "SESSIONS"):
        monkeypatch.setattr(enforcement, name, 2)


def a_full_store():
    """Victims of every kind in one container, one that gets the default policy, and one without sessions and without a policy."""
    configuration.change("working_memory_ttl_days", 30, actor=ACTOR, now=NOON)
    configuration.change("approval_items", 1_000_000, actor=ACTOR, now=NOON)
    configuration.change("approval_percent", 100, actor=ACTOR, now=NOON)
    main = governed(POLICY, "main", orphan_baseline_at=NOON - days(30), removes_unattributed=True)
    for number in range(3):
        store(main, a_session(f"old-{number}", days_old=60, user_id=f"u{number}", last_updated_at=NOON - days(60)))
        store(main, a_message("said", session_ref=f"old-{number}", user_id=f"u{number}", created_at=NOON - days(60)))
    Session.objects.update(last_updated_at=NOON - days(60))
    store(
        main,
        a_session("young", days_old=1),
        *(a_memory(f"fact {n}", days_old=n * 20 + 1, last_updated_at=NOON - days(1)) for n in range(8)),
    )
    store(main, *(a_change(f"change {n}", created_at=NOON - days(n)) for n in range(5)))
    for number in range(3):
        store(main, a_message(session_ref=f"gone-{number}", session_gone=True, created_at=NOON - days(20)))
        store(main, a_message(session_ref=None, user_id=None, created_at=NOON - days(20 + number)))
    plain = make_container("plain", sessions_enabled=False)
    store(plain, *(a_message(session_ref=None, created_at=NOON - days(40 + n)) for n in range(3)))
    second = governed(POLICY, "second", orphan_baseline_at=NOON - days(30))
    store(second, *(a_memory(f"other {n}", days_old=n + 1) for n in range(5)))


def what_is_left():
    """What is left, in words that two stores share: the rows by what they say, the counters, the runs and the log by number."""
    left = {
        "sessions": sorted(Session.objects.values_list("external_id", flat=True)),
        "working": sorted(WorkingMemory.objects.values_list("created_at", "session_ref"), key=str),
        "memories": sorted(LongTermMemory.objects.values_list("text", flat=True)),
        "history": sorted(map(str, HistoryEntry.objects.values_list("after", flat=True))),
        "archive": sorted(Archived.objects.values_list("item_type", "reason", "expires_at"), key=str),
        "counters": sorted(map(str, Subject.objects.values_list("container__name", "user_id", *COUNTERS))),
        "runs": list(Run.objects.order_by("number").values_list("container__name", "state", "planned", "removed", "kept", "outcome")),
        "victims": RunVictim.objects.count(),
        "kept": RunKept.objects.count(),
        "baselines": sorted(map(str, Container.objects.values_list("name", "orphan_baseline_at"))),
    }
    left["log"] = sorted(map(str, AuditEntry.objects.values_list("action", "counts", "reason_code")))
    return left


def view(cursor, attempt=1):
    job = Job(kind="nightly", cursor=cursor, attempts=attempt, max_attempts=5, requested_by="job/nightly")
    return JobView(
        id=0,
        uid=job.uid,
        kind="nightly",
        target="",
        cursor=cursor,
        done=0,
        total=None,
        attempt=attempt,
        max_attempts=5,
        requested_by="job/nightly",
        token="",
    )


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


def a_whole_night(every=None):
    cursor = None
    while True:
        step = tonight(view(cursor), now=NOON) if every is None else step_until_alive(cursor, every)
        if step.finished:
            return
        cursor = step.cursor


def undisturbed():
    """What is left of a store after a night without interruption. The store is emptied again."""
    a_full_store()
    a_whole_night()
    expected = what_is_left()
    assert_store_agrees()
    assert [run[1] for run in expected["runs"]] == ["finished"] * 3
    assert sum(run[3] for run in expected["runs"]) > 20
    return expected


@pytest.fixture
def expected(transactional_db):
    found = undisturbed()
    call_command("flush", interactive=False, verbosity=0)
    return found


@pytest.mark.slow
def test_killed_before_every_statement_of_every_step_it_ends_like_one_that_was_not(expected):
    a_full_store()

    a_whole_night(every=1)

    assert what_is_left() == expected
    assert_store_agrees()


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
    assert_store_agrees()


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
    assert_store_agrees()


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
