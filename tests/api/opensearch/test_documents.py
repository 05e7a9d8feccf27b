import pytest

from memadmin.api.opensearch import documents
from memadmin.store.models import HistoryEntry, ItemType, WorkingMemory
from tests.factories import NOON, a_change, a_memory, a_message, make_container, make_memory, make_session, store
from tests.runs import a_policy, governed

pytestmark = pytest.mark.django_db
NOON_MS = 1772366400000


def test_a_session_has_its_times_in_milliseconds_and_no_key_without_a_value():
    session = make_session(
        make_container(external_id="c1"), owner="ana", namespace={"user_id": "ann"}, created_at=NOON, metadata={"a": {"b": 1}}
    )

    assert documents.source_of(session) == {
        "owner_id": "ana",
        "memory_container_id": "c1",
        "namespace": {"user_id": "ann"},
        "metadata": {"a": {"b": 1}},
        "created_time": NOON_MS,
        "last_updated_time": NOON_MS,
    }


def test_a_working_memory_carries_its_session_in_hits_and_not_in_the_answer_to_a_get():
    container = make_container()
    store(container, a_message("hello", namespace={"user_id": "ann", "session_id": "s-1"}))
    memory = WorkingMemory.objects.get()

    assert documents.source_of(memory)["session_id"] == "s-1"
    assert "session_id" not in documents.shown(memory)
    assert documents.source_of(memory)["namespace_size"] == 2


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("hello", [{"type": "text", "text": "hello"}]),
        (None, []),
        (["hello", {"type": "image"}], [{"type": "text", "text": "hello"}, {"type": "image"}]),
    ],
)
def test_content_is_a_list_of_objects_whatever_the_source_wrote(content, shown):
    store(make_container(), a_message(None, messages=[{"role": "user", "content": content}]))

    assert documents.source_of(WorkingMemory.objects.get())["messages"] == [{"role": "user", "content": shown}]


def test_a_long_term_memory_has_no_tenant_and_names_its_container_in_hits_only():
    container = make_container(tenant="t1")
    memory = make_memory(container, "likes tea", strategy_type="SEMANTIC")

    source = documents.source_of(memory)
    assert source.keys() == {
        "memory",
        "memory_container_id",
        "strategy_type",
        "namespace",
        "namespace_size",
        "created_time",
        "last_updated_time",
    }
    assert source["memory_container_id"] == str(container.uid)
    assert "memory_container_id" not in documents.shown(memory)


def test_a_row_that_came_without_a_namespace_shows_whose_it_is():
    store(make_container(), a_message("hello", user_id="ann", session_ref="s-1"))

    assert documents.source_of(WorkingMemory.objects.get())["namespace"] == {"user_id": "ann", "session_id": "s-1"}


def test_a_history_entry_names_its_memory():
    container = make_container()
    store(container, a_memory("likes tea"))
    store(container, a_change("likes tea", memory_ref="m1"))

    source = documents.source_of(HistoryEntry.objects.get())
    assert (source["memory_id"], source["action"], source["after"]) == ("m1", "ADD", {"memory": "likes tea"})
    assert "last_updated_time" not in source


def test_a_container_shows_its_policy_once_it_has_one():
    never = documents.source_of(make_container())["configuration"]
    container = governed(a_policy(sessions={"retention_days": None, "max_count": 5}), "governed")

    assert "retention_policy" not in never
    assert documents.source_of(container)["configuration"]["retention_policy"] == {"sessions": {"retention_days": None, "max_count": 5}}


@pytest.mark.parametrize(
    ("configuration", "name"),
    [
        ({}, ".plugins-ml-am-default-memory-sessions"),
        ({"index_prefix": "own"}, ".plugins-ml-am-own-memory-sessions"),
        ({"index_prefix": "own", "use_system_index": False}, "own-memory-sessions"),
    ],
)
def test_the_index_follows_the_configuration(configuration, name):
    assert documents.index_name(make_container(configuration=configuration), ItemType.SESSION) == name


def test_an_id_of_the_source_is_the_id_on_the_wire():
    container = make_container()

    assert documents.wire_id(make_session(container, "s-1")) == "s-1"
    assert documents.wire_id(memory := make_memory(container)) == str(memory.uid)
