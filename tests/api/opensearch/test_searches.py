"""Search and deletion by query over HTTP. A number in a name is that of the compatibility table."""

import json

import pytest

from memadmin.access.scopes import Scope
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.store import configuration, deleting
from memadmin.store.models import LongTermMemory, WorkingMemory
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_pin, a_session, make_container, make_memory, store, subject_of
from tests.tokens import api_of, reason_of

pytestmark = pytest.mark.django_db
ALL = {"query": {"match_all": {}}}
OWNER = {"name": "ana"}


@pytest.fixture
def api(db):
    return api_of("ana")


@pytest.fixture
def container(db):
    return make_container(external_id="c1", owner=OWNER)


def hits_of(answer):
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)["hits"]


def sources(answer, field):
    return [hit["_source"][field] for hit in hits_of(answer)["hits"]]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a44_all_containers_are_found_with_score_one(api, container, method):
    hits = hits_of(api.call(method, "/_search", ALL))

    assert hits["total"] == {"value": 1, "relation": "eq"}
    assert hits["max_score"] == 1.0
    [hit] = hits["hits"]
    assert (hit["_id"], hit["_score"], hit["_index"]) == ("c1", 1.0, ".plugins-ml-am-memory-container")
    assert hit["_source"]["name"] == "pharmacy"
    assert (hit["_version"], hit["_seq_no"], hit["_primary_term"]) == (1, 0, 1)


def test_a45_a_container_is_found_by_its_id(api, container):
    make_container("other", external_id="c2", owner=OWNER)

    hits = hits_of(api.post("/_search", {"query": {"bool": {"must": [{"terms": {"_id": ["c1"]}}]}}}))

    assert [(hit["_id"], hit["_score"]) for hit in hits["hits"]] == [("c1", 1.0)]


def test_a46_a_search_without_any_container_is_empty(api):
    assert hits_of(api.get("/_search", ALL)) == {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}


@pytest.mark.parametrize(
    "query",
    [
        {"match": {"name": "PHARMACY"}},
        {"term": {"name.keyword": "pharmacy"}},
        {"nested": {"path": "owner", "query": {"term": {"owner.name": "ana"}}}},
        {"term": {"backend_roles.keyword": "cs"}},
        {"term": {"configuration.index_prefix": "shop"}},
        {"term": {"configuration.disable_session": True}},
    ],
    ids=str,
)
def test_containers_are_found_by_their_fields(api, query):
    make_container("Pharmacy", owner=OWNER, backend_roles=["cs"], configuration={"index_prefix": "shop"}, sessions_enabled=False)
    make_container(
        "pharmacy", external_id="named", owner=OWNER, backend_roles=["cs"], configuration={"index_prefix": "shop"}, sessions_enabled=False
    )
    make_container("other", owner={"name": "ana2"})

    ids = {hit["_id"] for hit in hits_of(api.post("/_search", {"query": query}))["hits"]}

    assert "named" in ids
    assert len(ids) == (1 if "name.keyword" in str(query) else 2)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/_search"),
        ("GET", "/c1/memories/working/_search"),
        ("POST", "/c1/memories/long-term/_semantic_search"),
        ("POST", "/c1/memories/long-term/_hybrid_search"),
        ("POST", "/c1/memories/working/_delete_by_query"),
    ],
)
def test_a47_nothing_is_searched_while_the_api_is_off(api, container, method, path):
    configuration.change("agentic_memory_enabled", False, actor=ACTOR, now=NOON)

    status, kind, reason = reason_of(api.call(method, path, ALL))

    assert (status, kind) == (403, "status_exception")
    assert reason.startswith("The Agentic Memory APIs are not enabled.")


def test_d23_deleting_by_a_field_that_is_not_there_deletes_nothing(api, container):
    store(container, a_message(owner="ana"))

    answer = api.post("/c1/memories/working/_delete_by_query", {"query": {"match": {"user_id": "bob"}}})

    assert json.loads(answer.content)["deleted"] == 0
    assert WorkingMemory.objects.count() == 1


