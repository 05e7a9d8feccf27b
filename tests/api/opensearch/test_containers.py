"""Rows A of the list of behaviours, by their numbers."""

import re

import pytest

from memadmin.audit.models import AuditEntry
from memadmin.store import configuration
from memadmin.store.models import Container, PolicyState, Session, WorkingMemory
from tests.factories import ACTOR, NOON, make_container
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db
LLM = {"llm_id": "m-1"}
EMBEDDING = {"embedding_model_type": "TEXT_EMBEDDING", "embedding_model_id": "e-1", "embedding_dimension": 1024}
STRATEGY = {"type": "SEMANTIC", "namespace": ["user_id"]}
LEARNING = {**LLM, **EMBEDDING, "strategies": [STRATEGY]}


@pytest.fixture
def api():
    return api_of("ana")


def create(api, configuration=None, **details):
    body = {"name": "support-bot", **({} if configuration is None else {"configuration": configuration}), **details}
    answer = api.post("/_create", body)
    assert answer.status_code == 200, answer.content
    return answer.json()["memory_container_id"]


def refused(api, configuration=None, **details):
    return reason_of(api.post("/_create", {"name": "support-bot", "configuration": configuration, **details}))


def configuration_of(api, cid):
    return api.get(f"/{cid}").json()["configuration"]


def test_a1_create_with_own_prefix_and_index_settings(api):
    settings = {
        "session_index": {"index": {"number_of_shards": "1", "auto_expand_replicas": "0-all"}},
        "working_memory_index": {"index": {}},
    }

    answer = api.post(
        "/_create",
        {
            "name": "one",
            "description": "first",
            "configuration": {"index_prefix": "own", "use_system_index": False, "disable_session": False, "index_settings": settings},
        },
    )

    assert answer.json().keys() == {"memory_container_id", "status"}
    assert answer.json()["status"] == "created"
    stored = configuration_of(api, answer.json()["memory_container_id"])
    assert (stored["index_prefix"], stored["use_system_index"], stored["index_settings"]) == ("own", False, settings)


def test_a2_a_strategy_gets_an_id_and_is_enabled(api):
    cid = create(api, LEARNING)

    stored = configuration_of(api, cid)
    assert re.fullmatch(r"semantic_[0-9a-f]{8}", stored["strategies"][0].pop("id"))
    assert stored["strategies"] == [{**STRATEGY, "enabled": True}]
    assert stored["max_infer_size"] == 5


def test_a4_create_without_body(api):
    assert reason_of(api.post("/_create")) == (400, "parse_exception", "Request body is required")


def test_a5_unknown_keys_are_ignored(api):
    cid = create(api, {"colour": "red", "parameters": {"mine": 1}}, colour="red")

    answer = api.get(f"/{cid}").json()
    assert "colour" not in answer
    assert "colour" not in answer["configuration"]
    assert answer["configuration"]["parameters"] == {"llm_result_path": "$.output.message.content[0].text", "mine": 1}


def test_a6_create_without_configuration_takes_the_defaults(api):
    cid = create(api)

    assert configuration_of(api, cid) == {
        "index_prefix": "default",
        "use_system_index": True,
        "disable_history": False,
        "disable_session": False,
        "parameters": {"llm_result_path": "$.output.message.content[0].text"},
    }


@pytest.mark.parametrize("roles", [["r" * 128], ["größe:+=,.@-_/", "日本"], None, []])
def test_a7_backend_roles_that_are_accepted(api, roles):
    cid = create(api, backend_roles=roles)

    assert api.get(f"/{cid}").json().get("backend_roles", roles) == roles


@pytest.mark.parametrize(
    ("roles", "reason"),
    [
        (["r" * 129], "Backend role exceeds maximum length"),
        ([" "], "Backend role cannot be empty or blank"),
        (["a b"], "Backend role contains invalid characters"),
    ],
)
def test_backend_roles_that_are_refused(api, roles, reason):
    assert refused(api, backend_roles=roles)[:2] == (400, "parse_exception")
    assert reason in refused(api, backend_roles=roles)[2]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"embedding_model_id": "e"}, "Embedding model type is required when embedding model ID is provided"),
        ({"embedding_model_type": "TEXT_EMBEDDING"}, "Embedding model ID is required when embedding model type is provided"),
    ],
)
def test_a9_embedding_id_and_type_come_together(api, given, reason):
    assert refused(api, given) == (400, "illegal_argument_exception", reason)


