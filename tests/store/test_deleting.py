import pytest

from memadmin.audit.models import AuditEntry
from memadmin.store import deleting, pinning
from memadmin.store.check import check
from memadmin.store.models import Container, HistoryEntry, ItemType, LongTermMemory, Pin, Session, WorkingMemory
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, make_container, make_memory, make_session, store, subject_of

pytestmark = pytest.mark.django_db


def test_a_pinned_memory_goes_with_its_pin_when_it_is_asked_for_and_the_log_says_that_it_was_pinned():
    container = make_container()
    memory, neighbour = make_memory(container, tokens=3), make_memory(container, tokens=4)
    pinning.pin(memory, reason="allergy", actor=ACTOR, now=NOON)

    deleting.delete_item(ItemType.LONG_TERM, memory, actor=ACTOR, now=NOON)

    assert list(LongTermMemory.objects.all()) == [neighbour]
    assert not Pin.objects.exists()
    ann = subject_of(container)
    assert (ann.long_term, ann.pinned_long_term, ann.tokens) == (1, 0, 4)
    entry = AuditEntry.objects.get(action="item.deleted")
    assert (entry.target, entry.counts) == (f"long-term/{memory.uid}", {"pinned": 1})
    assert list(check()) == []


@pytest.mark.parametrize(("item_type", "model"), [(ItemType.SESSION, Session), (ItemType.LONG_TERM, LongTermMemory)])
def test_what_is_held_stays(item_type, model):
    container = make_container()
    make_session(container), make_memory(container)
    model.objects.update(held=True)

    with pytest.raises(deleting.Held):
        deleting.delete_item(item_type, model.objects.get(), actor=ACTOR, now=NOON)

    assert model.objects.exists()
    assert not AuditEntry.objects.filter(action="item.deleted").exists()


def test_d21_the_messages_of_a_deleted_session_stay_without_it():
    container = make_container()
    session = make_session(container, "s-1", messages=2)

    deleting.delete_item(ItemType.SESSION, session, actor=ACTOR, now=NOON)

    assert set(WorkingMemory.objects.values_list("session_id", "session_ref")) == {(None, "s-1")}
    ann = subject_of(container)
    assert (ann.sessions, ann.working, ann.messages) == (0, 2, 2)


def test_a_query_deletes_what_it_found_and_is_one_entry_in_the_log():
    container = make_container()
    store(container, a_message("one", messages=[{"role": "user", "content": "a"}] * 3), a_message("two"), a_change())
    ids = list(WorkingMemory.objects.values_list("id", flat=True))

    gone = deleting.delete_items(container, ItemType.WORKING, [*ids, 999_999], actor=ACTOR, now=NOON)

    assert gone.items == 2
    assert (subject_of(container).working, subject_of(container).messages) == (0, 0)
    assert AuditEntry.objects.get(action="items.deleted").counts == {"asked": 3, "deleted": 2, "pinned": 0}
    assert list(check()) == []


def test_many_rows_go_in_batches(monkeypatch):
    monkeypatch.setattr(deleting, "AT_ONCE", 2)
    container = make_container()
    store(container, *(a_memory(f"fact {number}") for number in range(5)))

    gone = deleting.delete_items(
        container, ItemType.LONG_TERM, list(LongTermMemory.objects.values_list("id", flat=True)), actor=ACTOR, now=NOON
    )

    assert gone.items == 5
    assert subject_of(container).long_term == 0


def test_a_deleted_container_leaves_its_memories_unless_they_are_named():
    container, other = make_container("gone", external_id="c1"), make_container("other")
    for each in (container, other):
        store(each, a_message(), a_memory(), a_change())

    deleting.delete_container(container, with_memories=[ItemType.WORKING, ItemType.HISTORY], actor=ACTOR, now=NOON)

    assert list(Container.objects.standing()) == [other]
    left = {
        model.__name__: model.objects.filter(container=container).count()
        for model in (Session, WorkingMemory, LongTermMemory, HistoryEntry)
    }
    assert left == {"Session": 1, "WorkingMemory": 0, "LongTermMemory": 1, "HistoryEntry": 0}
    assert WorkingMemory.objects.filter(container=other).count() == 1
    assert container.external_id is None
    assert list(check()) == []


def test_a_container_is_deleted_once():
    container = make_container()
    deleting.delete_container(container, with_memories=[], actor=ACTOR, now=NOON)

    with pytest.raises(deleting.Gone):
        deleting.delete_container(container, with_memories=[], actor=ACTOR, now=NOON)
