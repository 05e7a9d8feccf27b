"""Writers while a person is being fenced: nobody's row is left over, and nobody else waits for long.

The locks of writers and of a fence are PostgreSQL's. SQLite needs none: a transaction takes its only write lock as it begins, and one that
did not could not write after another one had (its view of the database is old), so what a writer has looked up holds until it ends.
"""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import Error, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from memadmin.erasure.execution import steps
from memadmin.erasure.models import Status
from memadmin.store import ingest, suppression
from memadmin.store.models import Container, LongTermMemory, Subject
from memadmin.store.opening import Suppressed
from tests.databases import is_sqlite
from tests.erasure.executing import execute
from tests.erasure.workflow import approved, opened
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store, subject_of
from tests.processes import wait_for

WRITERS = 2 if is_sqlite() else 8
one_writer = pytest.mark.skipif(is_sqlite(), reason="SQLite has one writer at a time: whoever comes second waits for the whole transaction")
BREATH = 0.02 if is_sqlite() else 0  # who waits for the only write lock asks for it now and then, and may find it taken each time


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("known", [True, False], ids=["a user with rows", "a user that no row names yet"])
def test_6_of_writers_in_flight_none_leaves_a_row_behind_the_fence(known):
    container = make_container()
    if known:
        store(container, a_memory(user_id="ann"))
    stop, after, refused = threading.Event(), threading.Event(), []

    def write(number):
        try:
            while not stop.is_set():
                try:
                    ingest.write(container, [a_memory(f"{number} {time.monotonic_ns()}", user_id="ann")], actor=ACTOR, now=NOON)
                except Suppressed:
                    refused.append(number)
                    if after.is_set():
                        return
                except Error as error:
                    if "locked" not in str(error) and "deadlock" not in str(error):
                        raise
                time.sleep(BREATH)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    wait_for(lambda: LongTermMemory.objects.count() > 3 * len(threads))
    suppression.fence(["ann"], container=None, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    at_the_fence = LongTermMemory.objects.count()
    after.set()
    for thread in threads:
        thread.join(timeout=30)  # each ends when it is refused
    stop.set()

    assert set(refused) == set(range(len(threads)))
    assert LongTermMemory.objects.count() == at_the_fence
    assert set(Subject.objects.filter(user_id="ann").values_list("suppressed", flat=True)) <= {"fence"}


@pytest.mark.django_db(transaction=True)
@one_writer
def test_10_a_raw_writer_that_took_no_lock_is_waited_for_or_refused():
    container = make_container()
    store(container, a_memory(user_id="ann"))
    began, ending, errors = threading.Event(), threading.Event(), []

    def write_raw():
        try:
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute(
                    "INSERT INTO store_historyentry (uid, container_id, subject_id, namespace, time_note, stored_at, revision, actor, tags,"
                    " pinned) SELECT gen_random_uuid(), container_id, id, '{}', '', now(), 1, '', '{}', false FROM store_subject"
                )
                began.set()
                time.sleep(0.4)
                ending.set()
                cursor.execute("COMMIT")
        except Error as error:
            errors.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=write_raw)
    thread.start()
    began.wait(timeout=60)
    suppression.fence(["ann"], container=container, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)

    assert ending.is_set()
    thread.join(timeout=60)
    assert errors == []


def beside(work: Callable[[], object]) -> tuple[threading.Thread, list[Exception]]:
    """Begin the work with a connection of its own."""
    failed: list[Exception] = []

    def run() -> None:
        try:
            work()
        except (Error, Suppressed) as error:
            failed.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, failed


