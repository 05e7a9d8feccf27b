"""Rows C and D of the list of behaviours, by their numbers."""

import pytest
import time_machine

from memadmin.audit.models import AuditEntry
from memadmin.jobs.models import Job
from memadmin.store import ingest
from memadmin.store.check import check
from memadmin.store.models import HistoryEntry, ItemType, LongTermMemory, Pin, Session, WorkingMemory
from tests.factories import NOON, days, make_container, make_memory, subject_of
from tests.runs import switch_on
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db
SAID = [
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
]
BASIC = {"messages": SAID, "payload_type": "conversational", "namespace": {"user_id": "bob"}}


@pytest.fixture
def api():
    return api_of("ana")


@pytest.fixture
def cid(api):
    return create(api)


def create(api, **configuration):
    return api.post("/_create", {"name": "bot", "configuration": configuration}).json()["memory_container_id"]


def add(api, cid, **body):
    answer = api.post(f"/{cid}/memories", {**BASIC, **body})
    assert answer.status_code == 200, answer.content
    return answer.json()


def working(api, cid, **body):
    return f"/{cid}/memories/working/{add(api, cid, **body)['working_memory_id']}"


def long_term(api, cid, **body):
    given = {"memory": "likes tea", "namespace": {"user_id": "bob"}, **body}
    return f"/{cid}/memories/long-term/{api.post(f'/{cid}/memories/long-term', given).json()['memory_id']}"


def session(api, cid, **body):
    return f"/{cid}/memories/sessions/{api.post(f'/{cid}/memories/sessions', {'summary': 'tea', **body}).json()['session_id']}"


def test_c1_a_conversation_without_session_has_none(api, cid):
    answer = add(api, cid, metadata={"status": "checkpoint", "branch": {"name": "high"}}, tags={"topic": "tea", "n": 1})

    assert answer.keys() == {"working_memory_id"}
    assert not Session.objects.exists()
    assert subject_of(WorkingMemory.objects.get().container, "bob").messages == 2


def test_c2_metadata_and_tags_are_texts_and_messages_stay(api, cid):
    found = api.get(working(api, cid, metadata={"branch": {"name": "high", "n": [1, None]}}, tags={"n": 1})).json()

    assert found["metadata"] == {"branch": '{"name":"high","n":[1,null]}'}
    assert found["tags"] == {"n": "1"}
    assert found["messages"] == SAID


def test_c3_data_is_kept_as_an_object(api, cid):
    data = {"time_range": {"start": "2025-09-11", "end": 5}}

    found = api.get(
        working(api, cid, payload_type="data", messages=None, structured_data=data, namespace={"agent_id": "a1"}, infer=False)
    ).json()

    assert (found["structured_data"], found["payload_type"], found["infer"]) == (data, "data", False)
    assert "messages" not in found
    assert subject_of(WorkingMemory.objects.get().container, None).working == 1


def test_c4_a_session_id_that_is_a_number_becomes_text_and_a_session(api, cid):
    answer = add(api, cid, payload_type="data", structured_data={"a": 1}, namespace={"session_id": 123})

    assert answer["session_id"] == "123"
    found = api.get(f"/{cid}/memories/sessions/123").json()
    assert (found["owner_id"], found["namespace"]) == ("ana", {"session_id": "123"})


def test_c6_where_the_session_cannot_be_written_nothing_is(api, cid, monkeypatch):
    def fails(*args, **kwargs):
        raise ingest.UidTaken

    monkeypatch.setattr(ingest, "write", fails)

    assert api.post(f"/{cid}/memories", {**BASIC, "namespace": {"session_id": "s1"}}).status_code == 409
    assert (Session.objects.count(), WorkingMemory.objects.count()) == (0, 0)


def test_c7_a_payload_makes_an_existing_session_young_and_changes_nothing_else(api, cid):
    with time_machine.travel(NOON, tick=False):
        path = session(api, cid, session_id="s1", metadata={"a": 1})
        before = api.get(path).json()
    with time_machine.travel(NOON + days(5), tick=False):
        add(api, cid, namespace={"session_id": "s1"})

    after = api.get(path).json()
    assert after.pop("last_updated_time") == before.pop("last_updated_time") + 5 * 86_400_000
    assert after == before


@pytest.mark.parametrize("pinned", [True, False])
def test_c11_a_working_memory_has_no_pin(api, cid, pinned):
    reason = "pinned field is not supported for working memory type. To preserve a conversation, pin the session instead."

    assert reason_of(api.post(f"/{cid}/memories", {**BASIC, "pinned": pinned})) == (400, "illegal_argument_exception", reason)


def test_c12_a_null_pin_is_none(api, cid):
    assert add(api, cid, pinned=None)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"infer": True, "messages": None}, "No messages provided when inferring memory"),
        ({"infer": True}, "infer=true requires llm_model_id to be configured in memory storage"),
    ],
    ids=["C13", "C14"],
)
def test_c13_and_c14_inference_needs_messages_and_a_model(api, cid, body, reason):
    assert reason_of(api.post(f"/{cid}/memories", {**BASIC, **body})) == (400, "illegal_argument_exception", reason)


