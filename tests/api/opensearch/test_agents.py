"""The requests of programs that are known to use this API, in their order and shape."""

import pytest

from memadmin.store.models import Session, WorkingMemory
from tests.bots import create
from tests.factories import subject_of
from tests.tokens import api_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of("ana")


def sources(answer):
    assert answer.status_code == 200, answer.content
    return [hit["_source"] for hit in answer.json()["hits"]["hits"]]


def a_message(cid, name, number, **details):
    """As an OpenSearch agent with remote memory stores what was asked and answered: the container in the body, no payload type."""
    blob = {"input": f"question {number}", "response": f"answer {number}", "final_answer": True, "create_time": "2026-03-01T12:00:00Z"}
    return {
        "memory_container_id": cid,
        "structured_data_blob": {**blob, "parent_message_id": None, "trace_number": None, "origin": "agent", **details.pop("blob", {})},
        "message_id": number,
        "namespace": {"session_id": name, "user_id": "bob"},
        "metadata": {"type": "message", **details},
        "infer": False,
    }


def test_an_opensearch_agent_keeps_a_conversation_with_its_traces(api):
    cid = create(api)
    name = api.post(f"/{cid}/memories/sessions", {"summary": "about tea"}).json()["session_id"]
    first = api.post(f"/{cid}/memories", a_message(cid, name, 1)).json()
    api.post(f"/{cid}/memories", a_message(cid, name, 2))
    trace = {"type": "trace", "blob": {"parent_message_id": first["working_memory_id"], "trace_number": 1}}
    api.post(f"/{cid}/memories", a_message(cid, name, 1, **trace))

    of_session = [{"term": {"namespace.session_id": name}}, {"term": {"metadata.type": "message"}}]
    asked = {"query": {"bool": {"must": of_session}}, "sort": [{"message_id": {"order": "asc"}}], "size": 100}
    found = sources(api.get(f"/{cid}/memories/working/_search", asked))

    assert first["session_id"] == name
    assert [each["structured_data_blob"]["input"] for each in found] == ["question 1", "question 2"]
    assert all(isinstance(each["created_time"], int) for each in found)
    path = f"/{cid}/memories/working/{first['working_memory_id']}"
    assert api.put(path, {"structured_data_blob": {"response": "better"}}).json()["result"] == "updated"
    assert api.get(path).json()["structured_data_blob"] == {"response": "better"}
    assert api.delete(path).json()["result"] == "deleted"
    assert Session.objects.get().subject == subject_of(Session.objects.get().container, "bob")


def test_a_checkpoint_saver_finds_the_newest_checkpoint_of_its_thread(api):
    cid = create(api)
    for number in range(3):
        namespace = {"thread_id": "t1", "checkpoint_ns": "", "checkpoint_id": f"k{number}"}
        body = {"payload_type": "data", "namespace": namespace, "checkpoint_id": f"k{number}", "structured_data": {"step": number}}
        api.post(f"/{cid}/memories", {**body, "binary_data": "aGk=", "tags": {"type": "checkpoint"}, "infer": False})

    asked = {
        "query": {"bool": {"filter": [{"term": {"namespace.thread_id": "t1"}}, {"term": {"tags.type": "checkpoint"}}]}},
        "sort": [{"checkpoint_id": {"order": "desc"}}],
        "size": 1,
    }

    assert [each["structured_data"] for each in sources(api.post(f"/{cid}/memories/working/_search", asked))] == [{"step": 2}]
    assert not Session.objects.exists()
    assert set(WorkingMemory.objects.values_list("subject__user_id", flat=True)) == {None}


def test_a_session_manager_creates_its_agent_once_and_pages_through_its_messages(api):
    cid = create(api)
    session = {"session_id": "s1", "metadata": {"session_type": "AGENT"}, "agents": {"a1": {"state": {"k": 1}}}}
    told = [api.post(f"/{cid}/memories/sessions", session).json()["status"] for _ in range(2)]
    for number in range(5):
        said = [{"role": "user", "content": [{"text": f"message {number}"}]}]
        namespace = {"session_id": "s1", "agent_id": "a1"}
        api.post(f"/{cid}/memories", {"messages": said, "payload_type": "conversational", "message_id": number, "namespace": namespace})

    asked = {"query": {"term": {"namespace.session_id": "s1"}}, "sort": [{"message_id": "asc"}, {"_id": "asc"}], "size": 2}
    pages, after = [], None
    while page := api.get(f"/{cid}/memories/working/_search", {**asked, **({"search_after": after} if after else {})}).json()["hits"][
        "hits"
    ]:
        pages.append([hit["_source"]["message_id"] for hit in page])
        after = page[-1]["sort"]

    assert told == ["created", "exists"]
    assert pages == [[0, 1], [2, 3], [4]]
    api.put(f"/{cid}/memories/sessions/s1", {"agents": {"a1": {"state": {"k": 2}}}})
    assert api.get(f"/{cid}/memories/sessions/s1").json()["agents"] == {"a1": {"state": {"k": 2}}}
