"""Rows D of the list of behaviours, by their numbers."""

import pytest
import time_machine

from memadmin.audit.models import AuditEntry
from memadmin.store.check import check
from memadmin.store.models import HistoryEntry, ItemType, LongTermMemory, Pin, WorkingMemory
from tests.bots import SAID, create, long_term, session, working
from tests.factories import NOON, make_container, make_memory
from tests.runs import switch_on
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of("ana")


@pytest.fixture
def cid(api):
    return create(api)


def test_d1_get_names_the_container(api, cid):
    assert api.get(working(api, cid)).json()["memory_container_id"] == cid


def test_d2_get_of_an_unknown_id(api, cid):
    for path in (f"/{cid}/memories/working/nope", f"/{cid}/memories/sessions/00000000-0000-0000-0000-000000000000"):
        assert reason_of(api.get(path)) == (404, "status_exception", "Memory not found")


def test_d3_a_type_without_index(api, cid):
    assert reason_of(api.get(f"/{cid}/memories/long-term/x")) == (404, "status_exception", "Memory index not found")


def test_d4_an_unknown_type(api, cid):
    reason = "Invalid memory type: foo. Must be one of: sessions, working, long-term, history"

    assert reason_of(api.get(f"/{cid}/memories/foo/x")) == (400, "illegal_argument_exception", reason)
    assert api.get(working(api, cid).replace("working", "WORKING")).status_code == 200


def test_d6_tags_of_a_working_memory_do_not_make_it_young(api, cid):
    with time_machine.travel(NOON, tick=False):
        path = working(api, cid)
    before = api.get(path).json()

    answer = api.put(path, {"tags": {"topic": "updated_topic"}}).json()

    after = api.get(path).json()
    assert (answer["result"], answer["_version"], answer["_index"]) == ("updated", 2, ".plugins-ml-am-default-memory-working")
    assert after["tags"] == {"topic": "updated_topic"}
    assert after["last_updated_time"] == before["last_updated_time"]


@pytest.mark.parametrize(
    "change", [{"messages": SAID[:1]}, {"structured_data": {"a": 1}}, {"binary_data": "aGk="}, {"structured_data_blob": {"b": 2}}]
)
def test_d7_content_of_a_working_memory_makes_it_young(api, cid, change):
    with time_machine.travel(NOON, tick=False):
        path = working(api, cid)
    before = api.get(path).json()

    api.put(path, change)

    after = api.get(path).json()
    assert after["last_updated_time"] > before["last_updated_time"]
    assert {name: after[name] for name in change} == change
    assert list(check()) == []


@pytest.mark.parametrize(
    ("change", "moves"),
    [
        ({"metadata": {"a": {"b": 1}}}, False),
        ({"agents": {"a": 1}}, False),
        ({"additional_info": {"a": 1}}, False),
        ({"pinned": True}, False),
        ({"summary": "coffee"}, True),
    ],
    ids=["D8", "D8", "D8", "D8", "D9"],
)
def test_d8_and_d9_only_the_summary_makes_a_session_young(api, cid, change, moves):
    switch_on()
    with time_machine.travel(NOON, tick=False):
        path = session(api, cid)
    before = api.get(path).json()

    assert api.put(path, change).json()["_version"] == 2

    after = api.get(path).json()
    assert (after["last_updated_time"] > before["last_updated_time"]) == moves
    assert {name: after[name] for name in change} == change


def test_d11_history_cannot_be_changed(api, cid):
    assert reason_of(api.put(f"/{cid}/memories/history/x", {"tags": {}})) == (404, "status_exception", "Can't update memory history")


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (None, "parse_exception", "Update memory request has empty body"),
        ({}, "illegal_argument_exception", "Text cannot be null or empty"),
    ],
)
def test_d12_a_change_says_something(api, cid, body, kind, reason):
    assert reason_of(api.put(f"/{cid}/memories/working/x", body)) == (400, kind, reason)


def test_d13_an_unknown_field_changes_the_version_alone(api, cid):
    path = session(api, cid)
    before = api.get(path).json()

    assert api.put(path, {"name": "x"}).json()["_version"] == 2
    assert api.get(path).json() == before


def test_d14_a_session_is_pinned_and_unpinned(api, cid):
    switch_on()
    path = session(api, cid)

    assert api.put(path, {"pinned": True}).status_code == 200
    assert api.get(path).json()["pinned"] is True
    assert Pin.objects.get().actor.startswith("token/")
    assert api.put(path, {"pinned": "true"}).status_code == 200
    assert api.put(path, {"pinned": None}).status_code == 200
    assert "pinned" not in api.get(path).json()
    assert not Pin.objects.exists()
    assert list(check()) == []


def test_a_pin_and_a_field_in_one_request_are_one_version(api, cid):
    switch_on()
    path = session(api, cid)

    assert api.put(path, {"pinned": True, "summary": "coffee"}).json()["_version"] == 2
    assert (api.get(path).json()["pinned"], api.get(path).json()["summary"]) == (True, "coffee")


@pytest.mark.parametrize("pinned", [True, False, None])
def test_d16_while_retention_is_off_nothing_is_said_of_pins(api, cid, pinned):
    status, kind, reason = reason_of(api.put(session(api, cid), {"pinned": pinned}))

    assert (status, kind) == (403, "status_exception")
    assert reason.startswith("Cannot set pinned: the memory retention feature is not enabled.")


def test_d17_a_working_memory_cannot_be_pinned(api, cid):
    switch_on()

    path, reason = (
        working(api, cid),
        "pinned field is not supported for working memory type. To preserve a conversation, pin the session instead.",
    )

    assert reason_of(api.put(path, {"pinned": True})) == (400, "illegal_argument_exception", reason)
    assert api.get(path).status_code == 200