@pytest.mark.parametrize(
    ("kind", "dimension", "reason"),
    [
        ("TEXT_EMBEDDING", None, "Dimension is required for TEXT_EMBEDDING"),
        ("SPARSE_ENCODING", 3, "Dimension is not allowed for SPARSE_ENCODING"),
        ("KMEANS", None, "Invalid embedding model type: KMEANS. Must be TEXT_EMBEDDING or SPARSE_ENCODING"),
    ],
)
def test_a10_the_dimension_fits_the_type(api, kind, dimension, reason):
    given = {"embedding_model_id": "e", "embedding_model_type": kind, "embedding_dimension": dimension}

    assert refused(api, given) == (400, "illegal_argument_exception", reason)


def test_the_dimension_of_a_sparse_model_is_an_explicit_null(api):
    cid = create(api, {"embedding_model_id": "e", "embedding_model_type": "SPARSE_ENCODING"})

    assert configuration_of(api, cid)["embedding_dimension"] is None


def test_a11_max_infer_size_has_a_limit(api):
    assert refused(api, {**LLM, "max_infer_size": 11})[2] == "Maximum infer size cannot exceed 10"


@pytest.mark.parametrize(
    ("given", "missing"), [(EMBEDDING, "LLM model"), (LLM, "embedding model"), ({}, "LLM model (llm_id), embedding model")]
)
def test_a12_strategies_need_both_models(api, given, missing):
    status, kind, reason = refused(api, {**given, "strategies": [STRATEGY]})

    assert (status, kind) == (400, "illegal_argument_exception")
    assert f"Strategies require both an LLM model and embedding model to be configured. Missing: {missing}" in reason


def test_a14_the_type_of_a_strategy_in_any_case_but_one_of_three(api):
    cid = create(api, {**LEARNING, "strategies": [{**STRATEGY, "type": "semantic"}]})

    assert configuration_of(api, cid)["strategies"][0]["type"] == "SEMANTIC"
    reason = "Invalid memory type: FOO. Must be SEMANTIC, USER_PREFERENCE, or SUMMARY"
    assert refused(api, {**LEARNING, "strategies": [{**STRATEGY, "type": "FOO"}]})[2] == reason


@pytest.mark.parametrize("namespace", [None, []])
def test_a_strategy_needs_a_namespace(api, namespace):
    reason = "Strategy namespace is required. Please provide a non-empty namespace array."

    assert refused(api, {**LEARNING, "strategies": [{"type": "SUMMARY", "namespace": namespace}]})[2] == reason


def test_a15_ids_of_models_are_kept_and_not_looked_up(api):
    cid = create(api, {"llm_id": "no-such-model"})

    assert configuration_of(api, cid)["llm_id"] == "no-such-model"


@pytest.mark.parametrize("character", ["\r", "\n", "\r\n", "\t", "\x01", "\x7f", "\\", "/", "*", " ", "A"])
def test_a16_prefixes_that_no_index_can_have(api, character):
    assert refused(api, {"index_prefix": f"a{character}b"})[0] == 400


def test_a17_a_prefix_of_letters_digits_and_dashes(api):
    assert configuration_of(api, create(api, {"index_prefix": "my-prefix_1"}))["index_prefix"] == "my-prefix_1"


def test_a19_without_system_index_the_prefix_is_random_and_stays(api):
    cid = create(api, {"use_system_index": False})

    prefix = configuration_of(api, cid)["index_prefix"]
    assert re.fullmatch(r"[0-9a-f]{8}", prefix)
    assert configuration_of(api, cid)["index_prefix"] == prefix