def test_d24_deleting_by_owner_answers_in_the_by_scroll_shape(api, container):
    store(container, a_message(owner="ana"), a_message(owner="ana", session_ref="s-2"), a_message(owner="ben"))

    body = json.loads(api.post("/c1/memories/working/_delete_by_query", {"query": {"match": {"owner_id": "ana"}}}).content)

    assert (body["total"], body["deleted"], body["failures"], body["requests_per_second"]) == (2, 2, [], -1.0)
    assert WorkingMemory.objects.get().owner == "ben"
    assert subject_of(container).working == 1


def test_a_deletion_without_a_query_is_refused(api, container):
    for body in ({}, None, {"query": None}):
        answer = reason_of(api.post("/c1/memories/working/_delete_by_query", body))
        assert answer == (400, "action_request_validation_exception", "Validation Failed: 1: Query is required;")


@pytest.mark.parametrize("name", ["sessions", "history"])
def test_d26_a_type_that_is_switched_off_has_nothing_to_delete_and_nothing_to_find(api, name):
    make_container(external_id="c2", owner=OWNER, sessions_enabled=False, history_enabled=False)

    status, _, reason = reason_of(api.post(f"/c2/memories/{name}/_delete_by_query", ALL))

    assert (status, reason) == (400, f"Invalid memory type or memory type is disabled: {name}")
    assert hits_of(api.get(f"/c2/memories/{name}/_search", ALL))["hits"] == []


def test_d27_deleting_everything_takes_only_what_is_ones_own(api, container):
    store(container, a_memory("mine", owner="ana"), a_memory("his", owner="ben"), a_memory("nobody's"))

    api.post("/c1/memories/long-term/_delete_by_query", ALL)

    assert set(LongTermMemory.objects.values_list("text", flat=True)) == {"his", "nobody's"}


def test_d28_a_token_with_all_access_has_no_owner_filter(container):
    store(container, a_memory("mine", owner="ana"), a_memory("his", owner="ben"), a_memory("nobody's"))
    api = api_of("root", all_access=True)

    assert hits_of(api.get("/c1/memories/long-term/_search", ALL))["total"]["value"] == 3
    api.post("/c1/memories/long-term/_delete_by_query", ALL)

    assert LongTermMemory.objects.count() == 0


def test_a_pinned_memory_goes_by_query_as_documented_and_the_log_says_so(api, container):
    store(container, a_memory("kept", owner="ana", pin=a_pin()), a_memory("other", owner="ana"))

    api.post("/c1/memories/long-term/_delete_by_query", ALL)

    entry = AuditEntry.objects.get(action=Action.ITEMS_DELETED)
    assert entry.counts == {"asked": 2, "deleted": 2, "pinned": 1}
    assert entry.actor.startswith("token/")
    assert subject_of(container).pinned_long_term == 0


def test_a_held_memory_stays_and_the_deletion_comes_to_its_end(api, container, monkeypatch):
    monkeypatch.setattr("memadmin.api.opensearch.searches.AT_ONCE", 1)
    store(container, a_memory("held", owner="ana"), a_memory("second", owner="ana"), a_memory("third", owner="ana"))
    LongTermMemory.objects.filter(text="held").update(held=True)

    body = json.loads(api.post("/c1/memories/long-term/_delete_by_query", ALL).content)

    assert body["deleted"] == 2
    assert LongTermMemory.objects.get().text == "held"
    assert deleting.AT_ONCE > 1


def test_d29_a_namespace_is_found_and_a_sorted_hit_says_by_what(api, container):
    store(
        container,
        a_message("for bob", user_id="bob", owner="ana", namespace={"user_id": "bob"}, created_at=NOON),
        a_message("for ann", owner="ana", namespace={"user_id": "ann"}),
    )

    body = {"query": {"bool": {"must": [{"term": {"namespace.user_id": "bob"}}]}}, "sort": [{"created_time": {"order": "desc"}}]}
    hits = hits_of(api.get("/c1/memories/working/_search", body))

    assert (hits["total"]["value"], hits["max_score"]) == (1, None)
    [hit] = hits["hits"]
    assert (hit["sort"], hit["_score"]) == ([1772366400000], None)
    assert hit["_source"]["created_time"] == 1772366400000


