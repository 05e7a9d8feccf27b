from uuid import uuid4

import pytest
from django.db import connection

from memadmin.store.models import LongTermMemory, Session, WorkingMemory
from memadmin.store.querysets import with_uids
from tests.factories import a_memory, a_session, make_container, store, subject_of

pytestmark = pytest.mark.django_db


def test_rows_are_found_among_any_number_of_names():
    container = make_container()
    store(container, *(a_memory(f"number {number}", user_id="ann") for number in range(3)))
    first, second, _ = LongTermMemory.objects.order_by("pk")

    named = with_uids(LongTermMemory, [first.uid, second.uid, *(uuid4() for _ in range(3000))])

    assert set(named.select_related("subject").exclude(text="number 1")) == {first}
    assert not LongTermMemory.objects.with_uids([]).exists()


def test_sessions_are_found_by_pairs_and_not_by_each_combination_of_them():
    container = make_container()
    for user in ("ann", "bob"):
        store(container, *(a_session(name, user_id=user) for name in ("one", "two")))
    ann, bob = (subject_of(container, user).pk for user in ("ann", "bob"))

    found = Session.objects.named([(ann, "one"), (bob, "two"), (bob, None)])

    assert set(found.values_list("subject__user_id", "external_id")) == {("ann", "one"), ("bob", "two")}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite goes from the names to the rows, whatever it knows of the table")
@pytest.mark.parametrize("rows", [with_uids(WorkingMemory, [uuid4()]), Session.objects.named([(1, "one")])], ids=["uids", "pairs"])
def test_a_table_that_is_wrongly_taken_for_empty_is_gone_through_once_and_not_once_for_each_of_its_rows(rows):
    assert rows.explain().count(" on store_") == 1
