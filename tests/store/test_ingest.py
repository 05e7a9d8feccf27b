import uuid
from datetime import timedelta

import pytest

from memadmin.store import archive, ingest
from memadmin.store.identity import item_uid
from memadmin.store.intake import IncomingArchived, IncomingUser, Source
from memadmin.store.models import (
    Archived,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Pin,
    Provenance,
    Session,
    Subject,
    TimeNote,
    WorkingMemory,
)
from tests.factories import NOON, a_change, a_memory, a_message, a_pin, a_session, days, make_container, store, subject_of

pytestmark = pytest.mark.django_db


def test_a_batch_is_stored_with_its_links_and_counters():
    container = make_container()
    source = Source(item_type=ItemType.SESSION, uid=item_uid(container.uid, ItemType.SESSION, "ann", "s-1"))

    written = store(container, a_session(), a_message(), a_memory("likes tea", tokens=7, sources=(source,)), a_change())

    ann = subject_of(container)
    assert written.new == {"sessions": 1, "working": 1, "long-term": 1, "history": 1}
    assert (ann.sessions, ann.working, ann.messages, ann.long_term, ann.tokens, ann.history) == (1, 1, 1, 1, 7, 1)
    assert WorkingMemory.objects.get().session == Session.objects.get()
    assert Provenance.objects.get().source_uid == Session.objects.get().uid == source.uid


def test_the_same_items_again_add_nothing():
    container = make_container()
    batch = [a_session(), a_message(external_id="m-1"), a_memory(external_id="f-1"), a_change(external_id="h-1")]
    store(container, *batch)
    before = Session.objects.values().get(), WorkingMemory.objects.values().get(), LongTermMemory.objects.values().get()

    written = store(container, *batch)

    assert (written.new.total(), written.changed.total()) == (0, 0)
    assert written.unchanged == {"sessions": 1, "working": 1, "long-term": 1, "history": 1}
    assert before == (Session.objects.values().get(), WorkingMemory.objects.values().get(), LongTermMemory.objects.values().get())
    assert HistoryEntry.objects.count() == 1


def test_an_item_twice_in_one_batch_is_one_item_and_one_repeat():
    container = make_container()

    written = store(container, a_memory(external_id="f-1"), a_memory(external_id="f-1"))

    assert (written.new["long-term"], written.unchanged["long-term"]) == (1, 1)
    assert subject_of(container).long_term == 1


def test_a_memory_that_comes_back_with_other_text_is_changed_and_its_history_says_so():
    container = make_container()
    store(container, a_memory("likes tea", external_id="f-1", hits=4, importance=0.9, pin=a_pin(), tokens=3))

    written = store(container, a_memory("likes coffee", external_id="f-1", tokens=5))

    memory = LongTermMemory.objects.get()
    assert written.changed["long-term"] == 1
    assert (memory.text, memory.revision, memory.tokens) == ("likes coffee", 2, 5)
    assert (memory.hits, memory.importance, memory.pinned) == (4, 0.9, True)
    change = HistoryEntry.objects.get()
    assert (change.action, change.before, change.after) == ("UPDATE", {"memory": "likes tea"}, {"memory": "likes coffee"})
    assert (subject_of(container).tokens, subject_of(container).history) == (5, 1)


def test_new_messages_make_a_session_young_and_old_ones_do_not_make_it_old():
    container = make_container()
    store(container, a_session(days_old=30))

    store(container, a_message(created_at=NOON - days(2)), a_message(created_at=NOON - days(90)))

    assert Session.objects.get().last_updated_at == NOON - days(2)
    assert Session.objects.get().revision == 2


def test_a_message_makes_its_session_when_that_is_missing():
    container = make_container()

    written = store(container, a_message(session_ref="s-9"))

    assert written.new["sessions"] == 1
    assert Session.objects.get().external_id == "s-9"
    assert subject_of(container).sessions == 1


def test_a_message_without_a_session_stays_visible_without_one():
    container = make_container()

    store(container, a_message(session_ref=None))

    assert WorkingMemory.objects.get().session is None
    assert Session.objects.count() == 0


def test_one_session_id_of_two_users_is_two_sessions():
    container = make_container()

    store(container, a_message("my pin is 0000", user_id="ann", session_ref="main"), a_message("hello", user_id="bob", session_ref="main"))

    of_bob = Session.objects.get(subject__user_id="bob")
    assert [memory.messages[0]["content"] for memory in WorkingMemory.objects.of_session(of_bob)] == ["hello"]


