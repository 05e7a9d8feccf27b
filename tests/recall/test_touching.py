import logging
import threading
import time

import pytest
from django.db import DatabaseError, connection, transaction

from memadmin.recall import touching
from memadmin.recall.touching import MOST_HITS, touch
from memadmin.store.models import LongTermMemory
from tests.factories import NOON, days, make_container, make_memory


@pytest.mark.django_db
def test_each_memory_gets_one_hit_for_a_request_and_nothing_else_changes():
    container = make_container()
    read, other = make_memory(container, "likes tea"), make_memory(container, "likes coffee")

    noted = touch([read.pk, read.pk], now=NOON)

    after = LongTermMemory.objects.get(pk=read.pk)
    assert (noted, after.hits, after.last_accessed_at) == (1, 1, NOON)
    assert (after.revision, after.last_updated_at) == (read.revision, read.last_updated_at)
    assert LongTermMemory.objects.get(pk=other.pk).hits == 0


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
def test_a_database_that_refuses_costs_the_note_and_not_the_read(monkeypatch, caplog):
    memory = make_memory(make_container(), "secret text")

    def refuse(ids, *, now):
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
            done.wait(10)
        connection.close()

    writer = threading.Thread(target=hold)
    writer.start()
    held.wait(10)
    began = time.monotonic()
    noted = touch([memory.pk], now=NOON)
    took = time.monotonic() - began
    done.set()
    writer.join()

    assert noted == 0
    assert took < 5
    assert touch([memory.pk], now=NOON) == 1
