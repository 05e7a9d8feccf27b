import logging
import threading
import time

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from memadmin.recall import touching
from memadmin.recall.touching import MOST_HITS, Occasion, touch
from memadmin.store.models import LongTermMemory, RecallEvent
from tests.factories import NOON, days, make_container, make_memory
from tests.jobs.at_once import at_once


@pytest.mark.django_db
def test_a23_each_memory_gets_one_hit_for_a_request_and_nothing_else_changes():
    container = make_container()
    read, other = make_memory(container, "likes tea"), make_memory(container, "likes coffee")

    noted = touch([read.pk, read.pk], now=NOON)

    after = LongTermMemory.objects.get(pk=read.pk)
    assert (noted, after.hits, after.last_accessed_at) == (1, 1, NOON)
    assert (after.revision, after.last_updated_at) == (read.revision, read.last_updated_at)
    assert LongTermMemory.objects.get(pk=other.pk).hits == 0


@pytest.mark.django_db(transaction=True)
def test_a23_recalls_at_the_same_moment_add_up():
    memory = make_memory(make_container())

    noted = at_once(lambda: sum(touch([memory.pk], now=NOON) for _ in range(5)), times=4)

    memory.refresh_from_db()
    assert memory.hits == sum(noted) == RecallEvent.objects.filter(memory_uid=memory.uid).count() > 0


@pytest.mark.django_db
def test_a_late_note_does_not_turn_back_the_last_access():
    memory = make_memory(make_container(), last_accessed_at=NOON, hits=3)

    touch([memory.pk], now=NOON - days(1))

    memory.refresh_from_db()
    assert (memory.hits, memory.last_accessed_at) == (4, NOON)


@pytest.mark.django_db
def test_a_memory_that_is_gone_or_has_all_the_hits_there_can_be_is_passed_over():
    full = make_memory(make_container(), hits=MOST_HITS)

    assert touch([full.pk, full.pk + 1], now=NOON) == 0
    assert touch([], now=NOON) == 0


@pytest.mark.django_db
def test_f27_each_recall_leaves_an_event_with_what_the_agent_said_of_its_occasion():
    container = make_container()
    tea, keyed = make_memory(container, "likes tea"), make_memory(container, "on plan pro", user_id="bob", fact_key="plan")

    touch([tea.pk, keyed.pk], now=NOON, occasion=Occasion(session="s-1", invocation="i-1"))
    touch([tea.pk], now=NOON + days(1))

    events = RecallEvent.objects.order_by("id").values_list("memory_uid", "subject_id", "fact_key", "session_ref", "invocation_id", "at")
    assert sorted(events, key=lambda event: (event[5], event[3] or "", event[1])) == [
        (tea.uid, tea.subject_id, None, "s-1", "i-1", NOON),
        (keyed.uid, keyed.subject_id, "plan", "s-1", "i-1", NOON),
        (tea.uid, tea.subject_id, None, None, None, NOON + days(1)),
    ]
    assert {event.container_id for event in RecallEvent.objects.all()} == {container.pk}


@pytest.mark.django_db
def test_a_memory_is_counted_once_for_an_invocation_and_each_time_where_none_is_named():
    container = make_container()
    first, second = make_memory(container, "likes tea"), make_memory(container, "likes coffee")

    noted = [
        touch([first.pk], now=NOON, occasion=Occasion(invocation="i-1")),
        touch([first.pk, second.pk], now=NOON + days(1), occasion=Occasion(invocation="i-1")),
        touch([first.pk], now=NOON + days(2), occasion=Occasion(invocation="i-2")),
        touch([first.pk], now=NOON + days(3)),
        touch([first.pk], now=NOON + days(4)),
    ]

    first.refresh_from_db()
    assert noted == [1, 1, 1, 1, 1]
    assert (first.hits, first.last_accessed_at) == (4, NOON + days(4))
    assert RecallEvent.objects.filter(memory_uid=first.uid).count() == first.hits


@pytest.mark.django_db
def test_f27_a_database_that_refuses_costs_the_note_and_not_the_read(monkeypatch, caplog):
    memory = make_memory(make_container(), "secret text")

    def refuse(ids, *, now, occasion):
        raise DatabaseError("secret text")

    monkeypatch.setattr(touching, "_noted", refuse)
    with caplog.at_level(logging.WARNING):
        noted = touch([memory.pk], now=NOON)

    assert noted == 0
    assert "1 memories were not noted: DatabaseError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_writer_that_holds_the_row_is_not_waited_for():
    memory = make_memory(make_container())
    held, done = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            LongTermMemory.objects.filter(pk=memory.pk).update(importance=0.9)
            held.set()
            done.wait(60)
        connection.close()

    writer = threading.Thread(target=hold)
    writer.start()
    held.wait(60)
    began = time.monotonic()
    noted = touch([memory.pk], now=NOON)
    took = time.monotonic() - began
    done.set()
    writer.join()

    assert noted == 0
    assert took < 30  # half of what the writer holds it for
    assert touch([memory.pk], now=NOON) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite no transaction waits for the disk")
def test_a_note_waits_for_no_disk_but_what_its_caller_writes_does():
    memory = make_memory(make_container())

    with CaptureQueriesContext(connection) as alone:
        touch([memory.pk], now=NOON)
    with transaction.atomic(), CaptureQueriesContext(connection) as inside:
        touch([memory.pk], now=NOON)

    assert [any("synchronous_commit" in query["sql"] for query in queries) for queries in (alone, inside)] == [True, False]
