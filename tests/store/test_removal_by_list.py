from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.store import pinning
from memadmin.store.check import check
from memadmin.store.models import HistoryEntry, Hold, HoldKind, ItemType, LongTermMemory, Pin, Provenance, Session, WorkingMemory
from memadmin.store.removal_by_list import Listed, remover_of, remover_of_links
from tests.factories import ACTOR, NOON, a_change, a_message, make_container, make_memory, make_session, store, subject_of
from tests.holds import hold

pytestmark = pytest.mark.django_db
LATER = datetime(2999, 1, 1, tzinfo=UTC)  # rows get the database's own time


@pytest.fixture
def container():
    return make_container()


def listed(*rows, of=None):
    """Name these rows, as rows of the user who has them, or of another one."""
    selects = ["SELECT CAST(%s AS bigint) AS key, CAST(%s AS bigint) AS subject_id"] * len(rows)
    keys, users = [row.pk for row in rows], {of or row.subject_id for row in rows}
    named = [part for row in rows for part in (row.pk, of or row.subject_id)]
    return Listed(" UNION ALL ".join(selects), named, min(keys), max(keys), sorted(users), length=len(rows))


def test_what_is_listed_goes_with_its_pins_and_counters_and_its_neighbours_stay(container):
    pinned, plain, staying = make_memory(container, tokens=10), make_memory(container, tokens=5), make_memory(container, tokens=4)
    pinning.pin(pinned, reason="allergy", actor=ACTOR, now=NOON)

    assert remover_of(ItemType.LONG_TERM)(listed(pinned, plain)) == 2

    assert list(LongTermMemory.objects.all()) == [staying]
    assert Pin.objects.count() == 0
    ann = subject_of(container)
    assert (ann.long_term, ann.tokens, ann.pinned_long_term) == (1, 4, 0)
    assert list(check()) == []


def test_messages_and_history_are_counted_out_for_each_user(container):
    store(container, a_message("hello", user_id="ann"), a_message("bye", user_id="bob"), a_change(user_id="bob"))

    gone = [
        remover_of(ItemType.WORKING)(listed(*WorkingMemory.objects.all())),
        remover_of(ItemType.HISTORY)(listed(*HistoryEntry.objects.all())),
    ]

    assert gone == [2, 1]
    assert [subject_of(container, user).messages for user in ("ann", "bob")] == [0, 0]
    assert list(check()) == []


def test_rows_that_are_only_counted_are_not_given_out_whatever_else_of_the_user_is_pinned(container):
    store(container, a_change(), a_change())
    pinning.pin(make_memory(container), reason="allergy", actor=ACTOR, now=NOON)

    with CaptureQueriesContext(connection) as queries:
        assert remover_of(ItemType.HISTORY)(listed(*HistoryEntry.objects.all())) == 2

    assert [query["sql"] for query in queries if "RETURNING" in query["sql"]] == []
    assert list(check()) == []


@pytest.mark.parametrize("kind", [HoldKind.HOLD, HoldKind.RESTRICTION])
def test_what_is_held_or_restricted_is_left_for_whoever_asks_why(container, kind):
    held, free = make_memory(container), make_memory(container)
    hold(held, kind=kind)

    assert remover_of(ItemType.LONG_TERM)(listed(held, free)) == 1

    assert list(LongTermMemory.objects.all()) == [held]
    assert Hold.objects.count() == 1


def test_sessions_go_by_list_with_their_pins_and_leave_messages_that_stay(container):
    going, staying = make_session(container, "s1", messages=2), make_session(container, "s2")
    pinning.pin(going, reason="open complaint", actor=ACTOR, now=NOON)

    assert remover_of(ItemType.SESSION)(listed(going)) == 1

    assert list(Session.objects.all()) == [staying]
    assert [message.session_id for message in WorkingMemory.objects.all()] == [None, None]
    assert Pin.objects.count() == 0
    assert list(check()) == []