def test_a_session_given_twice_takes_the_earliest_creation_and_the_latest_change():
    container = make_container()

    store(container, a_session(days_old=3, last_updated_at=NOON - days(2)), a_session(days_old=5, last_updated_at=NOON - days(1)))

    session = Session.objects.get()
    assert (session.created_at, session.last_updated_at) == (NOON - days(5), NOON - days(1))


def test_a_session_that_arrives_again_without_details_keeps_what_it_has():
    container = make_container()
    store(container, a_session(summary="about tea", metadata={"title": "Tea"}))

    written = store(container, a_session())

    session = Session.objects.get()
    assert (session.summary, session.metadata, written.unchanged["sessions"]) == ("about tea", {"title": "Tea"}, 1)


def test_a_pin_at_arrival_has_a_row_a_flag_and_a_count():
    container = make_container()

    store(container, a_memory("penicillin allergy", pin=a_pin("health")), a_session(pin=a_pin("dispute")))

    ann = subject_of(container)
    assert (ann.pinned_long_term, ann.pinned_sessions) == (1, 1)
    assert set(Pin.objects.values_list("target_type", "reason")) == {("long-term", "health"), ("sessions", "dispute")}
    assert (LongTermMemory.objects.get().pinned, Session.objects.get().pinned) == (True, True)


def test_no_user_and_the_empty_user_are_two_subjects():
    container = make_container()

    store(container, a_memory(user_id=None), a_memory(user_id=""))

    assert set(Subject.objects.values_list("user_id", flat=True)) == {None, ""}
    assert Subject.objects.of_container(container).attributed().count() == 1


@pytest.mark.parametrize(
    "pair",
    [("Ann", "ann"), (" Jason ", "Jason"), ("john_doe", "john-doe"), ("Al\N{LATIN SMALL LETTER DOTLESS I}ce", "Alice"), ("a%2Fb", "a/b")],
)
def test_ids_that_only_look_alike_are_two_users(pair):
    container = make_container()

    store(container, *(a_memory(user_id=user_id) for user_id in pair))

    assert sorted(Subject.objects.values_list("user_id", flat=True)) == sorted(pair)
    assert list(Subject.objects.values_list("long_term", flat=True)) == [1, 1]


def test_a_user_without_memories_can_be_stored():
    container = make_container()

    store(container, IncomingUser(user_id="ann"))

    assert subject_of(container).long_term == 0


def test_missing_times_stay_missing():
    container = make_container()

    store(container, a_memory(created_at=None), a_message(created_at=None))

    memory, session = LongTermMemory.objects.get(), Session.objects.get()
    assert (memory.created_at, memory.last_updated_at, session.created_at, session.last_updated_at) == (None, None, None, None)
    assert memory.stored_at == NOON


def test_what_a_time_assumed_is_kept():
    container = make_container()

    store(container, a_memory(time_note=TimeNote.ZONE_ASSUMED))

    assert LongTermMemory.objects.get().time_note == TimeNote.ZONE_ASSUMED


def test_tokens_and_importance_have_a_source():
    container = make_container()

    store(container, a_memory("12345678"), a_memory("x", tokens=9, importance=0.8, importance_source="rule:health"))

    rows = LongTermMemory.objects.order_by("id").values_list("tokens", "tokens_method", "importance", "importance_source")
    assert list(rows) == [(2, "estimate", 0.5, "default"), (9, "source", 0.8, "rule:health")]


@pytest.mark.parametrize(
    "metadata",
    [None, "text", [], {"a": None}, {"a.b": 1}, {"big": 18446744073709551617}, {"deep": [[[[[1]]]]]}],
    ids=lambda value: str(value)[:20],
)
def test_any_json_is_given_back_as_it_came(metadata):
    container = make_container()

    store(container, a_memory(metadata=metadata, external_id="f-1"))

    assert LongTermMemory.objects.get().metadata == metadata
    assert store(container, a_memory(metadata=metadata, external_id="f-1")).unchanged["long-term"] == 1
    store(container, a_memory(metadata={"other": 1}, external_id="f-1"), a_memory(metadata=metadata, external_id="f-1"))
    assert LongTermMemory.objects.get().metadata == metadata


