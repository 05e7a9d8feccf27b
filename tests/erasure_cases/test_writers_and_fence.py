"""Writers while a person is being fenced: nobody's row is left over, and nobody else waits for long."""

import threading
import time

import pytest
from django.db import Error, connection, connections

from memadmin.store import ingest, suppression
from memadmin.store.models import LongTermMemory, Subject
from memadmin.store.opening import Suppressed
from tests.databases import is_sqlite
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.processes import wait_for

WRITERS = 2 if is_sqlite() else 8
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
@pytest.mark.skipif(is_sqlite(), reason="SQLite has one writer at a time: a raw writer waits for the whole transaction")
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
