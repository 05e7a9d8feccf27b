"""Search by meaning, alone or together with words. It needs an embedding endpoint, and says so where there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from memadmin.access.scopes import Scope
from memadmin.api.opensearch import documents
from memadmin.api.opensearch.endpoints import Call, endpoint
from memadmin.api.opensearch.errors import PARSE, ApiError, bad_argument
from memadmin.api.opensearch.querying.conditions import condition_of
from memadmin.api.opensearch.querying.mapping import Mapped
from memadmin.api.opensearch.querying.parsing import parse_query
from memadmin.api.opensearch.querying.queries import Bool, Clause, MatchAll, Search
from memadmin.api.opensearch.querying.searching import Found, Hit, find
from memadmin.api.opensearch.reach import container_of
from memadmin.api.opensearch.searches import MAY_NOT_SEARCH, answer, asked, reachable
from memadmin.llm.client import BadAnswer, Endpoint, Refused, Unreachable, embed
from memadmin.llm.endpoints import embedding_endpoint
from memadmin.recall.nearness import Near, TooMany, nearest
from memadmin.recall.touching import touch
from memadmin.store.models import Container, ItemType

NO_EMBEDDING = "This memory container does not have an embedding model configured. Search it by words with _search."
NO_STRATEGIES = "This memory container does not have any memory strategies configured. Search it by words with _search."
NO_ENDPOINT = "There is no embedding endpoint, so this memory container cannot be searched by meaning. Use _search."
NO_ANSWER = "The embedding endpoint does not answer as it should. Try again later, or search by words with _search."
MOST_NEIGHBOURS = 10_000
LONGEST_QUERY = 8_000  # characters
SUM_TOLERANCE = 0.001
FARTHEST = 1_000_000  # a number beyond it means the same: a whole number may be longer than a float can be

Scores = Mapping[int, float]  # by the key of the memory


@dataclass(frozen=True, slots=True)
class _Asked:
    """A checked body, over the memories that the token reaches and the filters let through."""

    query: str
    k: int
    least: float
    rows: QuerySet[Any]
    mapped: Mapped


@endpoint(Scope.MEMORY_READ)
def semantic_search(call: Call, cid: str) -> dict[str, Any]:
    began = time.monotonic()
    container = container_of(call.principal, cid, denied=MAY_NOT_SEARCH)
    wanted = _read(call, container)
    model = _endpoint_of(container)
    scores = {near.memory_id: _score(near) for near in _nearest(wanted, model)}
    return _answered(call, container, wanted, scores, began=began)


@endpoint(Scope.MEMORY_READ)
def hybrid_search(call: Call, cid: str) -> dict[str, Any]:
    began = time.monotonic()
    container = container_of(call.principal, cid, denied=MAY_NOT_SEARCH)
    wanted = _read(call, container)
    by_words, by_meaning = _weights(call.document or {})
    model = _endpoint_of(container)
    words = _in_range({hit.row.pk: hit.score or 0.0 for hit in _with_words(wanted)})
    meanings = _in_range({near.memory_id: _score(near) for near in _nearest(wanted, model)})
    total = by_words + by_meaning
    mixed = {key: (by_words * words.get(key, 0.0) + by_meaning * meanings.get(key, 0.0)) / total for key in {**words, **meanings}}
    return _answered(call, container, wanted, {key: score for key, score in mixed.items() if score >= wanted.least}, began=began)


def _read(call: Call, container: Container) -> _Asked:
    body = call.document
    if body is None:
        raise ApiError(400, PARSE, "Search memories request has empty body")
    query = body.get("query")
    if not isinstance(query, str) or not query.strip():
        raise bad_argument("query cannot be null or blank")
    k = _number(body, "k", 10)
    if not 1 <= k <= MOST_NEIGHBOURS or k != int(k):
        raise bad_argument(f"k must be between 1 and {MOST_NEIGHBOURS}")
    mapped = Mapped(ItemType.LONG_TERM, container)
    filters = [*_exactly(body, "namespace"), *_exactly(body, "tags"), *_given_filter(body)]
    condition = asked(condition_of, asked(parse_query, {"bool": {"filter": filters}}) if filters else MatchAll(), mapped.field)
    rows = reachable(call.principal, container, ItemType.LONG_TERM).filter(condition)
    return _Asked(query[:LONGEST_QUERY], int(k), _number(body, "min_score", 0.0), rows, mapped)


def _exactly(body: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    given = body.get(name)
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise bad_argument(f"{name} must be an object of keys and values")
    return [{"term": {f"{name}.{key}": value}} for key, value in given.items()]


def _given_filter(body: Mapping[str, Any]) -> list[Any]:
    given = body.get("filter")
    return given if isinstance(given, list) else [] if given is None else [given]


def _weights(body: Mapping[str, Any]) -> tuple[float, float]:
    weights = _number(body, "bm25_weight", 0.5), _number(body, "neural_weight", 0.5)
    if not all(0.0 <= weight <= 1.0 for weight in weights):
        raise bad_argument("bm25_weight and neural_weight must be between 0.0 and 1.0")
    if abs(sum(weights) - 1.0) > SUM_TOLERANCE:
        raise bad_argument(f"bm25_weight and neural_weight must sum to 1.0, got {sum(weights)}")
    return weights


def _number(body: Mapping[str, Any], name: str, default: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise bad_argument(f"{name} must be a number")
    return max(-FARTHEST, min(FARTHEST, value))


def _endpoint_of(container: Container) -> Endpoint:
    if not container.configuration.get("embedding_model_id"):
        raise bad_argument(NO_EMBEDDING)
    if not container.configuration.get("strategies"):
        raise bad_argument(NO_STRATEGIES)
    found = embedding_endpoint()
    if found is None:
        raise bad_argument(NO_ENDPOINT)
    return found


def _nearest(wanted: _Asked, model: Endpoint) -> list[Near]:
    try:
        [vector] = embed(model, [wanted.query])
        return nearest(wanted.rows, vector, model=model.model, k=wanted.k, least=2 * wanted.least - 1)
    except TooMany as problem:
        raise bad_argument(str(problem)) from None
    except (Unreachable, Refused, BadAnswer):
        raise ApiError(503, "exception", NO_ANSWER) from None


def _score(near: Near) -> float:
    """Return the likeness as a score from 0 to 1, as the engine's cosine space does."""
    return (1 + near.likeness) / 2


def _with_words(wanted: _Asked) -> list[Hit]:
    words: Clause = Bool(must=(asked(parse_query, {"match": {"memory": wanted.query}}),))
    search = Search(query=words, size=wanted.k, count_to=None)
    found: Found = asked(find, wanted.rows, search, wanted.mapped.field)
    return found.hits


def _in_range(scores: Scores) -> Scores:
    """Spread scores over 0 to 1 (min-max), so that those of two kinds can be added. One alone, or all alike, are all 1."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in scores.items()}


def _answered(call: Call, container: Container, wanted: _Asked, scores: Scores, *, began: float) -> dict[str, Any]:
    best = sorted(scores, key=lambda key: (-scores[key], key))[: wanted.k]
    rows = wanted.rows.in_bulk(best)
    hits = [Hit(rows[key], scores[key], None) for key in best if key in rows]
    touch(rows, now=call.now, occasion=call.occasion)
    found = Found(hits=hits, total=len(hits), exact=True, max_score=hits[0].score if hits else None)
    search = Search(query=MatchAll(), size=wanted.k)
    index = documents.index_name(container, ItemType.LONG_TERM)
    return answer(found, search, index=lambda row: index, began=began)
