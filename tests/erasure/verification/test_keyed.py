import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.erasure.planting import plant_person
from memadmin.erasure.verification.keyed import columns_with, rows_with
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.rows import Stretch, behind_last
from memadmin.erasure.verification.schema import Holds, tables
from memadmin.store.models import LongTermMemory
from tests.factories import ACTOR, NOON, make_container, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    return plant_person(make_container(), "user1", actor=ACTOR, now=NOON).subject


def found(probes, stretches=None):
    columns = columns_with(stretches or {table: Stretch() for table in tables()}, probes)
    return {f"{table}.{column}" for table, some in columns.items() for column in some}


def names_of(*memories):
    keys = ", ".join(str(memory.pk) for memory in memories)
    return f"SELECT uid FROM store_longtermmemory WHERE id IN ({keys})"


def test_a_user_is_found_in_every_column_that_has_the_key(person):
    columns = found(Probes(subjects=(person.pk,)))

    assert columns >= {f"store_{name}.subject_id" for name in ("session", "workingmemory", "longtermmemory", "historyentry", "pin")}
    assert found(Probes(subjects=(person.pk + 1000,))) == set()


def test_a_name_is_found_in_every_column_that_says_it(person):
    memory = LongTermMemory.objects.get(subject=person)

    columns = found(Probes(names=names_of(memory)))

    assert columns >= {"store_longtermmemory.uid", "store_historyentry.memory_uid", "store_provenance.derived_uid", "store_pin.target_uid"}
    assert not any(column.startswith("store_session.") for column in columns)


def test_all_columns_of_the_database_are_asked_in_two_statements(person):
    every = {table: Stretch() for table in tables()}
    probes = Probes(subjects=(person.pk,), names=names_of(LongTermMemory.objects.get(subject=person)))

    with CaptureQueriesContext(connection) as queries:
        columns_with(every, probes)

    assert len(queries) == 2
    assert sum(len(table.holding(Holds.SUBJECT, Holds.NAME)) for table in every) > 40


def test_rows_before_a_stretch_are_not_looked_at(person):
    table = next(each for each in tables() if each.name == "store_longtermmemory")
    behind, old = behind_last([table])[table.name], LongTermMemory.objects.get(subject=person)
    new = make_memory(person.container, "later", user_id="user2")

    assert found(Probes(subjects=(person.pk,), names=names_of(old)), {table: behind}) == set()
    assert found(Probes(names=names_of(new)), {table: behind}) == {"store_longtermmemory.uid"}


def test_the_rows_are_those_that_have_it(person):
    table = next(each for each in tables() if each.name == "store_longtermmemory")
    one, other = (make_memory(person.container, text, user_id="user2") for text in ("one", "other"))

    rows = {hit.key for hit in rows_with(table, "uid", Probes(names=names_of(one, other)), Stretch())}

    assert rows == {(one.pk,), (other.pk,)}
