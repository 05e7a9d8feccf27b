from datetime import date

import pytest
from django.db import connection

from memadmin.audit.models import AuditEntry
from memadmin.store import archive, deleting, editing, holding, removal, staying
from memadmin.store.archive import ArchiveNote
from memadmin.store.attribution import give_session
from memadmin.store.check import check
from memadmin.store.held_copies import Restricted
from memadmin.store.holding import Placing
from memadmin.store.models import (
    Archived,
    Authority,
    HistoryEntry,
    Hold,
    HoldKind,
    ItemType,
    LongTermMemory,
    Session,
    Subject,
    WorkingMemory,
)
from memadmin.store.removal import Chosen
from tests.factories import (
    ACTOR,
    NOON,
    a_change,
    a_memory,
    a_message,
    a_session,
    make_container,
    make_memory,
    make_session,
    store,
    subject_of,
)
from tests.holds import hold, restrict

pytestmark = pytest.mark.django_db
EVERYTHING = (Session, WorkingMemory, LongTermMemory, HistoryEntry)


def full_store(container, user_id="ann"):
    make_session(container, messages=2, user_id=user_id)
    memory = make_memory(container, user_id=user_id)
    store(container, a_change(user_id=user_id, memory_uid=memory.uid))
    return subject_of(container, user_id)


def held_rows(**filters):
    return {model.__name__: model.objects.filter(held=True, **filters).count() for model in EVERYTHING}


def test_a_hold_on_a_user_binds_everything_of_theirs_and_nothing_of_others():
    container = make_container()
    ann, _ = full_store(container), full_store(container, "bob")

    hold(ann)

    assert held_rows() == {"Session": 1, "WorkingMemory": 2, "LongTermMemory": 1, "HistoryEntry": 1}
    assert sum(held_rows(subject__user_id="bob").values()) == 0
    assert (subject_of(container).held, subject_of(container, "bob").held) == (True, False)


def test_what_arrives_later_for_a_held_user_is_held_too():
    container = make_container()
    store(container, a_memory(user_id="ann"))
    hold(subject_of(container))

    store(container, a_session("s-2"), a_message(session_ref="s-2"), a_memory("new"), a_change(), a_memory("bob's", user_id="bob"))

    assert held_rows() == {"Session": 1, "WorkingMemory": 1, "LongTermMemory": 2, "HistoryEntry": 1}


def test_a_message_that_arrives_for_a_held_session_is_held_too():
    container = make_container()
    hold(make_session(container, "s-1"))
    make_session(container, "s-2")

    store(container, a_message(session_ref="s-1"), a_message(session_ref="s-2"))

    assert list(WorkingMemory.objects.order_by("session_ref").values_list("session_ref", "held")) == [("s-1", True), ("s-2", False)]


def test_the_history_of_a_held_memory_is_held_also_what_comes_later():
    container = make_container()
    memory = make_memory(container, "likes tea", external_id="m-1")
    hold(memory)

    store(container, a_memory("likes coffee", external_id="m-1"))

    assert [entry.held for entry in HistoryEntry.objects.all()] == [True]


def test_a_hold_on_a_container_binds_its_users_and_those_that_come_later():
    container, other = make_container("shop"), make_container("other")
    full_store(container)
    full_store(other)
    hold(container)

    store(container, a_memory(user_id="new"))

    assert held_rows(container=container) == {"Session": 1, "WorkingMemory": 2, "LongTermMemory": 2, "HistoryEntry": 1}
    assert sum(held_rows(container=other).values()) == 0


def test_releasing_one_of_two_holds_leaves_what_the_other_binds():
    container = make_container()
    session = make_session(container, messages=1)
    on_user, on_session = hold(subject_of(container)), hold(session)
    make_memory(container)
    hold_again = hold(LongTermMemory.objects.get())

    holding.release(hold_again, reason="the case was closed", actor=ACTOR, now=NOON)
    assert LongTermMemory.objects.get().held
    holding.release(on_user, reason="the case was closed", actor=ACTOR, now=NOON)

    assert held_rows() == {"Session": 1, "WorkingMemory": 1, "LongTermMemory": 0, "HistoryEntry": 0}
    holding.release(on_session, reason="the case was closed", actor=ACTOR, now=NOON)
    assert sum(held_rows().values()) == 0
    assert not Subject.objects.filter(has_holds=True).exists()


def test_a_hold_needs_a_reason_and_stands_once_on_the_same_word():
    subject = full_store(make_container())

    with pytest.raises(holding.NoReason):
        holding.place(
            subject,
            Placing(kind=HoldKind.HOLD, authority=Authority.COURT_ORDER, reason="  ", review_on=date(2026, 9, 1)),
            actor=ACTOR,
            now=NOON,
        )
    hold(subject)
    with pytest.raises(holding.AlreadyHeld):
        hold(subject)
    hold(subject, authority=Authority.LEGAL_CLAIM)
    assert Hold.objects.count() == 2


def test_releasing_needs_a_reason_and_happens_once():
    placed = hold(full_store(make_container()))

    with pytest.raises(holding.NoReason):
        holding.release(placed, reason="", actor=ACTOR, now=NOON)
    holding.release(placed, reason="closed", actor=ACTOR, now=NOON)
    with pytest.raises(holding.NotHeld):
        holding.release(placed, reason="closed", actor=ACTOR, now=NOON)


