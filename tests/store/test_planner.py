"""What PostgreSQL believes of a table that it found empty."""

import pytest
from django.db import connection

from memadmin.store import planner
from memadmin.store.models import LongTermMemory, Session
from tests.factories import a_memory, make_container, store

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite plans by its indexes alone"),
]


def believed_rows_of(model):
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table])
        return cursor.fetchone()[0]


def test_a_table_that_was_filled_since_it_was_found_empty_is_looked_at_again():
    planner.look_anew(LongTermMemory)
    assert believed_rows_of(LongTermMemory) == 0
    store(make_container(), *(a_memory(f"number {number}") for number in range(7)))

    planner.look_at_wrongly_empty(LongTermMemory, Session)

    assert believed_rows_of(LongTermMemory) == 7


def test_any_other_statistics_stay_as_they_are():
    container = make_container()
    store(container, a_memory("one"))
    planner.look_anew(LongTermMemory)
    store(container, a_memory("two"))

    planner.look_at_wrongly_empty(LongTermMemory)

    assert believed_rows_of(LongTermMemory) == 1