def test_a_uid_that_stands_for_something_of_another_user_is_refused():
    container, uid = make_container(), uuid.uuid4()
    store(container, a_memory(uid=uid, user_id="ann"))

    with pytest.raises(ingest.UidTaken):
        store(container, a_memory(uid=uid, user_id="bob"))
    with pytest.raises(ingest.UidTaken):
        store(make_container("other"), a_memory(uid=uid, user_id="ann"))
    with pytest.raises(ingest.UidTaken):
        store(container, *(a_memory(uid=uuid.UUID(int=1), user_id=user) for user in ("ann", "bob")))
    with pytest.raises(ingest.UidTaken):
        store(container, *(a_session(uid=uuid.UUID(int=2), user_id=user) for user in ("ann", "bob")))

    assert LongTermMemory.objects.count() == 1


def test_a_refused_row_takes_the_whole_batch_back():
    container = make_container()

    with pytest.raises(Exception, match="importance"):
        store(container, a_memory("fine"), a_memory("not fine", importance=7.0))

    assert LongTermMemory.objects.count() == 0


def test_a_later_source_of_a_known_memory_is_added():
    container = make_container()
    first, second = (Source(item_type=ItemType.WORKING, uid=uuid.uuid4()) for _ in range(2))
    store(container, a_memory(external_id="f-1", sources=(first,)))

    store(container, a_memory(external_id="f-1", sources=(first, second)))

    assert set(Provenance.objects.values_list("source_uid", flat=True)) == {first.uid, second.uid}


def test_changed_messages_move_the_message_count():
    container = make_container()
    store(container, a_message(external_id="m-1"))
    longer = a_message(external_id="m-1", messages=[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])

    written = store(container, longer, now=NOON + timedelta(hours=1))

    assert written.changed["working"] == 1
    assert (subject_of(container).messages, WorkingMemory.objects.get().message_count) == (2, 2)


def test_a_working_memory_whose_session_has_gone_does_not_bring_it_back():
    container = make_container()

    store(container, a_message(session_ref="gone", session_gone=True), a_message(session_ref="here"))

    assert set(WorkingMemory.objects.values_list("session_ref", "session__external_id")) == {("gone", None), ("here", "here")}
    assert subject_of(container).sessions == 1


def test_an_archived_copy_goes_into_the_archive_once_and_can_be_restored():
    container = make_container()
    memory = a_memory("likes tea", external_id="f-1", tokens=7, hits=3)
    session, said = a_session("s-1"), (a_message(external_id="m-1"),)
    copies = [
        IncomingArchived(user_id="ann", item=memory, reason="ttl", archived_at=NOON),
        IncomingArchived(user_id="ann", item=session, working=said, reason="age", archived_at=NOON, run_number=4),
    ]

    first, second = store(container, *copies), store(container, *copies)

    assert (first.new["archived"], second.new["archived"], second.unchanged["archived"]) == (2, 0, 2)
    ann = subject_of(container)
    assert (ann.archived, ann.long_term, ann.sessions, ann.tokens) == (2, 0, 0, 0)
    assert set(Archived.objects.values_list("item_type", "reason", "run_number")) == {("long-term", "ttl", None), ("sessions", "age", 4)}

    archive.restore(list(Archived.objects.values_list("id", flat=True)), now=NOON)

    ann = subject_of(container)
    assert (ann.archived, ann.long_term, ann.sessions, ann.working, ann.messages, ann.tokens) == (0, 1, 1, 1, 1, 7)
    assert LongTermMemory.objects.values_list("text", "hits", "uid").get() == (
        "likes tea",
        3,
        item_uid(container.uid, ItemType.LONG_TERM, "ann", "f-1"),
    )


def test_a_backup_brings_its_pins_back():
    container = make_container()
    store(container, a_memory(external_id="f-1"))

    store(container, a_memory(external_id="f-1", pin=a_pin("allergy")))

    assert (LongTermMemory.objects.get().pinned, Pin.objects.get().reason, subject_of(container).pinned_long_term) == (True, "allergy", 1)


def test_a_backup_brings_the_pins_of_sessions_back_and_keeps_one_that_stands():
    container = make_container()
    store(container, a_session("s-1"), a_session("s-2", pin=a_pin("dispute")))

    store(container, a_session("s-1", pin=a_pin("complaint")), a_session("s-2", pin=a_pin("something else")))

    assert set(Pin.objects.values_list("reason", flat=True)) == {"complaint", "dispute"}
    assert (Session.objects.filter(pinned=True).count(), subject_of(container).pinned_sessions) == (2, 2)
