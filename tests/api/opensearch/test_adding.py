"""Rows C of the list of behaviours, by their numbers."""

from datetime import UTC, datetime

import pytest
import time_machine
from django.utils import timezone

from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import appending, ingest
from memadmin.store.models import LongTermMemory, Session, WorkingMemory
from tests.bots import BASIC, SAID, add, create, session, working
from tests.factories import NOON, days, subject_of
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of("ana")


@pytest.fixture
def cid(api):
    return create(api)


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


def test_c8_a_payload_that_cannot_go_the_short_way_is_stored_all_the_same(api, cid, monkeypatch):
    path = session(api, cid, session_id="s1")
    before = api.get(path).json()["last_updated_time"]
    monkeypatch.setattr(appending, "append", lambda *args, **kwargs: None)

    with time_machine.travel(datetime.fromtimestamp(before // 1000 + 60, UTC), tick=False):
        answer = api.post(f"/{cid}/memories", {**BASIC, "namespace": {"session_id": "s1"}})

    assert answer.status_code == 200
    assert api.get(path).json()["last_updated_time"] == (before // 1000 + 60) * 1000


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


@pytest.mark.parametrize(
    "strategy", [{"namespace": ["user_id"], "enabled": False}, {"namespace": ["user_id", "team_id"]}], ids=["switched off", "no such key"]
)
def test_c22_a_strategy_that_does_not_fit_is_passed_over(api, settings, strategy):
    settings.LLM_URL = "http://127.0.0.1:9/v1"  # nobody is there: an attempt to ask would fail
    models = {"llm_id": "m", "embedding_model_type": "SPARSE_ENCODING", "embedding_model_id": "e"}
    cid = create(api, **models, strategies=[{"type": "SEMANTIC", **strategy}])

    assert add(api, cid, infer=True)["working_memory_id"]
    job = run_inline(Job.objects.get(kind="infer"), now=timezone.now())

    assert (job.state, job.error_code) == ("done", "")
    assert not LongTermMemory.objects.exists()


def test_inference_without_an_endpoint_is_refused_and_nothing_is_stored(api):
    cid = create(api, llm_id="m")

    answer = api.post(f"/{cid}/memories", {"messages": SAID, "namespace": {"user_id": "bob"}, "infer": True})

    assert reason_of(answer) == (400, "illegal_argument_exception", "infer=true requires llm_model_id to be configured in memory storage")
    assert not WorkingMemory.objects.exists()


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


def test_inference_is_queued_where_it_is_asked_for(api, settings):
    settings.LLM_URL = "http://127.0.0.1:9/v1"
    cid = create(api, llm_id="m")

    add(api, cid, infer=True)
    add(api, cid)

    assert WorkingMemory.objects.count() == 2
    assert Job.objects.filter(kind="infer").count() == 1