def test_d31_a_search_without_a_body_is_refused_and_an_empty_one_finds_all(api, container):
    store(container, a_message(owner="ana"))

    assert reason_of(api.get("/c1/memories/working/_search")) == (400, "parse_exception", "Search memories request has empty body")
    assert hits_of(api.get("/c1/memories/working/_search", {}))["total"]["value"] == 1


def test_d32_a_search_stays_in_its_container(api, container):
    store(make_container("other", external_id="c2", owner=OWNER), a_message("there", owner="ana"))
    store(container, a_message("here", owner="ana", external_id="m1"))

    assert [hit["_id"] for hit in hits_of(api.get("/c1/memories/working/_search", ALL))["hits"]] == ["m1"]


def test_d33_an_empty_type_is_searched_without_an_error(api, container):
    for name in ("sessions", "working", "long-term", "history"):
        assert hits_of(api.get(f"/c1/memories/{name}/_search", ALL))["hits"] == []


def test_d34_size_zero_only_counts(api, container):
    store(container, *(a_message(owner="ana", session_ref=f"s{number}") for number in range(12)))

    hits = hits_of(api.get("/c1/memories/working/_search", {**ALL, "size": 0, "track_total_hits": True}))

    assert hits == {"total": {"value": 12, "relation": "eq"}, "max_score": None, "hits": []}
    assert hits_of(api.get("/c1/memories/working/_search", {"track_total_hits": 5}))["total"] == {"value": 5, "relation": "gte"}
    assert "total" not in hits_of(api.get("/c1/memories/working/_search", {"track_total_hits": False}))
    assert len(hits_of(api.get("/c1/memories/working/_search", ALL))["hits"]) == 10


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"query": " "}, "query cannot be null or blank"),
        ({"query": "tea", "k": 0}, "k must be between 1 and 10000"),
        ({"query": "tea", "k": 10_001}, "k must be between 1 and 10000"),
    ],
)
@pytest.mark.parametrize("kind", ["_semantic_search", "_hybrid_search"])
def test_d36_a_search_by_meaning_checks_its_input(api, container, kind, body, reason):
    assert reason_of(api.post(f"/c1/memories/long-term/{kind}", body)) == (400, "illegal_argument_exception", reason)


def test_d37_without_an_embedding_model_or_strategies_there_is_no_search_by_meaning(api, container):
    make_container("half", external_id="c2", owner=OWNER, configuration={"embedding_model_id": "e"})

    answers = [reason_of(api.post(f"/{cid}/memories/long-term/_semantic_search", {"query": "tea"})) for cid in ("c1", "c2")]

    assert [status for status, _, _ in answers] == [400, 400]
    assert answers[0][2].startswith("This memory container does not have an embedding model configured")
    assert answers[1][2].startswith("This memory container does not have any memory strategies configured")


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ((0.7, 0.7), "bm25_weight and neural_weight must sum to 1.0, got 1.4"),
        ((-0.1, 1.1), "bm25_weight and neural_weight must be between 0.0 and 1.0"),
        ((0.3, 0.7), "This memory container does not have an embedding model configured. Search it by words with _search."),
    ],
)
def test_d38_the_weights_of_a_hybrid_search_add_up(api, container, weights, reason):
    body = {"query": "tea", "bm25_weight": weights[0], "neural_weight": weights[1]}

    assert reason_of(api.post("/c1/memories/long-term/_hybrid_search", body))[2] == reason


def test_j8_somebody_elses_memory_in_a_shared_container_is_invisible(container):
    container.backend_roles = ["cs"]
    container.save()
    store(container, a_memory("hers", owner="ana"), a_session(owner="ana"), a_message(owner="ana"), a_change(owner="ana"))
    ben = api_of("ben", backend_roles=("cs",))

    for name in ("sessions", "working", "long-term", "history"):
        assert hits_of(ben.get(f"/c1/memories/{name}/_search", ALL))["total"]["value"] == 0
        assert json.loads(ben.post(f"/c1/memories/{name}/_delete_by_query", ALL).content)["deleted"] == 0


