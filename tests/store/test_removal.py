import uuid

import pytest
from django.db import connection
from django.utils.dateparse import parse_datetime

from memadmin.store import archive, pinning, removal
from memadmin.store.models import Archived, HistoryEntry, LongTermMemory, Session, WorkingMemory
from memadmin.store.removal import ArchiveNote, Chosen
from tests.factories import ACTOR, NOON, a_change, days, make_container, make_memory, make_session, store, subject_of

pytestmark = pytest.mark.django_db
NOTE = ArchiveNote(run_number=7, now=NOON, expires_at=NOON + days(30))
BOTH_WAYS = pytest.mark.parametrize("note", [NOTE, None], ids=["archived", "at once"])


def chosen(*rows):
    """The rows as they are now, as a plan would have recorded them."""
    text = "varchar" if connection.vendor == "sqlite" else "timestamptz"
    selects, parameters = [], []
    for row in rows:
        seen = getattr(row, "last_accessed_at", None)
        selects.append(f"SELECT %s AS id, %s AS subject_id, %s AS revision, CAST(%s AS {text}) AS last_accessed_at, 'age' AS reason")
        parameters += [row.pk, row.subject_id, row.revision, connection.ops.adapt_datetimefield_value(seen)]
    return Chosen(" UNION ALL ".join(selects), parameters)


@BOTH_WAYS
def test_chosen_memories_go_and_their_neighbours_stay(note):
    container = make_container()
    going, staying = make_memory(container, tokens=10), make_memory(container, tokens=4)

    removed = removal.remove_long_term(chosen(going), archive=note)

    assert (removed.items, removed.tokens) == (1, 10)
    assert list(LongTermMemory.objects.all()) == [staying]
    ann = subject_of(container)
    assert (ann.long_term, ann.tokens, ann.archived) == (1, 4, 1 if note else 0)
    assert Archived.objects.count() == (1 if note else 0)


@BOTH_WAYS
def test_a_pin_since_the_choice_saves_a_memory(note):
    memory = make_memory(make_container())
    choice = chosen(memory)
    pinning.pin(memory, reason="allergy", actor=ACTOR, now=NOON)

    assert removal.remove_long_term(choice, archive=note).items == 0

    assert LongTermMemory.objects.count() == 1
    assert Archived.objects.count() == 0


@BOTH_WAYS
@pytest.mark.parametrize("change", [{"held": True}, {"revision": 2}, {"last_accessed_at": NOON}], ids=["held", "changed", "read"])
def test_a_memory_that_is_not_as_it_was_when_chosen_stays(note, change):
    memory = make_memory(make_container())
    choice = chosen(memory)
    LongTermMemory.objects.update(**change)

    assert removal.remove_long_term(choice, archive=note).items == 0
    assert LongTermMemory.objects.count() == 1


@BOTH_WAYS
def test_a_choice_carried_out_twice_removes_once(note):
    container = make_container()
    choice = chosen(make_memory(container))

    first, second = (removal.remove_long_term(choice, archive=note).items for _ in range(2))

    assert (first, second) == (1, 0)
    assert subject_of(container).long_term == 0


def test_a_session_takes_its_messages_along_into_one_copy():
    container = make_container()
    session, other = make_session(container, "s-1", messages=3), make_session(container, "s-2", messages=2)

    removed = removal.remove_sessions(chosen(session), archive=NOTE)

    assert (removed.items, removed.working, removed.messages) == (1, 3, 3)
    assert list(Session.objects.all()) == [other]
    assert WorkingMemory.objects.count() == 2
    assert len(archive.unpack(Archived.objects.get().payload)["working"]) == 3
    ann = subject_of(container)
    assert (ann.sessions, ann.working, ann.messages, ann.archived) == (1, 2, 2, 1)


def test_a_session_with_a_new_message_since_the_choice_stays_whole():
    container = make_container()
    session = make_session(container, messages=1)
    choice = chosen(session)
    make_session(container, messages=2)

    assert removal.remove_sessions(choice, archive=None).items == 0
    assert WorkingMemory.objects.count() == 3