def fence(container: Container, *user_ids: str) -> None:
    suppression.fence(user_ids, container=container, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()")
        return cursor.fetchone() is not None


@pytest.mark.django_db(transaction=True)
@one_writer
def test_6_a_fence_waits_for_who_is_making_its_user_and_binds_that_user():
    container, made, ending = make_container(), threading.Event(), threading.Event()

    def make() -> None:
        with transaction.atomic():
            ingest.write(container, [a_memory(user_id="ann")], actor=ACTOR, now=NOON)
            made.set()
            ending.wait(timeout=60)

    writer, failed = beside(make)
    made.wait(timeout=60)
    fencing, refused = beside(lambda: fence(container, "ann"))
    try:
        wait_for(lambda: somebody_waits() or not fencing.is_alive())
    finally:
        ending.set()
        writer.join(timeout=60)
        fencing.join(timeout=60)

    assert (failed, refused) == ([], [])
    assert subject_of(container).suppressed == "fence"


@pytest.mark.django_db(transaction=True)
@one_writer
def test_6_a_fence_locks_several_users_in_the_order_of_all_writers_so_that_none_waits_for_ever():
    container = make_container()
    store(container, a_memory(user_id="zoe"))
    store(container, a_memory(user_id="ann"))
    first, last = subject_of(container, "zoe"), subject_of(container, "ann")
    Subject.objects.filter(pk=first.pk).update(epoch=5)  # by its place in the table ann comes first now, as she does by name

    with transaction.atomic():
        Subject.objects.select_for_update().get(pk=first.pk)
        fencing, failed = beside(lambda: fence(container, "ann", "zoe"))
        wait_for(somebody_waits)
        Subject.objects.select_for_update().get(pk=last.pk)
    fencing.join(timeout=60)

    assert failed == []
    assert set(Subject.objects.values_list("suppressed", flat=True)) == {"fence"}


@pytest.mark.django_db(transaction=True)
@one_writer
def test_6_while_a_fence_goes_up_nobody_but_its_own_writers_waits():
    container = make_container()
    store(container, a_memory(user_id="ann"), a_memory(user_id="bob"))

    def write() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")
        ingest.write(container, [a_memory("meanwhile", user_id="bob")], actor=ACTOR, now=NOON)

    with transaction.atomic():
        fence(container, "ann")
        writer, failed = beside(write)
        writer.join(timeout=60)

        assert failed == []
        assert LongTermMemory.objects.filter(text="meanwhile").exists()


@pytest.mark.django_db
def test_6_a_fence_is_as_short_for_a_person_of_many_rows_as_for_one_of_few():
    container = make_container()
    store(container, a_memory(user_id="ann"), *(a_memory(f"number {number}", user_id="bob") for number in range(300)))
    fence(container, "carl")  # the first one makes keys

    statements = []
    for user_id in ("ann", "bob"):
        with CaptureQueriesContext(connection) as asked:
            fence(container, user_id)
        statements.append(len(asked))

    assert statements[0] == statements[1] < 20


@pytest.mark.django_db(transaction=True)
def test_6_from_the_fence_to_the_end_and_after_it_whoever_writes_is_refused_and_no_row_survives(monkeypatch: pytest.MonkeyPatch):
    container, refused = make_container(), list[str]()
    store(container, a_memory(user_id="ann"), a_memory(user_id="bob"), now=NOON - days(1))

    def writes(phase: str) -> None:
        try:
            ingest.write(container, [a_memory(f"at {phase}", user_id="ann")], actor=ACTOR, now=NOON)
        except Suppressed:
            refused.append(phase)

    for phase, does in steps._STEPS.items():
        if phase not in ("ledger", "fence"):
            monkeypatch.setitem(steps._STEPS, phase, lambda *at, phase=phase, does=does: (writes(phase), does(*at), writes(phase))[1])
    request = opened("ann")
    approved(request)
    execute(request)
    writes("after")

    assert request.state == Status.COMPLETED
    assert set(refused) == {*steps.PHASES, "after"} - {"ledger", "fence"}
    assert list(LongTermMemory.objects.values_list("subject__user_id", flat=True)) == ["bob"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("phase", ["ledger", "fence"])
def test_6_what_was_written_between_the_claim_and_the_fence_is_found_and_nothing_is_called_complete(
    monkeypatch: pytest.MonkeyPatch, phase: str
):
    container, does = make_container(), steps._STEPS[phase]
    store(container, a_memory(user_id="ann"), now=NOON - days(1))
    written = []

    def writing(*at):
        if not written:
            written.append(ingest.write(container, [a_memory("in between", user_id="ann")], actor=ACTOR, now=NOON))
        return does(*at)

    monkeypatch.setitem(steps._STEPS, phase, writing)
    request = opened("ann")
    approved(request)
    execute(request)

    assert request.state == Status.RESIDUE_FOUND
    assert list(LongTermMemory.objects.values_list("text", flat=True)) == ["in between"]