def test_rows_of_others_stay_whatever_a_list_says(container):
    anns, bobs = make_memory(container, user_id="ann"), make_memory(container, user_id="bob")
    names = replace(listed(anns, bobs, of=anns.subject_id), users=[anns.subject_id])

    assert remover_of(ItemType.LONG_TERM)(names) == 1
    assert list(LongTermMemory.objects.all()) == [bobs]
    assert list(check()) == []


def of_all(*rows, stored_by=LATER):
    return replace(listed(*rows), stored_by=stored_by)


@pytest.mark.parametrize("item_type", [ItemType.LONG_TERM, ItemType.HISTORY])
def test_a_list_of_all_rows_of_a_user_is_not_compared_row_by_row(container, item_type):
    store(container, a_change(), a_change())
    make_memory(container), make_memory(container)
    rows = remover_of(item_type), list({ItemType.LONG_TERM: LongTermMemory, ItemType.HISTORY: HistoryEntry}[item_type].objects.all())

    with CaptureQueriesContext(connection) as queries:
        assert rows[0](of_all(*rows[1])) == 2

    assert [query["sql"] for query in queries if "DELETE FROM" in query["sql"] and " AS key" in query["sql"]] == []
    assert list(check()) == []


def test_one_that_leaves_a_row_out_after_all_is_compared_and_spares_it(container):
    first, left_out, last = (make_memory(container, tokens=tokens) for tokens in (3, 5, 7))

    assert remover_of(ItemType.LONG_TERM)(of_all(first, last)) == 2

    assert list(LongTermMemory.objects.all()) == [left_out]
    assert (subject_of(container).long_term, subject_of(container).tokens) == (1, 5)
    assert list(check()) == []


def test_what_was_stored_later_than_a_list_of_all_rows_stays_between_its_keys(container):
    first, later, last = (make_memory(container) for _ in range(3))
    LongTermMemory.objects.exclude(pk=later.pk).update(stored_at=NOON)
    LongTermMemory.objects.filter(pk=later.pk).update(stored_at=NOON + timedelta(seconds=1))

    with CaptureQueriesContext(connection) as queries:
        assert remover_of(ItemType.LONG_TERM)(of_all(first, last, stored_by=NOON)) == 2

    assert list(LongTermMemory.objects.all()) == [later]
    assert [query["sql"] for query in queries if "DELETE FROM" in query["sql"] and " AS key" in query["sql"]] == []


@pytest.mark.parametrize("kind", [HoldKind.HOLD, HoldKind.RESTRICTION])
def test_a_list_of_all_rows_takes_no_held_one_and_none_of_others(container, kind):
    first, held, others, last = (
        make_memory(container),
        make_memory(container),
        make_memory(container, user_id="bob"),
        make_memory(container),
    )
    hold(held, kind=kind)

    assert remover_of(ItemType.LONG_TERM)(of_all(first, held, last)) == 2
    assert list(LongTermMemory.objects.order_by("pk")) == [held, others]
    assert list(check()) == []


def test_a_list_with_gaps_is_worked_off_like_one_without(container):
    memories = [make_memory(container) for _ in range(12)]
    ends = listed(memories[0], memories[-1])
    assert not ends.is_dense
    assert listed(*memories[1:3]).is_dense

    assert remover_of(ItemType.LONG_TERM)(ends) == 2
    assert list(LongTermMemory.objects.order_by("id")) == memories[1:-1]


def test_what_is_not_there_any_more_is_not_counted(container):
    gone = make_memory(container)
    names = listed(gone)
    remover_of(ItemType.LONG_TERM)(names)

    assert remover_of(ItemType.LONG_TERM)(names) == 0
    assert subject_of(container).long_term == 0


def test_links_go_by_list(container):
    memory = make_memory(container)
    link = Provenance.objects.create(
        derived_type="long-term",
        derived_uid=memory.uid,
        source_type="sessions",
        source_uid=container.uid,
        container=container,
        subject_id=memory.subject_id,
    )

    assert remover_of_links(Provenance)(listed(link)) == 1
    assert Provenance.objects.count() == 0
