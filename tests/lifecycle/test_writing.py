import pytest
from django.db import transaction

from memadmin.lifecycle import writing
from memadmin.store import pinning
from memadmin.store.check import check
from memadmin.store.models import HistoryEntry, Pin, Session, Subject, WorkingMemory
from tests.factories import ACTOR, NOON, a_memory, a_message, a_session, days, make_container, subject_of

pytestmark = pytest.mark.django_db


def add(container, text="hello", **details):
    return writing.add_working(container, a_message(text, **{"created_at": NOON, **details}), actor=ACTOR, now=NOON)


def open_session(container, name="s-1", **details):
    return writing.open_session(container, a_session(name, **details), actor=ACTOR, now=NOON)


def test_b3_a_session_that_is_there_stays_as_it_is():
    container = make_container()
    open_session(container, metadata={"a": 1})

    again = open_session(container, metadata={"b": 2})

    assert not again.is_new
    assert Session.objects.get().metadata == {"a": 1}


def test_session_ids_are_one_for_the_whole_container_and_not_for_several():
    container, other = make_container("a"), make_container("b")
    open_session(container, user_id="ann")

    assert not open_session(container, user_id="bob").is_new
    assert open_session(other, user_id="bob").is_new


def test_c4_a_payload_brings_the_session_that_it_names():
    container = make_container()

    memory = add(container, user_id="ann", session_ref="s-9", owner="ana", namespace={"user_id": "ann", "session_id": "s-9"})

    session = Session.objects.get()
    assert memory.session == session
    assert (session.external_id, session.owner, session.namespace) == ("s-9", "ana", {"user_id": "ann", "session_id": "s-9"})


def test_c7_a_payload_makes_its_session_young_and_changes_nothing_else():
    container = make_container()
    open_session(container, metadata={"a": 1}, days_old=90)

    add(container)

    session = Session.objects.get()
    assert (session.last_updated_at, session.metadata) == (NOON, {"a": 1})


def test_c9_a_session_that_the_payload_makes_is_written_once():
    add(make_container())

    assert Session.objects.get().revision == 1


def test_a_payload_that_names_no_user_belongs_to_the_user_of_its_session():
    container = make_container()
    open_session(container, user_id="ann")

    add(container, user_id=None)

    assert WorkingMemory.objects.get().subject == subject_of(container, "ann")
    assert not Subject.objects.filter(user_id=None).exists()


def test_a_session_of_nobody_becomes_the_first_named_users_with_messages_pin_and_counters():
    container = make_container()
    session = open_session(container, user_id=None).session
    add(container, user_id=None)
    pinning.pin(session, reason="allergy", actor=ACTOR, now=NOON)

    add(container, user_id="bob")

    bob, nobody = subject_of(container, "bob"), subject_of(container, None)
    assert Session.objects.get().subject == Pin.objects.get().subject == bob
    assert Session.objects.get().uid == session.uid
    assert (bob.sessions, bob.pinned_sessions, bob.working, bob.messages) == (1, 1, 2, 2)
    assert (nobody.sessions, nobody.pinned_sessions, nobody.working, nobody.messages) == (0, 0, 0, 0)
    assert list(check()) == []


def test_the_next_session_of_nobody_may_have_an_id_that_has_become_somebodys():
    container, other = make_container(), make_container("other")
    open_session(container, user_id=None)
    add(container, user_id="bob")
    open_session(other, user_id=None)

    assert Session.objects.count() == 2
    assert add(container, user_id=None).subject == subject_of(container, "bob")


def test_a_payload_whose_session_could_be_several_users_is_refused():
    container = make_container()
    add(container, user_id="ann")
    add(container, user_id="bob")

    with pytest.raises(writing.AmbiguousSession), transaction.atomic():
        add(container, user_id=None)
    assert WorkingMemory.objects.count() == 2


def test_c21_a_container_without_sessions_keeps_the_payload_and_the_name_of_its_session():
    add(make_container(sessions_enabled=False))

    memory = WorkingMemory.objects.get()
    assert (memory.session, memory.session_ref) == (None, "s-1")
    assert not Session.objects.exists()


def test_a_fact_is_written_with_the_entry_that_says_so():
    container = make_container()

    memory = writing.add_memory(container, a_memory("likes tea", owner="ana"), actor=ACTOR, now=NOON)

    entry = HistoryEntry.objects.get()
    assert (entry.action, entry.memory_uid, entry.after, entry.owner) == ("ADD", memory.uid, {"memory": "likes tea"}, "ana")
    assert list(check()) == []


def test_an_older_payload_does_not_make_a_session_old():
    container = make_container()
    add(container)

    add(container, created_at=NOON - days(9))

    assert Session.objects.get().last_updated_at == NOON
