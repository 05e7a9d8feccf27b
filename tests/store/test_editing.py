import pytest

from memadmin.audit.models import AuditEntry
from memadmin.store import editing, suppression
from memadmin.store.check import check
from memadmin.store.models import HistoryEntry, LongTermMemory, Mode, Returned, Session, WorkingMemory
from memadmin.store.opening import Suppressed
from memadmin.store.suppression import Terms
from tests.factories import ACTOR, NOON, a_memory, a_message, a_session, days, make_container, make_memory, make_session, store, subject_of

pytestmark = pytest.mark.django_db
LATER = NOON + days(1)


@pytest.mark.parametrize(("changes", "moved"), [({"summary": "new"}, True), ({"metadata": {"a": 1}, "agents": {"b": 2}}, False)])
def test_only_the_summary_makes_a_session_young(changes, moved):
    session = make_session(make_container())
    before = session.last_updated_at

    editing.edit_session(session, changes, actor=ACTOR, now=LATER)

    session.refresh_from_db()
    assert session.last_updated_at == (LATER if moved else before)
    assert session.revision == 2
    assert {name: getattr(session, name) for name in changes} == changes


@pytest.mark.parametrize("mode", [Mode.BLOCK, Mode.QUARANTINE])
@pytest.mark.parametrize("history", [True, False])
def test_no_change_brings_erased_words_back(settings, tmp_path, mode, history):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    container = make_container(history_enabled=history)
    store(container, a_memory("x"), a_session("s1", summary="x"), a_message("x"))
    terms = {"terms": Terms(mode=mode), "request_ref": "erasure/1", "actor": ACTOR, "now": NOON}
    suppression.suppress_texts(["likes tea"], container=container, **terms)
    memory, session, working = LongTermMemory.objects.get(), Session.objects.get(external_id="s1"), WorkingMemory.objects.get()

    with pytest.raises(Suppressed):
        editing.edit_memory(memory, {"text": "likes tea"}, actor=ACTOR, now=LATER)
    with pytest.raises(Suppressed):
        editing.edit_session(session, {"summary": "likes tea"}, actor=ACTOR, now=LATER)
    with pytest.raises(Suppressed):
        editing.edit_working(working, {"messages": [{"role": "user", "content": "likes tea"}]}, actor=ACTOR, now=LATER)

    for row in (memory, session, working):
        row.refresh_from_db()
        assert row.revision == 1 or row is session  # a message has moved its session
    editing.edit_memory(memory, {"text": "likes coffee"}, actor=ACTOR, now=LATER)
    assert list(check()) == []


def test_erased_words_that_are_let_in_again_may_come_with_a_change(settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")
    container = make_container()
    memory = make_memory(container, "x")
    terms = {"terms": Terms(mode=Mode.FLAG), "request_ref": "erasure/1", "actor": ACTOR, "now": NOON}
    suppression.suppress_texts(["likes tea"], container=container, **terms)

    editing.edit_memory(memory, {"text": "likes tea"}, actor=ACTOR, now=LATER)

    assert (memory.text, Returned.objects.count()) == ("likes tea", 1)


def test_other_messages_are_counted_anew():
    container = make_container()
    store(container, a_message("one"))
    memory = WorkingMemory.objects.get()

    editing.edit_working(memory, {"messages": [{"role": "user", "content": "a"}] * 3}, actor=ACTOR, now=LATER)

    assert (memory.message_count, memory.last_updated_at) == (3, LATER)
    assert subject_of(container).messages == 3
    assert list(check()) == []


def test_another_text_is_counted_anew_and_leaves_an_entry_in_the_history():
    container = make_container()
    memory = make_memory(container, "likes tea", owner="ana", external_id="m1")

    editing.edit_memory(memory, {"text": "likes coffee very much"}, actor=ACTOR, now=LATER)

    entry = HistoryEntry.objects.get()
    assert (entry.memory_uid, entry.memory_ref, entry.action, entry.owner) == (memory.uid, "m1", "UPDATE", "ana")
    assert (entry.before, entry.after) == ({"memory": "likes tea"}, {"memory": "likes coffee very much"})
    assert (memory.text, memory.last_updated_at, memory.revision) == ("likes coffee very much", LATER, 2)
    assert subject_of(container).tokens == memory.tokens == 6
    assert list(check()) == []


def test_tags_alone_leave_no_entry_in_the_history_and_no_younger_memory():
    memory = make_memory(make_container(), created_at=NOON)

    editing.edit_memory(memory, {"tags": {"a": "b"}}, actor=ACTOR, now=LATER)

    assert not HistoryEntry.objects.exists()
    assert memory.last_updated_at == NOON


def test_a_container_without_history_writes_none():
    memory = make_memory(make_container(history_enabled=False))

    editing.edit_memory(memory, {"text": "likes coffee"}, actor=ACTOR, now=LATER)

    assert not HistoryEntry.objects.exists()


def test_an_edit_is_audited_by_the_names_of_the_fields():
    memory = make_memory(make_container())

    editing.edit_memory(memory, {"text": "a secret"}, actor=ACTOR, now=LATER)

    entry = AuditEntry.objects.get(action="item.changed")
    assert entry.target == f"long-term/{memory.uid}"
    assert "secret" not in entry.leaf


def test_what_is_gone_cannot_be_edited():
    memory = make_memory(make_container())
    LongTermMemory.objects.all()._raw_delete("default")

    with pytest.raises(editing.Gone):
        editing.edit_memory(memory, {"text": "x"}, actor=ACTOR, now=LATER)
    assert not AuditEntry.objects.filter(action="item.changed").exists()


def test_a_container_changes_its_fields_and_its_time():
    container = make_container(configuration={"a": 1})

    editing.edit_container(container, {"name": "new", "configuration": {"b": 2}}, actor=ACTOR, now=LATER)

    assert (container.name, container.configuration, container.last_updated_at, container.revision) == ("new", {"b": 2}, LATER, 2)