def test_a_restriction_is_lifted_only_after_the_notice_was_recorded():
    subject = full_store(make_container())
    placed = restrict(subject)

    with pytest.raises(holding.NoticeMissing):
        holding.release(placed, reason="the facts were checked", actor=ACTOR, now=NOON)
    holding.record_notice(placed, sent_on=date(2026, 2, 27), actor=ACTOR, now=NOON)
    holding.release(placed, reason="the facts were checked", actor=ACTOR, now=NOON)

    assert not LongTermMemory.objects.filter(restricted=True).exists()


def test_13_no_way_of_removing_takes_what_is_held():
    container = make_container()
    hold(full_store(container))
    note = ArchiveNote(run_number=1, now=NOON, expires_at=None)

    def all_of(table, access="NULL"):
        return Chosen(f"SELECT id, subject_id, revision, {access} AS last_accessed_at, 'age' AS reason FROM {table}")

    removed = [
        removal.remove_long_term(all_of("store_longtermmemory", "last_accessed_at"), archive=note).items,
        removal.remove_long_term(all_of("store_longtermmemory", "last_accessed_at"), archive=None).items,
        removal.remove_sessions(all_of("store_session"), archive=note).items,
        removal.remove_history(all_of("store_historyentry")).items,
        *(removal.remove_by_hand(kind, list(deleting.MODELS[kind].objects.values_list("pk", flat=True))).items for kind in ItemType),
    ]

    assert removed == [0] * 8
    assert held_rows() == {"Session": 1, "WorkingMemory": 2, "LongTermMemory": 1, "HistoryEntry": 1}


def test_a_held_item_is_not_deleted_by_hand_nor_with_its_container():
    container = make_container()
    hold(full_store(container))

    with pytest.raises(deleting.Held):
        deleting.delete_item(ItemType.LONG_TERM, LongTermMemory.objects.get(), actor=ACTOR, now=NOON)
    deleting.delete_items(container, ItemType.SESSION, list(Session.objects.values_list("pk", flat=True)), actor=ACTOR, now=NOON)
    deleting.delete_container(container, with_memories=list(ItemType), actor=ACTOR, now=NOON)

    assert held_rows() == {"Session": 1, "WorkingMemory": 2, "LongTermMemory": 1, "HistoryEntry": 1}


def test_an_archived_copy_of_a_held_user_does_not_expire_and_comes_back_held():
    container = make_container()
    make_memory(container)
    rows = Chosen("SELECT id, subject_id, revision, last_accessed_at, 'age' AS reason FROM store_longtermmemory")
    removal.remove_long_term(rows, archive=ArchiveNote(run_number=1, now=NOON, expires_at=NOON))
    hold(subject_of(container))

    keys = list(Archived.objects.values_list("pk", flat=True))
    assert removal.remove_archived(keys) == 0
    archive.restore(keys, now=NOON)

    assert LongTermMemory.objects.get().held


def test_what_is_restricted_is_not_changed_but_takes_new_messages():
    container = make_container()
    restrict(full_store(container))

    with pytest.raises(Restricted):
        editing.edit_memory(LongTermMemory.objects.get(), {"text": "other"}, actor=ACTOR, now=NOON)
    with pytest.raises(Restricted):
        store(container, a_memory("likes coffee", uid=LongTermMemory.objects.get().uid))
    store(container, a_message("one more"))

    assert WorkingMemory.objects.filter(restricted=True).count() == 3


def test_a_session_that_becomes_a_held_users_is_held():
    container = make_container()
    session = make_session(container, messages=1, user_id=None)
    store(container, a_memory(user_id="ann"))
    hold(subject_of(container))

    give_session(session, "ann", actor=ACTOR, now=NOON)

    assert held_rows() == {"Session": 1, "WorkingMemory": 1, "LongTermMemory": 1, "HistoryEntry": 0}


def test_a_copy_that_says_something_else_is_found_and_mended():
    container = make_container()
    hold(full_store(container))
    assert [finding.kind for finding in check()] == []
    LongTermMemory.objects.update(held=False)
    WorkingMemory.objects.update(restricted=True)

    assert {finding.kind for finding in check()} == {"hold.copy"}
    list(check(repair=True))
    assert list(check()) == []
    assert held_rows()["LongTermMemory"] == 1


def test_a_fence_trigger_that_is_gone_is_found():
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER store_session_arrives" + (" ON store_session" if connection.vendor == "postgresql" else ""))

    assert [(finding.kind, finding.target) for finding in check()] == [("fence.missing", "triggers/store_session_arrives")]


def test_a_hold_is_in_the_log_with_its_authority_and_without_its_reason():
    subject = full_store(make_container())
    placed = hold(subject)
    holding.release(placed, reason="closed", actor=ACTOR, now=NOON)

    entries = AuditEntry.objects.filter(action__startswith="hold.").order_by("seq")
    assert [(entry.action, entry.target, entry.reason_code) for entry in entries] == [
        ("hold.placed", f"subjects/{subject.uid}", "court_order"),
        ("hold.released", f"subjects/{subject.uid}", "court_order"),
    ]
    assert "case 12" not in entries[0].leaf


def test_an_erasure_withholds_what_a_hold_binds_and_not_what_is_only_restricted():
    container = make_container()
    ann, bob = full_store(container), full_store(container, "bob")
    hold(ann)
    restrict(bob)

    kept = [model.objects.filter(staying.must_stay(model)) for model in (Session, LongTermMemory, WorkingMemory, HistoryEntry)]

    assert [sorted({row.subject.user_id for row in rows}) for rows in kept] == [["ann"]] * 4
