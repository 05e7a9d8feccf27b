import pytest

from memadmin.erasure.verification import rows
from memadmin.erasure.verification.rows import Stretch, behind_last, long_ones, next_stretch, rows_in, rows_of
from memadmin.erasure.verification.schema import tables
from memadmin.store.models import LongTermMemory
from tests.factories import make_container, make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def memories():
    container = make_container()
    return [make_memory(container, f"number {number}") for number in range(5)]


def table_of(name):
    return next(each for each in tables() if each.name == name)


def test_stretches_follow_each_other_to_the_last_row(memories, monkeypatch):
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 2)
    table, found, after = table_of("store_longtermmemory"), [], None
    for _ in range(3):
        stretch = next_stretch(table, after)
        found.append({key for (key,) in rows_in(table, stretch, (), tests=())})
        after = stretch.upto

    assert found == [{row.pk for row in part} for part in (memories[:2], memories[2:4], memories[4:])]
    assert after is None


@pytest.mark.parametrize(("at_once", "long"), [(4, {"store_longtermmemory"}), (5, set())])
def test_a_table_of_more_than_one_stretch_is_long(memories, monkeypatch, at_once, long):
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", at_once)

    assert long_ones([table_of("store_longtermmemory"), table_of("store_pin")]) == long


def test_what_is_added_from_now_on_lies_behind_the_last_key(memories):
    table = table_of("store_longtermmemory")
    behind = behind_last([table, table_of("store_pin"), table_of("django_session")])
    new = make_memory(memories[0].container, "later")

    assert [key for (key,) in rows_in(table, behind[table.name], (), tests=())] == [new.pk]
    assert (behind["store_pin"], behind["django_session"]) == (Stretch(), Stretch())  # no row yet; and keys that do not grow


def test_any_number_of_rows_says_what_it_says_some_at_a_time(memories, monkeypatch):
    monkeypatch.setattr(rows, "FETCHED_AT_ONCE", 2)
    keys = [(row.pk,) for row in memories[1:]]

    said = dict(rows_of(table_of("store_longtermmemory"), keys, ["text"]))

    assert said == {row.pk: row.text for row in LongTermMemory.objects.filter(pk__in=[key for (key,) in keys])}