def test_d18_a_long_term_memory_can_be_pinned(api, cid):
    switch_on()
    path = long_term(api, cid)

    assert api.put(path, {"pinned": True}).status_code == 200
    assert api.get(path).json()["pinned"] is True


@pytest.mark.parametrize("value", ["yes", 1, [], {}])
def test_a_pin_is_true_or_false(api, cid, value):
    switch_on()

    assert reason_of(api.put(session(api, cid), {"pinned": value}))[:2] == (400, "mapper_parsing_exception")


def test_d19_existence_comes_before_the_switch(api, cid):
    assert reason_of(api.put(f"/{cid}/memories/sessions/nope", {"pinned": True}))[0] == 404


def test_a_change_of_a_fact_is_remembered_in_the_history(api, cid):
    path = long_term(api, cid)

    api.put(path, {"memory": "likes coffee", "tags": {"topic": "drinks"}})

    found = api.get(path).json()
    assert (found["memory"], found["tags"]) == ("likes coffee", {"topic": "drinks"})
    entry = HistoryEntry.objects.get(action="UPDATE")
    shown = api.get(f"/{cid}/memories/history/{entry.uid}").json()
    assert (shown["before"], shown["after"]) == ({"memory": "likes tea"}, {"memory": "likes coffee"})
    assert path.endswith(shown["memory_id"])


@pytest.mark.parametrize("text", [None, "", "  "])
def test_a_fact_has_a_text(api, cid, text):
    assert reason_of(api.put(long_term(api, cid), {"memory": text}))[2] == "Text cannot be null or empty"
    assert reason_of(api.post(f"/{cid}/memories/long-term", {"memory": text}))[2] == "Text cannot be null or empty"


def test_a_fact_answers_what_it_was_given(api, cid):
    found = api.get(long_term(api, cid, strategy_id="semantic_1", strategy_type="SEMANTIC", tags={"n": 1})).json()

    assert found.pop("created_time") == found.pop("last_updated_time")
    assert found == {
        "owner_id": "ana",
        "memory": "likes tea",
        "strategy_id": "semantic_1",
        "strategy_type": "SEMANTIC",
        "namespace": {"user_id": "bob"},
        "namespace_size": 1,
        "tags": {"n": "1"},
    }


def test_reading_by_id_is_no_recall(api, cid):
    api.get(long_term(api, cid))

    memory = LongTermMemory.objects.get()
    assert (memory.hits, memory.last_accessed_at) == (0, None)


def test_d21_the_messages_of_a_deleted_session_stay(api, cid):
    path = working(api, cid, namespace={"session_id": "s1"})

    answer = api.delete(f"/{cid}/memories/sessions/s1").json()

    assert (answer["result"], answer["_id"], answer["_seq_no"]) == ("deleted", "s1", answer["_version"] - 1)
    assert api.get(path).status_code == 200
    assert api.get(f"/{cid}/memories/sessions/s1").status_code == 404


def test_d22_a_pinned_session_is_deleted_and_the_log_says_that_it_was_pinned(api, cid):
    switch_on()
    path = session(api, cid)
    api.put(path, {"pinned": True})

    assert api.delete(path).status_code == 200

    assert AuditEntry.objects.get(action="item.deleted").counts == {"pinned": 1}
    assert reason_of(api.delete(path)) == (404, "status_exception", "Memory not found")


@pytest.mark.parametrize("item_type", list(ItemType))
def test_a_document_of_every_type_is_deleted(api, cid, item_type):
    makers = {ItemType.SESSION: session, ItemType.WORKING: working, ItemType.LONG_TERM: long_term, ItemType.HISTORY: long_term}
    path = makers[item_type](api, cid)
    if item_type is ItemType.HISTORY:
        path = f"/{cid}/memories/history/{HistoryEntry.objects.get().uid}"

    assert api.delete(path).json()["_index"] == f".plugins-ml-am-default-memory-{item_type}"
    assert api.get(path).status_code == 404
    assert list(check()) == []


def test_what_is_held_for_a_legal_reason_is_not_deleted(api, cid):
    path = long_term(api, cid)
    LongTermMemory.objects.update(held=True)

    assert reason_of(api.delete(path))[0] == 409
    assert api.get(path).status_code == 200


def test_j8_another_users_memory_is_closed_and_stays_as_it_is(api):
    cid = api.post("/_create", {"name": "bot", "backend_roles": ["cs"]}).json()["memory_container_id"]
    colleague, path = api_of("bob", backend_roles=("cs",)), working(api, cid)
    reason = "User doesn't have permissions to update this memory"

    for answer in (colleague.get(path), colleague.put(path, {"tags": {"a": "b"}}), colleague.delete(path)):
        assert reason_of(answer) == (403, "status_exception", reason)
    assert "tags" not in api.get(path).json()
    assert api_of("root", all_access=True).get(path).status_code == 200


def test_j9_a_document_is_found_in_its_own_container_only(api, cid):
    other = create(api)
    path = working(api, cid).replace(cid, other)

    for answer in (api.get(path), api.put(path, {"tags": {"a": "b"}}), api.delete(path)):
        assert reason_of(answer) == (404, "status_exception", "Memory not found")
    assert WorkingMemory.objects.get().revision == 1


def test_memories_that_people_imported_are_found_by_the_id_of_their_source():
    container = make_container(external_id="c1")
    make_memory(container, external_id="m1", owner="ana")

    assert api_of("root", all_access=True).get("/c1/memories/long-term/m1").json()["memory"] == "likes tea"
