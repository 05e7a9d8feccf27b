"""Sessions and memories: add, get, update, delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import F

from memadmin.access.scopes import Scope
from memadmin.api.opensearch import documents, reading
from memadmin.api.opensearch.documents import Row
from memadmin.api.opensearch.endpoints import Call, endpoint
from memadmin.api.opensearch.envelopes import write_result
from memadmin.api.opensearch.errors import CONFLICT, IO, MAPPING, PARSE, ApiError, bad_argument, forbidden, missing_scope, not_found
from memadmin.api.opensearch.fields import Document, shown
from memadmin.api.opensearch.reach import NO_MEMORY, container_of, item_type_of, row_of
from memadmin.lifecycle import writing
from memadmin.lifecycle.inference import jobs, summaries
from memadmin.store import configuration, deleting, editing, pinning
from memadmin.store.intake import IncomingWorking
from memadmin.store.models import Container, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory

MAY_NOT_ADD = "User doesn't have permissions to add memory to this container"
MAY_NOT_GET = "User doesn't have permissions to get memories in this container"
MAY_NOT_UPDATE = "User doesn't have permissions to update memories in this container"
MAY_NOT_DELETE = "User doesn't have permissions to delete memories in this container"
PINS_OFF = (
    "Cannot set pinned: the memory retention feature is not enabled. "
    "To enable it, please update the cluster setting plugins.ml_commons.memory.retention_enabled"
)


@endpoint(Scope.MEMORY_WRITE)
def create_session(call: Call, cid: str) -> dict[str, Any]:
    if call.document is None:
        raise ApiError(400, PARSE, "Create session request has empty body")
    container = container_of(call.principal, cid, denied=MAY_NOT_ADD)
    if not container.sessions_enabled:
        raise bad_argument("Session is disabled for this container")
    item = reading.read_session(call.document, principal=call.principal, now=call.now)
    opened = writing.open_session(container, item, actor=call.principal.actor, now=call.now)
    return {"session_id": documents.wire_id(opened.session), "status": "created" if opened.is_new else "exists"}


@endpoint(Scope.MEMORY_WRITE)
def add_working(call: Call, cid: str) -> dict[str, Any]:
    document = _body(call, "Add memory request has empty body", kind=IO)
    container = container_of(call.principal, cid, denied=MAY_NOT_ADD)
    _check_same_container(document, container)
    item = reading.read_working(document, container=container, principal=call.principal, now=call.now)
    begins = item.session_ref is not None and not _names_a_session(document)
    try:
        memory = _store(call, container, item, begins=begins) if item.infer or begins else _add(call, container, item)
    except writing.AmbiguousSession as error:
        raise ApiError(409, CONFLICT, str(error)) from None
    session = {"session_id": memory.session_ref} if memory.session_ref else {}
    return {**session, "working_memory_id": documents.wire_id(memory)}


def _names_a_session(document: Document) -> bool:
    namespace = document.get("namespace")
    return isinstance(namespace, Mapping) and "session_id" in namespace


def _add(call: Call, container: Container, item: IncomingWorking) -> WorkingMemory:
    return writing.add_working(container, item, actor=call.principal.actor, now=call.now)


@transaction.atomic
def _store(call: Call, container: Container, item: IncomingWorking, *, begins: bool) -> WorkingMemory:
    """Store a payload that asks for more: to be inferred from, or `begins` a session, which gets its summary from a model."""
    memory = _add(call, container, item)
    if memory.pk is None:
        return memory  # set aside: nothing is made of it
    if begins and memory.session:
        summaries.request(memory.session, actor=call.principal.actor, now=call.now)
    if item.infer:
        try:
            jobs.request(memory, actor=call.principal.actor, now=call.now)
        except jobs.NoModel:
            raise bad_argument(reading.NO_MODEL) from None
    return memory


@endpoint(Scope.MEMORY_WRITE)
def add_memory(call: Call, cid: str) -> dict[str, Any]:
    """Ours: OpenSearch writes long-term memories by inference only."""
    document = _body(call, "Add memory request has empty body", kind=PARSE)
    container = container_of(call.principal, cid, denied=MAY_NOT_ADD)
    _check_same_container(document, container)
    item = reading.read_memory(document, principal=call.principal, now=call.now)
    memory = writing.add_memory(container, item, actor=call.principal.actor, now=call.now)
    return {"memory_id": documents.wire_id(memory), "status": "created"}


@endpoint(Scope.MEMORY_READ)
def get_memory(call: Call, cid: str, name: str, mid: str) -> dict[str, Any]:
    item_type = item_type_of(name)
    container = container_of(call.principal, cid, denied=MAY_NOT_GET)
    return documents.shown(row_of(call.principal, container, item_type, mid))


@endpoint(Scope.MEMORY_WRITE)
def update_memory(call: Call, cid: str, name: str, mid: str) -> dict[str, Any]:
    item_type = item_type_of(name)
    document = _body(call, "Update memory request has empty body", kind=PARSE)
    if not document:
        raise bad_argument(reading.NO_TEXT)
    container = container_of(call.principal, cid, denied=MAY_NOT_UPDATE)
    if item_type is ItemType.HISTORY:
        raise not_found("Can't update memory history")
    row = row_of(call.principal, container, item_type, mid)
    wanted = _wanted_pin(call, document, item_type)
    changes = _changes(document, item_type)
    try:
        _carry_out(call, row, changes, wanted)
    except (editing.Gone, pinning.Gone):
        raise not_found(NO_MEMORY) from None
    row.refresh_from_db(fields=["revision"])
    return _result(row, item_type, "updated")


@endpoint(Scope.MEMORY_DELETE)
def delete_memory(call: Call, cid: str, name: str, mid: str) -> dict[str, Any]:
    item_type = item_type_of(name)
    container = container_of(call.principal, cid, denied=MAY_NOT_DELETE)
    row = row_of(call.principal, container, item_type, mid)
    try:
        deleting.delete_item(item_type, row, actor=call.principal.actor, now=call.now)
    except deleting.Gone:
        raise not_found(NO_MEMORY) from None
    except deleting.Held as error:
        raise ApiError(409, CONFLICT, str(error)) from None
    row.revision += 1  # a deletion is a version of its own
    return _result(row, item_type, "deleted")


def _body(call: Call, empty: str, *, kind: str) -> Document:
    if call.document is None:
        raise ApiError(400, kind, empty)
    return call.document


def _check_same_container(document: Document, container: Container) -> None:
    """OpenSearch lets the body override the path, past the checks of access. Here they have to agree."""
    named = document.get("memory_container_id")
    if named is not None and named not in (container.external_id, str(container.uid)):
        raise bad_argument(f"memory_container_id in the body [{shown(named)}] is not the container of the address")


def _wanted_pin(call: Call, document: Document, item_type: ItemType) -> bool | None:
    """Return whether the item is to be pinned; None: nothing is said of it. Raises ApiError."""
    if "pinned" not in document:
        return None
    if not configuration.value("retention_enabled"):
        raise forbidden(PINS_OFF)
    if item_type is ItemType.WORKING:
        raise bad_argument(reading.NO_PIN_HERE)
    if not call.principal.has(Scope.MEMORY_PIN):
        raise missing_scope(Scope.MEMORY_PIN)
    words: Mapping[Any, bool] = {True: True, "true": True, False: False, "false": False, None: False}
    value = document["pinned"]
    if not isinstance(value, bool | str | None) or value not in words:
        raise ApiError(400, MAPPING, f"failed to parse field [pinned] of type [boolean]: [{shown(value)}]")
    return words[value]


def _changes(document: Document, item_type: ItemType) -> dict[str, Any]:
    readers = {
        ItemType.SESSION: reading.session_changes,
        ItemType.WORKING: reading.working_changes,
        ItemType.LONG_TERM: reading.memory_changes,
    }
    return readers[item_type](document)


@transaction.atomic
def _carry_out(call: Call, row: Row, changes: dict[str, Any], wanted: bool | None) -> None:
    """Pin or unpin, and change fields: one new version, also where there was nothing to change."""
    moved = isinstance(row, Session | LongTermMemory) and wanted is not None and _set_pin(call, row, wanted)
    if moved and not changes:
        return
    if isinstance(row, Session):
        editing.edit_session(row, changes, actor=call.principal.actor, now=call.now)
    elif isinstance(row, WorkingMemory):
        editing.edit_working(row, changes, actor=call.principal.actor, now=call.now)
    elif isinstance(row, LongTermMemory):
        editing.edit_memory(row, changes, actor=call.principal.actor, now=call.now)
    if moved:  # the pin and the fields of one request are one new version
        type(row)._default_manager.filter(pk=row.pk).update(revision=F("revision") - 1)


def _set_pin(call: Call, row: Session | LongTermMemory, wanted: bool) -> bool:
    """Return whether the pin has moved: one that stands as wanted already keeps its reason."""
    try:
        if wanted:
            pinning.pin(row, reason=pinning.PINNED_OVER_API, actor=call.principal.actor, now=call.now)
        else:
            pinning.unpin(row, reason="unpinned through the API", actor=call.principal.actor, now=call.now)
    except (pinning.AlreadyPinned, pinning.NotPinned):
        return False
    return True


def _result(row: Row | HistoryEntry, item_type: ItemType, result: str) -> dict[str, Any]:
    index = documents.index_name(row.container, item_type)
    return write_result(row, index=index, wire_id=documents.wire_id(row), result=result)