def test_history_goes_without_a_copy():
    container = make_container()
    store(container, a_change(), a_change())

    removed = removal.remove_history(chosen(*HistoryEntry.objects.all()))

    assert removed.items == 2
    assert subject_of(container).history == 0


def test_archived_copies_can_be_removed_for_good():
    container = make_container()
    removal.remove_long_term(chosen(make_memory(container)), archive=NOTE)

    assert removal.remove_archived(list(Archived.objects.values_list("id", flat=True))) == 1
    assert subject_of(container).archived == 0


def test_a_restored_memory_is_the_same_memory():
    container = make_container()
    memory = make_memory(
        container,
        "likes tea",
        external_id="f-1",
        hits=5,
        importance=0.7,
        last_accessed_at=NOON,
        tags={"topic": "drinks"},
        metadata={"n": 2**70},
    )
    before = LongTermMemory.objects.values().get()
    removal.remove_long_term(chosen(memory), archive=NOTE)

    restored = archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    after = LongTermMemory.objects.values().get()
    assert restored.items == 1
    assert {**after, "id": 0} == {**before, "id": 0}
    ann = subject_of(container)
    assert (ann.long_term, ann.archived, Archived.objects.count()) == (1, 0, 0)


def test_a_restored_session_has_its_messages_in_order():
    container = make_container()
    session = make_session(container, messages=3)
    removal.remove_sessions(chosen(session), archive=NOTE)

    archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    back = Session.objects.get()
    texts = [memory.messages[0]["content"] for memory in WorkingMemory.objects.of_session(back).in_order()]
    assert (back.uid, texts) == (session.uid, ["message 0", "message 1", "message 2"])
    ann = subject_of(container)
    assert (ann.sessions, ann.working, ann.messages, ann.archived) == (1, 3, 3, 0)


def test_a_memory_that_has_come_back_by_itself_is_not_restored_over():
    container = make_container()
    memory = make_memory(container, "old", external_id="f-1")
    removal.remove_long_term(chosen(memory), archive=NOTE)
    make_memory(container, "new", external_id="f-1")

    restored = archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    assert (restored.items, restored.already_there) == (0, 1)
    assert LongTermMemory.objects.get().text == "new"
    assert subject_of(container).archived == 1


def test_a_second_eviction_of_the_same_memory_replaces_its_copy():
    container = make_container()
    removal.remove_long_term(chosen(make_memory(container, "old", external_id="f-1")), archive=NOTE)
    again = make_memory(container, "new", external_id="f-1")

    removal.remove_long_term(chosen(again), archive=NOTE)

    assert archive.unpack(Archived.objects.get().payload)["row"]["text"] == "new"
    assert subject_of(container).archived == 1


def test_the_database_packs_what_python_packs():
    details = {"metadata": {"a": [1.5, None, 'ü\\"\n\u2028'], "ключ": True}, "parts": [{"text": "x"}], "tags": {}, "importance": 0.1}
    memory = make_memory(make_container(), "Ä 😀 \t\\ 'quoted' {%s}", last_accessed_at=NOON.replace(microsecond=120), hits=3, **details)
    row = LongTermMemory.objects.values().get()

    removal.remove_long_term(chosen(memory), archive=NOTE)

    def moments(body):
        return {name: parse_datetime(value) if name.endswith("_at") and value else value for name, value in body["row"].items()}

    packed = archive.unpack(Archived.objects.get().payload)
    assert moments(packed) == moments(archive.unpack(archive.pack(row)))
    assert packed["working"] == []


def test_times_survive_the_archive_to_the_microsecond():
    container = make_container()
    exact = NOON.replace(microsecond=123457)
    memory = make_memory(container, created_at=exact)
    removal.remove_long_term(chosen(memory), archive=NOTE)

    archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    assert LongTermMemory.objects.get().created_at == exact


def test_a_session_that_is_back_under_another_uid_is_not_restored_over():
    container = make_container()
    session = make_session(container, "s-1", uid=uuid.uuid4())
    removal.remove_sessions(chosen(session), archive=NOTE)
    make_session(container, "s-1", messages=1)

    restored = archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    assert (restored.items, restored.already_there) == (0, 1)
    assert Session.objects.count() == 1