def test_a_token_of_other_containers_cannot_tell_that_this_one_is_there(container):
    api = api_of("ana", containers=[make_container("other", external_id="c2")])

    assert reason_of(api.get("/c1/memories/working/_search", ALL))[0] == 404
    assert reason_of(api.post("/c1/memories/working/_delete_by_query", ALL))[0] == 404
    assert [hit["_id"] for hit in hits_of(api.get("/_search", ALL))["hits"]] == ["c2"]


def test_a_token_needs_the_scope(container):
    api = api_of("ana", scopes=[Scope.MEMORY_READ])

    assert api.get("/c1/memories/working/_search", ALL).status_code == 200
    assert reason_of(api.get("/_search", ALL))[0] == 403
    assert reason_of(api.post("/c1/memories/working/_delete_by_query", ALL))[0] == 403


def test_a_search_of_long_term_memories_counts_as_one_recall_of_each_hit(api, container):
    found, other = make_memory(container, "likes tea", owner="ana"), make_memory(container, "likes coffee", owner="ana")

    api.post("/c1/memories/long-term/_search", {"query": {"match": {"memory": "tea"}}})
    api.post("/c1/memories/long-term/_search", {"query": {"match": {"memory": "tea"}}, "size": 0})

    found.refresh_from_db()
    other.refresh_from_db()
    assert (found.hits, other.hits, other.last_accessed_at) == (1, 0, None)
    assert found.last_accessed_at is not None


HUGE = 10**400  # a whole number that no float can hold
NUMBERED = [
    {"query": {"match_all": {"boost": HUGE}}},
    {"query": {"term": {"session_id": {"value": "s", "boost": HUGE}}}},
    {"query": {"terms": {"session_id": ["s"], "boost": -HUGE}}},
    {"query": {"bool": {"should": [{"match_all": {}}], "minimum_should_match": HUGE, "boost": HUGE}}},
    {"query": {"range": {"created_time": {"gte": HUGE, "lt": -HUGE}}}},
    {"query": {"range": {"message_id": {"gte": -HUGE, "lt": HUGE}}}},
    {"query": {"term": {"message_id": HUGE}}},
    {"query": {"terms": {"namespace_size": [HUGE, 1]}}},
    {"query": {"ids": {"values": [HUGE]}}},
    *({"query": {"match_all": {}}, name: HUGE} for name in ("size", "from", "track_total_hits", "_source", "sort", "search_after")),
    *(
        {"query": {"match_all": {}}, "sort": [{field: order}], "search_after": [number]}
        for field in ("message_id", "namespace_size", "infer", "created_time", "session_id", "_id")
        for order, number in (("asc", HUGE), ("desc", -HUGE))
    ),
]


@pytest.mark.parametrize("body", NUMBERED, ids=lambda body: json.dumps(body).replace(str(HUGE), "huge"))
def test_a_number_without_end_is_answered_or_refused(api, container, body):
    store(container, a_message("a"), a_message("b"))

    assert api.post("/c1/memories/working/_search", body).status_code in (200, 400)


@pytest.mark.parametrize("field", ["message_id", "created_time", "infer"])
@pytest.mark.parametrize(("order", "number", "left"), [("asc", HUGE, 0), ("asc", -HUGE, 3), ("desc", -HUGE, 0), ("desc", HUGE, 3)])
def test_search_goes_on_behind_a_number_without_end(api, container, field, order, number, left):
    store(container, *(a_message("a", message_id=place, owner="ana", session_ref=f"s-{place}") for place in (1, None, 2)))

    found = hits_of(api.post("/c1/memories/working/_search", {**ALL, "sort": [{field: order}], "search_after": [number]}))

    assert len(found["hits"]) == left
