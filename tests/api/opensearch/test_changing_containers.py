"""Rows A of the list of behaviours, by their numbers."""

import pytest

from memadmin.api.opensearch import documents
from memadmin.audit.models import AuditEntry
from memadmin.store.models import Session, WorkingMemory
from tests.support_bots import EMBEDDING, LEARNING, STRATEGY, configuration_of, create
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of("ana")


def test_a24_put_without_body(api):
    assert reason_of(api.put(f"/{create(api)}")) == (400, "parse_exception", "Update memory container request has empty body")


def test_a25_put_of_an_unknown_id(api):
    assert reason_of(api.put("/nope", {"name": "x"})) == (404, "status_exception", "Memory container not found")


def test_put_changes_name_description_and_roles_and_answers_the_new_version(api):
    cid = create(api, backend_roles=["a", "b"])

    answer = api.put(f"/{cid}", {"name": "new", "description": "other", "backend_roles": ["c"]}).json()

    assert answer == {
        "_index": ".plugins-ml-am-memory-container",
        "_id": cid,
        "result": "updated",
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "_version": answer["_version"],
        "_seq_no": answer["_version"] - 1,
        "_primary_term": 1,
    }
    assert answer["_version"] == 2
    after = api.get(f"/{cid}").json()
    assert (after["name"], after["description"], after["backend_roles"]) == ("new", "other", ["c"])
    assert AuditEntry.objects.get(action="container.changed").actor.startswith("token/")


def test_a26_what_cannot_be_changed_stays(api):
    cid = create(api)
    before = configuration_of(api, cid)

    answer = api.put(
        f"/{cid}", {"configuration": {"index_prefix": "x", "use_system_index": False, "disable_session": True, "parameters": {}}}
    )

    assert answer.status_code == 200
    assert configuration_of(api, cid) == before


def test_a27_a_known_strategy_changes_the_fields_that_are_given(api):
    cid = create(api, {**LEARNING, "strategies": [STRATEGY, {**STRATEGY, "type": "SUMMARY"}]})
    first, second = configuration_of(api, cid)["strategies"]

    api.put(f"/{cid}", {"configuration": {"strategies": [{"id": first["id"], "enabled": False}]}})

    assert configuration_of(api, cid)["strategies"] == [{**first, "enabled": False}, second]


def test_an_unknown_strategy_is_not_found(api):
    cid = create(api, LEARNING)

    answer = api.put(f"/{cid}", {"configuration": {"strategies": [{"id": "nope", "enabled": False}]}})

    assert reason_of(answer) == (404, "status_exception", "Strategy with id nope not found")


def test_a29_the_type_of_a_strategy_stays(api):
    cid = create(api, LEARNING)
    name = configuration_of(api, cid)["strategies"][0]["id"]

    answer = api.put(f"/{cid}", {"configuration": {"strategies": [{"id": name, "type": "SUMMARY"}]}})

    assert reason_of(answer)[2] == f"Cannot change strategy type from SEMANTIC to SUMMARY for strategy id {name}"


def test_a30_a_strategy_without_id_is_added(api):
    cid = create(api, LEARNING)

    api.put(f"/{cid}", {"configuration": {"strategies": [{**STRATEGY, "type": "SUMMARY"}]}})

    names = [strategy["id"] for strategy in configuration_of(api, cid)["strategies"]]
    assert len(names) == 2
    assert names[1].startswith("summary_")


def test_a31_the_embedding_is_frozen_once_there_are_strategies(api):
    plain, learning = create(api), create(api, LEARNING)
    other = {**EMBEDDING, "embedding_model_id": "e-2"}

    assert reason_of(api.put(f"/{learning}", {"configuration": other}))[2].startswith(
        "Cannot change embedding configuration once strategies"
    )
    assert api.put(f"/{learning}", {"configuration": EMBEDDING}).status_code == 200
    assert api.put(f"/{plain}", {"configuration": other}).status_code == 200
    assert configuration_of(api, plain)["embedding_model_id"] == "e-2"


