"""Which container, which memories: the one place where the compatible API decides what a token reaches.

The container must be the token's to use, a memory must lie in the container of the path, and it must be the bearer's own unless the
token has all access.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memadmin.access.principals import Principal, in_tenant, may_use
from memadmin.api.opensearch.documents import Row
from memadmin.api.opensearch.endpoints import check_enabled, check_tenant
from memadmin.api.opensearch.errors import CONFLICT, ApiError, bad_argument, forbidden, not_found
from memadmin.store.models import Container, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.models.memories import Item

MODELS: dict[ItemType, type[Item]] = {
    ItemType.SESSION: Session,
    ItemType.WORKING: WorkingMemory,
    ItemType.LONG_TERM: LongTermMemory,
    ItemType.HISTORY: HistoryEntry,
}
NO_CONTAINER = "Memory container not found"
NO_MEMORY = "Memory not found"
NO_INDEX = "Memory index not found"
OTHER_TENANT = "You don't have permission to access this resource"
NOT_YOURS = "User doesn't have permissions to update this memory"


def item_type_of(name: str) -> ItemType:
    """Return the memory type of a path, in whatever case. Raises ApiError."""
    try:
        return ItemType(name.lower())
    except ValueError:
        raise bad_argument(f"Invalid memory type: {name}. Must be one of: sessions, working, long-term, history") from None


def container_of(principal: Principal, cid: str, *, denied: str, missing: str = NO_CONTAINER) -> Container:
    """Return the container of a path. Raises ApiError: API off, 404 `missing`, 403 for another tenant's, 403 `denied`.

    One that the token does not list is missing: its bearer has no business knowing that it is there.
    """
    check_enabled(principal)
    check_tenant(principal)
    container = find_container(cid)
    if container is None or (principal.containers is not None and container.pk not in principal.containers):
        raise not_found(missing)
    if not in_tenant(principal, container):
        raise forbidden(OTHER_TENANT)
    if not may_use(principal, container):
        raise forbidden(denied)
    return container


def find_container(cid: str) -> Container | None:
    """Return the container with this id on the wire, whoever may see it."""
    found = Container.objects.called(cid, uid_of(cid))
    return next((container for container in found if container.external_id == cid), found[0] if found else None)


def rows_of(principal: Principal, container: Container, item_type: ItemType) -> QuerySet[Any]:
    """Return the rows of a type in the container that the token reaches, ready for `documents`."""
    rows = MODELS[item_type]._default_manager.filter(container=container).select_related("container", "subject")
    return rows if principal.all_access else rows.filter(owner=principal.name, restricted=False)


def row_of(principal: Principal, container: Container, item_type: ItemType, mid: str) -> Row:
    """Return the one memory with this id on the wire. Raises ApiError: 404, 403 for somebody else's, 409 where it could be several."""
    rows = MODELS[item_type]._default_manager.filter(container=container).select_related("container", "subject")
    found = list(rows.filter(external_id=mid)[:50])
    if not found and (uid := uid_of(mid)):
        found = list(rows.filter(uid=uid)[:1])
    if not principal.all_access:
        found = [row for row in found if not row.restricted]  # kept, but not used
    if not found:
        raise not_found(NO_MEMORY if item_type not in without_index(container) else NO_INDEX)
    allowed = [row for row in found if principal.all_access or row.owner == principal.name]
    if not allowed:
        raise forbidden(NOT_YOURS)
    if len(allowed) > 1:
        raise ApiError(409, CONFLICT, f"{len(allowed)} users have {item_type} with this id. Ask for it by its uid.")
    return allowed[0]  # type: ignore[return-value]


def without_index(container: Container) -> set[ItemType]:
    """Return the types for which the container, as it is configured, would have no index."""
    missing = set() if container.sessions_enabled else {ItemType.SESSION}
    if not (container.configuration.get("llm_id") and container.configuration.get("strategies")):
        return missing | {ItemType.LONG_TERM, ItemType.HISTORY}
    return missing if container.history_enabled else missing | {ItemType.HISTORY}


def uid_of(text: str) -> UUID | None:
    """Return the uid that the text writes in the usual form, or None."""
    try:
        uid = UUID(text)
    except ValueError:
        return None
    return uid if str(uid) == text.lower() else None
