"""Search among containers and memories, and deletion of what a search finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Max, QuerySet

from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.access.visibility import visible_containers
from memadmin.api.opensearch import documents
from memadmin.api.opensearch.endpoints import Call, check_enabled, check_tenant, endpoint
from memadmin.api.opensearch.envelopes import deleted_by_query, position
from memadmin.api.opensearch.errors import ARGUMENT, PARSE, VALIDATION, ApiError
from memadmin.api.opensearch.querying.bodies import parse_search, query_of
from memadmin.api.opensearch.querying.conditions import condition_of
from memadmin.api.opensearch.querying.mapping import Mapped
from memadmin.api.opensearch.querying.projection import project
from memadmin.api.opensearch.querying.queries import QueryRefused, Search
from memadmin.api.opensearch.querying.searching import Found, Hit, find
from memadmin.api.opensearch.reach import container_of, item_type_of, rows_of
from memadmin.recall.touching import touch
from memadmin.store.deleting import AT_ONCE, delete_items
from memadmin.store.models import Container, ItemType

MAY_NOT_SEARCH = "User doesn't have permissions to search memories in this container"
MAY_NOT_DELETE = "User doesn't have permissions to delete memories in this container"
Result = TypeVar("Result")


@endpoint(Scope.CONTAINER_READ)
def search_containers(call: Call) -> dict[str, Any]:
    began = time.monotonic()
    check_enabled(call.principal)
    check_tenant(call.principal)
    search = asked(parse_search, call.document or {})
    rows = visible_containers(call.principal)
    found = asked(find, rows, search, Mapped(None).field)
    return answer(found, search, index=lambda row: documents.CONTAINER_INDEX, began=began)


@endpoint(Scope.MEMORY_READ)
def search_memories(call: Call, cid: str, name: str) -> dict[str, Any]:
    began = time.monotonic()
    container = container_of(call.principal, cid, denied=MAY_NOT_SEARCH)
    item_type = item_type_of(name)
    if call.document is None:
        raise ApiError(400, PARSE, "Search memories request has empty body")
    search = asked(parse_search, call.document)
    found = asked(find, reachable(call.principal, container, item_type), search, Mapped(item_type, container).field)
    if item_type == ItemType.LONG_TERM:
        touch((hit.row.pk for hit in found.hits), now=call.now, occasion=call.occasion)
    index = documents.index_name(container, item_type)
    return answer(found, search, index=lambda row: index, began=began)


@endpoint(Scope.MEMORY_DELETE)
def delete_by_query(call: Call, cid: str, name: str) -> dict[str, Any]:
    """Delete what the query finds, in batches that are complete one by one. Pinned ones go too, as documented; held ones stay."""
    began = time.monotonic()
    container = container_of(call.principal, cid, denied=MAY_NOT_DELETE)
    item_type = item_type_of(name)
    query = asked(query_of, call.document or {})
    if query is None:
        raise ApiError(400, VALIDATION, "Validation Failed: 1: Query is required;")
    if item_type in switched_off(container):
        raise ApiError(400, ARGUMENT, f"Invalid memory type or memory type is disabled: {item_type}")
    condition = asked(condition_of, query, Mapped(item_type, container).field)
    matching = rows_of(call.principal, container, item_type).filter(condition)
    deleted = delete_all(container, item_type, matching, actor=call.principal.actor, now=call.now)
    return deleted_by_query(deleted=deleted, took=milliseconds_since(began))


def switched_off(container: Container) -> set[ItemType]:
    """Return the types that the container is configured not to have."""
    types = set() if container.sessions_enabled else {ItemType.SESSION}
    return types if container.history_enabled else types | {ItemType.HISTORY}


def reachable(principal: Principal, container: Container, item_type: ItemType) -> QuerySet[Any]:
    """Return the rows to search; a type that the container does not have is as an index that is not there."""
    rows = rows_of(principal, container, item_type)
    return rows.none() if item_type in switched_off(container) else rows


def delete_all(container: Container, item_type: ItemType, matching: QuerySet[Any], *, actor: str, now: datetime) -> int:
    """Delete the rows that are there now and return how many went."""
    return sum(delete_items(container, item_type, ids, actor=actor, now=now).items for ids in _batches(matching))


def _batches(matching: QuerySet[Any]) -> Iterator[list[int]]:
    newest = matching.aggregate(newest=Max("pk"))["newest"]  # what others add meanwhile was not asked for
    behind = 0
    while newest and (ids := list(matching.filter(pk__gt=behind, pk__lte=newest).order_by("pk").values_list("pk", flat=True)[:AT_ONCE])):
        yield ids
        behind = ids[-1]


def asked(question: Callable[..., Result], *arguments: Any) -> Result:
    """Call something that may refuse the query, and refuse it in the API's words."""
    try:
        return question(*arguments)
    except QueryRefused as refusal:
        raise ApiError(400, refusal.kind, str(refusal)) from None


def answer(found: Found, search: Search, *, index: Callable[[Any], str], began: float) -> dict[str, Any]:
    """Return the standard search response."""
    hits: dict[str, Any] = {"max_score": found.max_score, "hits": [_hit(hit, search, index(hit.row)) for hit in found.hits]}
    if found.total is not None:
        hits = {"total": {"value": found.total, "relation": "eq" if found.exact else "gte"}, **hits}
    return {
        "took": milliseconds_since(began),
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": hits,
    }


def _hit(hit: Hit, search: Search, index: str) -> dict[str, Any]:
    body: dict[str, Any] = {"_index": index, "_id": documents.wire_id(hit.row), **position(hit.row), "_score": hit.score}
    if search.source.wanted:
        body["_source"] = project(documents.source_of(hit.row), search.source)
    return body if hit.sort is None else {**body, "sort": hit.sort}


def milliseconds_since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