def test_a34_max_infer_size_needs_a_model_in_the_same_request(api):
    cid = create(api, LEARNING)

    api.put(f"/{cid}", {"configuration": {"max_infer_size": 9}})
    assert configuration_of(api, cid)["max_infer_size"] == 5
    api.put(f"/{cid}", {"configuration": {"llm_id": "m-2", "max_infer_size": 9}})
    assert configuration_of(api, cid)["max_infer_size"] == 9


def filled(api, configuration=None):
    cid = create(api, configuration)
    api.post(
        f"/{cid}/memories", {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "namespace": {"session_id": "s1"}}
    )
    return cid


def test_a35_delete_leaves_the_memories_and_the_container_unreachable(api):
    cid = filled(api)

    answer = api.delete(f"/{cid}").json()

    assert (answer["result"], answer["forced_refresh"], answer["_id"]) == ("deleted", True, cid)
    assert reason_of(api.get(f"/{cid}"))[0] == 404
    assert reason_of(api.post(f"/{cid}/memories", {}))[:1] == (404,)
    assert (Session.objects.count(), WorkingMemory.objects.count()) == (1, 1)
    assert reason_of(api.delete(f"/{cid}")) == (404, "status_exception", "Memory container not found")


@pytest.mark.parametrize(("address", "body"), [("?delete_all_memories=true", None), ("", {"delete_all_memories": True})])
def test_a36_delete_with_all_memories(api, address, body):
    cid = filled(api, {"index_prefix": "own"})

    assert api.delete(f"/{cid}{address}", body).status_code == 200

    assert (Session.objects.count(), WorkingMemory.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("address", "body"), [("?delete_memories=working,history", None), ("", {"delete_memories": ["working", "history"]})]
)
def test_a37_delete_with_memories_of_some_types(api, address, body):
    cid = filled(api, {"index_prefix": "own"})

    assert api.delete(f"/{cid}{address}", body).status_code == 200

    assert (Session.objects.count(), WorkingMemory.objects.count()) == (1, 0)


def test_both_ways_of_naming_memories_are_one_too_many(api):
    answer = api.delete(f"/{create(api)}?delete_all_memories=true&delete_memories=working")

    assert reason_of(answer)[2].startswith("Cannot specify both delete_all_memories and delete_memories")


def test_a39_delete_with_an_unknown_type(api):
    answer = api.delete(f"/{create(api)}?delete_memories=foo")

    assert reason_of(answer)[2] == "Invalid memory type: foo. Must be one of: sessions, working, long-term, history"


def test_a40_memories_of_a_shared_prefix_are_not_deleted_with_one_of_its_containers(api):
    cid, _ = filled(api), create(api)

    status, _, reason = reason_of(api.delete(f"/{cid}?delete_all_memories=true"))

    assert status == 409
    assert "multiple containers share the index prefix 'default'" in reason
    assert WorkingMemory.objects.exists()
    assert api.get(f"/{cid}").status_code == 200


def test_a41_without_memories_a_shared_prefix_does_not_matter(api):
    cid, _ = create(api), create(api)

    assert api.delete(f"/{cid}").status_code == 200


def test_only_the_owner_or_all_access_deletes_a_container(api):
    cid = create(api, backend_roles=["cs"])
    colleague = api_of("bob", backend_roles=("cs",))

    assert reason_of(colleague.delete(f"/{cid}")) == (403, "status_exception", "Only container owner can delete container")
    assert api_of("root", all_access=True).delete(f"/{cid}").status_code == 200


def test_who_may_not_use_a_container_is_told_in_the_words_of_each_route(api):
    cid, stranger = create(api), api_of("bob")

    assert reason_of(stranger.get(f"/{cid}"))[2] == "User doesn't have privilege to perform this operation on this memory container"
    assert reason_of(stranger.put(f"/{cid}", {"name": "x"}))[2] == "User doesn't have permissions to update memories in this container"


def test_a42_where_the_other_containers_cannot_be_looked_at_nothing_is_deleted(api, monkeypatch):
    def fails(container, item_type):
        raise RuntimeError

    cid = filled(api, {"index_prefix": "own"})
    create(api)
    api.client.raise_request_exception = False
    monkeypatch.setattr(documents, "index_name", fails)

    assert api.delete(f"/{cid}?delete_all_memories=true").status_code == 500
    assert api.get(f"/{cid}").status_code == 200
    assert WorkingMemory.objects.exists()
