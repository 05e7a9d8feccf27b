"""Search by meaning with a small embedding server: texts that share words are near to each other."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import embedding
from memadmin.llm import client
from memadmin.recall import nearness
from memadmin.store.models import Container, LongTermMemory
from tests import model_server
from tests.factories import ACTOR, NOON, a_memory, make_container, store
from tests.model_server import ModelServer, embeds, fails, raw
from tests.tokens import ApiClient, api_of, reason_of

pytestmark = pytest.mark.django_db
TEXTS = ("drinks green tea", "drinks black coffee", "lives in Oslo near the harbour")
SEMANTIC, HYBRID = "/c1/memories/long-term/_semantic_search", "/c1/memories/long-term/_hybrid_search"


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(client, "PAUSE", 0)
    with model_server.running() as server:
        settings.EMBEDDING_URL, settings.EMBEDDING_MODEL = server.url, "hash"
        server.answer(embeds)
        yield server


@pytest.fixture
def api() -> ApiClient:
    return api_of("ana")


def learned(*memories: Any) -> Container:
    strategies = [{"id": "s", "type": "SEMANTIC", "namespace": ["user_id"]}]
    configuration = {"embedding_model_id": "e", "llm_id": "m", "strategies": strategies}
    container = make_container(external_id="c1", owner={"name": "ana"}, configuration=configuration)
    store(container, *(memories or [a_memory(text, owner="ana", namespace={"user_id": "ann"}) for text in TEXTS]))
    run_inline(queue.enqueue(embedding.EMBED, requested_by=ACTOR, now=NOON), now=NOON)
    return container


def hits(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.content
    found: list[dict[str, Any]] = json.loads(response.content)["hits"]["hits"]
    return found


def texts(response: Any) -> list[str]:
    return [hit["_source"]["memory"] for hit in hits(response)]


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, json.loads(response.content)["error"]["reason"]


def test_the_nearest_memories_come_first_with_scores_from_0_to_1(model: ModelServer, api: ApiClient):
    learned()

    found = hits(api.post(SEMANTIC, {"query": "green tea", "k": 2}))

    assert [hit["_source"]["memory"] for hit in found] == ["drinks green tea", "drinks black coffee"]
    assert 1 >= found[0]["_score"] > found[1]["_score"] >= 0.5
    assert "memory_embedding" not in found[0]["_source"]


def test_get_with_a_body_answers_too(model: ModelServer, api: ApiClient):
    learned()

    assert texts(api.get(SEMANTIC, {"query": "Oslo", "k": 1})) == ["lives in Oslo near the harbour"]


def test_namespace_tags_filter_and_least_score_narrow_the_search(model: ModelServer, api: ApiClient):
    of_ann = a_memory("likes tea", owner="ana", namespace={"user_id": "ann"}, tags={"topic": "drink"})
    of_bob = a_memory("likes tea too", user_id="bob", owner="ana", namespace={"user_id": "bob"}, strategy_id="s-2")
    learned(of_ann, of_bob)

    def asked(**more: Any) -> list[str]:
        return texts(api.post(SEMANTIC, {"query": "likes tea", **more}))

    assert asked() == ["likes tea", "likes tea too"]
    assert asked(namespace={"user_id": "bob"}) == ["likes tea too"]
    assert asked(tags={"topic": "drink"}) == ["likes tea"]
    assert asked(filter={"term": {"strategy_id": "s-2"}}) == ["likes tea too"]
    assert asked(min_score=0.99) == ["likes tea"]


def test_words_and_meaning_are_weighed(model: ModelServer, api: ApiClient):
    learned()

    by_words = texts(api.post(HYBRID, {"query": "harbour", "bm25_weight": 1.0, "neural_weight": 0.0, "min_score": 0.01}))
    both = hits(api.post(HYBRID, {"query": "black tea", "k": 3}))

    assert by_words == ["lives in Oslo near the harbour"]
    assert len(both) == 3
    assert all(0 <= hit["_score"] <= 1 for hit in both)
    assert both[-1]["_source"]["memory"] == "lives in Oslo near the harbour"


def test_what_was_found_counts_as_recalled_once(model: ModelServer, api: ApiClient):
    learned()

    api.post(HYBRID, {"query": "green tea", "k": 1})

    assert list(LongTermMemory.objects.order_by("id").values_list("hits", flat=True)) == [1, 0, 0]


def test_nobody_elses_memories_are_near(model: ModelServer):
    learned(a_memory("ana's tea", owner="ana"), a_memory("ben's tea", owner="ben"))
    other = make_container("other", external_id="c2", owner={"name": "ana"})
    store(other, a_memory("tea elsewhere", owner="ana"))

    assert texts(api_of("ana").post(SEMANTIC, {"query": "tea"})) == ["ana's tea"]


def test_without_an_endpoint_the_answer_says_so(api: ApiClient):
    learned()

    assert refusal(api.post(SEMANTIC, {"query": "tea"}))[0] == 400
    assert "no embedding endpoint" in refusal(api.post(HYBRID, {"query": "tea"}))[1]


@pytest.mark.parametrize("answer", [fails(500), fails(401), raw(b"{}")])
def test_an_endpoint_that_fails_is_a_clear_error(answer: Any, model: ModelServer, api: ApiClient):
    learned()
    model.answer(answer)

    assert refusal(api.post(SEMANTIC, {"query": "tea"})) == (503, (
        "The embedding endpoint does not answer as it should. Try again later, or search by words with _search."
    ))  # fmt: skip


def test_a_search_over_too_many_memories_asks_to_narrow_it(model: ModelServer, api: ApiClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nearness, "COMPARED", 2)
    learned()

    status, reason = refusal(api.post(SEMANTIC, {"query": "tea"}))

    assert (status, "Narrow the search" in reason) == (400, True)


@pytest.mark.parametrize(
    "body", [{"k": 1.5}, {"k": "x"}, {"namespace": "ann"}, {"tags": [1]}, {"filter": {"nonsense": {}}}, {"min_score": "high"}]
)
def test_a_body_of_another_form_is_refused(body: dict[str, Any], model: ModelServer, api: ApiClient):
    learned()

    assert refusal(api.post(SEMANTIC, {"query": "tea", **body}))[0] == 400


@pytest.mark.parametrize("path", [SEMANTIC, HYBRID])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"k": 10**400}, 400),
        ({"k": -(10**400)}, 400),
        ({"min_score": 10**400}, 200),
        ({"min_score": -(10**400)}, 200),
        ({"min_score": True}, 400),
        ({"namespace": {"user_id": 10**400}}, 200),
        ({"filter": {"term": {"namespace_size": {"value": 1, "boost": 10**400}}}}, 400),
    ],
)
def test_a_number_without_end_is_answered_or_refused(
    api: ApiClient, model: ModelServer, path: str, body: dict[str, Any], status: int
) -> None:
    learned()

    answer = api.post(path, {"query": "green tea", **body})

    assert answer.status_code == status
    if body.get("min_score") == 10**400:
        assert hits(answer) == []


def test_a_weight_without_end_is_out_of_range(api: ApiClient, model: ModelServer) -> None:
    learned()

    answer = api.post(HYBRID, {"query": "tea", "bm25_weight": 10**400})

    assert "must be between 0.0 and 1.0" in reason_of(answer)[2]


def test_d38_weights_that_add_up_are_answered(api: ApiClient, model: ModelServer) -> None:
    learned()

    found = hits(api.post(HYBRID, {"query": "green tea", "bm25_weight": 0.3, "neural_weight": 0.7}))

    assert found[0]["_source"]["memory"] == "drinks green tea"