@pytest.mark.parametrize("message", [{"content": []}, {"role": "user"}, {"role": "", "content": []}, {"role": "user", "content": None}])
def test_c16_a_message_has_role_and_content(api, cid, message):
    answer = reason_of(api.post(f"/{cid}/memories", {"messages": [message]}))

    assert answer == (400, "illegal_argument_exception", "Message must have role and content")


@pytest.mark.parametrize("content", ["text", 5, {"a": 1}, ["text"]])
def test_c17_content_is_a_list_of_objects(api, cid, content):
    assert reason_of(api.post(f"/{cid}/memories", {"messages": [{"role": "user", "content": content}]}))[:2] == (400, "parsing_exception")


def test_c18_unknown_keys_are_ignored(api, cid):
    assert "memory_type" not in api.get(working(api, cid, memory_type="conversation", colour="red")).json()


def test_c19_a_body_that_names_another_container_is_refused(api, cid):
    other = create(api)

    assert reason_of(api.post(f"/{cid}/memories", {**BASIC, "memory_container_id": other}))[0] == 400
    assert add(api, cid, memory_container_id=cid)
    assert WorkingMemory.objects.count() == 1


def test_c21_a_container_without_sessions_stores_the_payload_alone(api):
    cid = create(api, disable_session=True)

    assert add(api, cid, namespace={"session_id": "s1"})["session_id"] == "s1"
    assert not Session.objects.exists()


def test_c22_a_strategy_that_does_not_fit_is_passed_over(api):
    models = {"llm_id": "m", "embedding_model_type": "SPARSE_ENCODING", "embedding_model_id": "e"}
    cid = create(api, **models, strategies=[{"type": "SEMANTIC", "namespace": ["team_id"], "enabled": False}])

    assert add(api, cid, infer=True)["working_memory_id"]


def test_a_conversation_without_session_gets_one_where_a_model_would_summarise_it(api):
    cid = create(api, llm_id="m")

    answer = add(api, cid)

    assert api.get(f"/{cid}/memories/sessions/{answer['session_id']}").json()["namespace"]["user_id"] == "bob"


def test_c23_a_checkpoint_is_stored_and_returned(api, cid):
    namespace = {"thread_id": "t", "checkpoint_ns": ""}

    found = api.get(working(api, cid, checkpoint_id="k1", namespace=namespace, parameters={"a": {"b": 1}}, message_id=7)).json()

    assert (found["checkpoint_id"], found["namespace"], found["namespace_size"]) == ("k1", namespace, 2)
    assert (found["parameters"], found["message_id"]) == ({"a": {"b": 1}}, 7)


def test_c24_a_blank_session_id_makes_no_session(api, cid):
    assert add(api, cid, namespace={"session_id": " "}).keys() == {"working_memory_id"}
    assert not Session.objects.exists()


def test_a_session_that_could_be_several_users_is_refused(api, cid):
    for user in ("ann", "bob"):
        add(api, cid, namespace={"user_id": user, "session_id": "s1"})

    assert reason_of(api.post(f"/{cid}/memories", {**BASIC, "namespace": {"session_id": "s1"}}))[0] == 409


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": "x"},
        {"messages": [5]},
        {"payload_type": "poem"},
        {"message_id": 2**31},
        {"message_id": "x"},
        {"structured_data": [1]},
        {"structured_data_blob": "x"},
        {"binary_data": {"a": 1}},
        {"namespace": [1]},
        {"namespace": {"user_id": "x" * 513}},
        {"metadata": 5},
        {"tags": "x"},
        {"parameters": []},
        {"infer": "yes"},
        {"checkpoint_id": "x" * 513},
    ],
)
def test_fields_of_another_shape_are_refused_and_nothing_is_stored(api, cid, wrong):
    assert reason_of(api.post(f"/{cid}/memories", {**BASIC, **wrong}))[0] == 400
    assert not WorkingMemory.objects.exists()


def test_add_without_body(api, cid):
    assert reason_of(api.post(f"/{cid}/memories")) == (400, "i_o_exception", "Add memory request has empty body")


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


@pytest.mark.parametrize("pinned", [True, False, None])
def test_d16_while_retention_is_off_nothing_is_said_of_pins(api, cid, pinned):
    status, kind, reason = reason_of(api.put(session(api, cid), {"pinned": pinned}))

    assert (status, kind) == (403, "status_exception")
    assert reason.startswith("Cannot set pinned: the memory retention feature is not enabled.")


def test_d17_a_working_memory_cannot_be_pinned(api, cid):
    switch_on()

    assert reason_of(api.put(working(api, cid), {"pinned": True}))[0] == 400


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


@pytest.mark.parametrize(("address", "queued"), [("http://127.0.0.1:9/v1", 1), (None, 0)])
def test_inference_is_queued_where_the_installation_has_a_model_and_passed_over_elsewhere(api, settings, address, queued):
    settings.LLM_URL = address
    cid = create(api, llm_id="m")

    add(api, cid, infer=True)
    add(api, cid)

    assert WorkingMemory.objects.count() == 2
    assert Job.objects.filter(kind="infer").count() == queued