def test_a20_get_answers_the_document_at_the_top(api):
    answer = api.get(f"/{create(api, description='first')}").json()

    assert (answer["name"], answer["description"]) == ("support-bot", "first")
    assert isinstance(answer["created_time"], int)
    assert answer["owner"] == {
        "name": "ana",
        "backend_roles": [],
        "roles": [],
        "custom_attribute_names": [],
        "user_requested_tenant": None,
    }


def test_a21_get_of_an_unknown_id(api):
    reason = "Failed to find memory container with the provided memory container id: nope"

    assert reason_of(api.get("/nope")) == (404, "status_exception", reason)


def test_a22_under_multi_tenancy_the_header_decides(api):
    configuration.change("multi_tenancy_enabled", True, actor=ACTOR, now=NOON)
    created = api.post("/_create", {"name": "one"}, **{"x-tenant-id": "t1"})
    cid = created.json()["memory_container_id"]

    assert api.get(f"/{cid}", **{"x-tenant-id": "t1"}).json()["tenant_id"] == "t1"
    assert reason_of(api.get(f"/{cid}", **{"x-tenant-id": "t2"}))[2] == "You don't have permission to access this resource"
    for answer in (api.get(f"/{cid}"), api.put(f"/{cid}", {"name": "x"}), api.post("/_create", {"name": "x"})):
        assert reason_of(answer) == (403, "status_exception", "Tenant ID header is missing or has no value")


def test_j10_a_token_of_one_tenant_may_not_name_another(api):
    configuration.change("multi_tenancy_enabled", True, actor=ACTOR, now=NOON)
    bound = api_of("ana", tenant="t1")

    assert bound.post("/_create", {"name": "one"}, **{"x-tenant-id": "t1"}).status_code == 200
    assert reason_of(bound.post("/_create", {"name": "one"}, **{"x-tenant-id": "t2"}))[0] == 403


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


def test_a47_switched_off_every_route_answers_403(api):
    cid = create(api)
    configuration.change("agentic_memory_enabled", False, actor=ACTOR, now=NOON)
    reason = "The Agentic Memory APIs are not enabled. To enable, please update the setting plugins.ml_commons.agentic_memory_enabled"

    for answer in (
        api.post("/_create", {"name": "x"}),
        api.get(f"/{cid}"),
        api.put(f"/{cid}", {"name": "x"}),
        api.delete(f"/{cid}"),
        api.post(f"/{cid}/memories/sessions", {}),
        api.post(f"/{cid}/memories", {}),
        api.get(f"/{cid}/memories/working/x"),
        api.put(f"/{cid}/memories/working/x", {"tags": {}}),
        api.delete(f"/{cid}/memories/working/x"),
    ):
        assert reason_of(answer) == (403, "status_exception", reason)
    assert Container.objects.standing().exists()


def test_a_container_may_come_with_its_id(api):
    assert create(api, memory_container_id="my-bot_1") == "my-bot_1"
    assert api.get("/my-bot_1").status_code == 200
    assert reason_of(api.post("/_create", {"name": "x", "memory_container_id": "my-bot_1"})) == (
        409,
        "version_conflict_engine_exception",
        "memory container id 'my-bot_1' already exists",
    )
    assert reason_of(api.post("/_create", {"name": "x", "memory_container_id": "-x"}))[0] == 400


def test_the_id_of_a_deleted_container_is_free(api):
    create(api, memory_container_id="bot")
    api.delete("/bot")

    assert create(api, memory_container_id="bot") == "bot"


def test_a_token_that_lists_containers_goes_on_with_the_one_it_makes():
    api = api_of("bob", containers=[make_container()])

    cid = create(api)

    assert api.get(f"/{cid}").status_code == 200


@pytest.mark.parametrize("name", [None, "", "x" * 513, {"a": 1}, True])
def test_a_container_needs_a_name_that_is_text(api, name):
    assert reason_of(api.post("/_create", {"name": name}))[0] == 400
    assert Container.objects.filter(policy_state=PolicyState.NEVER_SET).count() == 0
