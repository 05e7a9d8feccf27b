"""Rows A of the list of behaviours, by their numbers."""

import re

import pytest

from memadmin.store import configuration
from memadmin.store.models import Container, PolicyState
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.support_bots import EMBEDDING, LEARNING, LLM, STRATEGY, configuration_of, create, refused
from tests.tokens import BASE, api_of, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of("ana")


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


def test_a_container_with_a_policy_is_born_as_version_1(api):
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)

    cid = create(api, {"retention_policy": {"sessions": {"max_count": 5}}})

    [hit] = api.post("/_search", {"query": {"ids": {"values": [cid]}}}).json()["hits"]["hits"]
    assert (hit["_version"], hit["_seq_no"]) == (1, 0)
    assert api.put(f"/{cid}", {"description": "x"}).json()["_version"] == 2


def test_vectors_of_two_models_have_no_place_in_one_index(api):
    other = {**LEARNING, "embedding_dimension": 7}
    create(api, LEARNING)
    create(api, LEARNING)

    status, kind, reason = refused(api, other)

    assert (status, kind) == (400, "illegal_argument_exception")
    assert reason.startswith("Cannot create memory container: Embedding configuration conflicts with existing shared index")
    create(api, {**other, "index_prefix": "apart"})
    create(api, {**other, "use_system_index": False, "index_prefix": "default"})
    create(api, {name: value for name, value in other.items() if name not in {"strategies"}})  # no strategies: no vectors


def test_the_first_strategies_may_not_bring_another_model_into_a_shared_index(api):
    create(api, LEARNING)
    cid = create(api, {name: value for name, value in LEARNING.items() if name != "strategies"} | {"embedding_dimension": 7})

    answer = api.put(f"/{cid}", {"configuration": {"strategies": LEARNING["strategies"]}})

    assert reason_of(answer)[0] == 400
    assert "Cannot update memory container: Embedding configuration conflicts" in reason_of(answer)[2]
    assert "strategies" not in configuration_of(api, cid)


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


@pytest.mark.parametrize("character", ["\0", "\r", "\n", "\r\n", "\t", "\x01", "\x7f", "\\", "/", "*", " ", "A"])
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


def test_j1_there_is_no_mode_without_tokens(api, client):
    cid = create(api)

    for method, path in (("GET", f"/{cid}"), ("POST", "/_create"), ("POST", "/_search"), ("DELETE", f"/{cid}")):
        answer = client.generic(method, f"{BASE}{path}", b'{"name": "x"}', content_type="application/json")
        assert reason_of(answer)[:2] == (401, "security_exception")


def test_j10_a_token_of_one_tenant_may_not_name_another(api):
    configuration.change("multi_tenancy_enabled", True, actor=ACTOR, now=NOON)
    bound = api_of("ana", tenant="t1")

    assert bound.post("/_create", {"name": "one"}, **{"x-tenant-id": "t1"}).status_code == 200
    assert reason_of(bound.post("/_create", {"name": "one"}, **{"x-tenant-id": "t2"}))[0] == 403


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


def test_a_container_whose_id_has_a_slash_goes_by_its_uid_and_a_memory_by_its_id(api):
    container = make_container("imported", external_id="demo/shop", owner={"name": "ana"})
    store(container, a_memory("likes tea", external_id="a/b", owner="ana"))

    [hit] = api.post("/_search", {"query": {"match_all": {}}}).json()["hits"]["hits"]
    [memory] = api.post(f"/{hit['_id']}/memories/long-term/_search", {"query": {"match_all": {}}}).json()["hits"]["hits"]

    assert hit["_id"] == str(container.uid)
    assert api.get(f"/{hit['_id']}").json()["name"] == "imported"
    assert api.get(f"/{hit['_id']}/memories/long-term/{memory['_id']}").json()["memory"] == "likes tea"
