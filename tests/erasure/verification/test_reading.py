import pytest
from django.db import DatabaseError, connection, transaction

from memadmin.erasure.verification.reading import reading_only
from memadmin.store.models import LongTermMemory
from tests.factories import make_container, make_memory

pytestmark = pytest.mark.django_db


def test_the_database_refuses_a_look_to_write_and_nobody_else():
    memory = make_memory(make_container())
    if connection.vendor == "sqlite":
        pytest.skip("SQLite refuses a whole connection or nothing")

    with pytest.raises(DatabaseError, match="read-only"), transaction.atomic(), reading_only():
        LongTermMemory.objects.filter(pk=memory.pk).update(text="written")

    LongTermMemory.objects.filter(pk=memory.pk).update(text="written afterwards")
    assert LongTermMemory.objects.get().text == "written afterwards"


def test_a_look_reads_inside():
    memory = make_memory(make_container())

    with reading_only():
        assert LongTermMemory.objects.get().pk == memory.pk
