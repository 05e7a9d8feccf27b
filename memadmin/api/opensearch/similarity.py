"""Search by meaning. It needs an embedding model, and says so where there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memadmin.access.scopes import Scope
from memadmin.api.opensearch.endpoints import Call, endpoint
from memadmin.api.opensearch.errors import PARSE, ApiError, bad_argument
from memadmin.api.opensearch.reach import container_of
from memadmin.api.opensearch.searches import MAY_NOT_SEARCH
from memadmin.store.models import Container

NO_EMBEDDING = "This memory container does not have an embedding model configured. Search it by words with _search."
NO_STRATEGIES = "This memory container does not have any memory strategies configured. Search it by words with _search."
MOST_NEIGHBOURS = 10_000
SUM_TOLERANCE = 0.001


@endpoint(Scope.MEMORY_READ)
def semantic_search(call: Call, cid: str) -> dict[str, Any]:
    container = container_of(call.principal, cid, denied=MAY_NOT_SEARCH)
    _check_common(call.document)
    raise _cannot(container)


@endpoint(Scope.MEMORY_READ)
def hybrid_search(call: Call, cid: str) -> dict[str, Any]:
    container = container_of(call.principal, cid, denied=MAY_NOT_SEARCH)
    body = _check_common(call.document)
    weights = [_number(body, name, 0.5) for name in ("bm25_weight", "neural_weight")]
    if not all(0.0 <= weight <= 1.0 for weight in weights):
        raise bad_argument("bm25_weight and neural_weight must be between 0.0 and 1.0")
    if abs(sum(weights) - 1.0) > SUM_TOLERANCE:
        raise bad_argument(f"bm25_weight and neural_weight must sum to 1.0, got {sum(weights)}")
    raise _cannot(container)


def _check_common(body: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if body is None:
        raise ApiError(400, PARSE, "Search memories request has empty body")
    query = body.get("query")
    if not isinstance(query, str) or not query.strip():
        raise bad_argument("query cannot be null or blank")
    if not 1 <= _number(body, "k", 10) <= MOST_NEIGHBOURS:
        raise bad_argument(f"k must be between 1 and {MOST_NEIGHBOURS}")
    return body


def _number(body: Mapping[str, Any], name: str, default: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise bad_argument(f"{name} must be a number")
    return value


def _cannot(container: Container) -> ApiError:
    if not container.configuration.get("embedding_model_id"):
        return bad_argument(NO_EMBEDDING)
    if not container.configuration.get("strategies"):
        return bad_argument(NO_STRATEGIES)
    return bad_argument("There is no embedding endpoint, so this memory container cannot be searched by meaning. Use _search.")
