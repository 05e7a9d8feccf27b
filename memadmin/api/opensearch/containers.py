"""Containers: create, get, update, delete."""

from __future__ import annotations

import re
from typing import Any

from django.db import IntegrityError, transaction

from memadmin.access import tokens
from memadmin.access.principals import Principal, owns
from memadmin.access.scopes import Scope
from memadmin.api.opensearch import configuring, documents, policies, sharing
from memadmin.api.opensearch.endpoints import Call, WithHeaders, check_enabled, check_tenant, endpoint
from memadmin.api.opensearch.envelopes import write_result
from memadmin.api.opensearch.errors import CONFLICT, PARSE, ApiError, bad_argument, forbidden, missing_scope, not_found
from memadmin.api.opensearch.fields import Document, flag_of, object_of, text_of, texts_of
from memadmin.api.opensearch.reach import NO_CONTAINER, container_of, find_container, item_type_of
from memadmin.store import deleting, editing, ingest, making_locks
from memadmin.store.models import Container, ItemType

LONGEST_ID, LONGEST_NAME = 512, 512
MAY_NOT_USE = "User doesn't have privilege to perform this operation on this memory container"
MAY_NOT_UPDATE = "User doesn't have permissions to update memories in this container"
MAY_NOT_DELETE = "Only container owner can delete container"
BOTH = "Cannot specify both delete_all_memories and delete_memories. Use one of them."

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@endpoint(Scope.CONTAINER_WRITE)
def create_container(call: Call) -> WithHeaders:
    if call.document is None:
        raise ApiError(400, PARSE, "Request body is required")
    details = _details(call.document, new=True)
    given = object_of(call.document, "configuration") or {}
    configuration, policy = configuring.new_configuration(given), policies.Given(given)
    cid = _own_id(call.document)
    check_enabled(call.principal)
    policies.check_switch(policy)
    policies.check_scope(policy, call.principal)
    check_tenant(call.principal)
    configuring.check_models(configuration)
    with transaction.atomic():
        sharing.check_embedding(Container(configuration=configuration, tenant=call.principal.tenant), verb="create")
        container = _made(call, cid, {**details, "configuration": configuration})
        policies.begin(container, policy, actor=call.principal.actor, now=call.now)
        _count_as_one(container, revision=1)
        tokens.admit(call.principal.token, container)
    return _warned(container, policy, {"memory_container_id": documents.wire_id(container), "status": "created"})


@endpoint(Scope.CONTAINER_READ)
def get_container(call: Call, cid: str) -> dict[str, Any]:
    missing = f"Failed to find memory container with the provided memory container id: {cid}"
    source = documents.source_of(container_of(call.principal, cid, denied=MAY_NOT_USE, missing=missing))
    source.pop("orphan_sweep_baseline_time", None)  # told in search hits only
    return source


@endpoint(Scope.CONTAINER_WRITE)
def update_container(call: Call, cid: str) -> WithHeaders:
    if call.document is None:
        raise ApiError(400, PARSE, "Update memory container request has empty body")
    changes = _details(call.document, new=False)
    given = object_of(call.document, "configuration")
    policy = policies.Given(given)
    container = container_of(call.principal, cid, denied=MAY_NOT_UPDATE)
    policies.check_switch(policy)
    policies.check_scope(policy, call.principal)
    with transaction.atomic():
        if given is not None:
            making_locks.one_at_a_time()  # before the row, as everybody takes them
        container = Container.objects.select_for_update().get(pk=container.pk)  # strategies are merged into what stands now
        revision = container.revision
        if given is not None:
            changes["configuration"] = configuring.merged_configuration(container.configuration, given)
            configuring.check_models(changes["configuration"])
            changed = Container(pk=container.pk, configuration=changes["configuration"], tenant=container.tenant)
            sharing.check_embedding(changed, verb="update")
        if policy.changes_something:
            policies.apply(container, policy, actor=call.principal.actor, now=call.now)
        editing.edit_container(container, {**changes}, actor=call.principal.actor, now=call.now)
        _count_as_one(container, revision=revision + 1)
    answer = write_result(container, index=documents.CONTAINER_INDEX, wire_id=documents.wire_id(container), result="updated")
    del answer["forced_refresh"]
    return _warned(container, policy, answer)


@endpoint(Scope.CONTAINER_WRITE)
def delete_container(call: Call, cid: str) -> dict[str, Any]:
    everything, named = _what_to_delete(call)
    container = container_of(call.principal, cid, denied=MAY_NOT_DELETE)
    if not owns(call.principal, container):
        raise forbidden(MAY_NOT_DELETE)
    types = list(ItemType) if everything else named
    if types and not call.principal.has(Scope.MEMORY_DELETE):
        raise missing_scope(Scope.MEMORY_DELETE)
    if types:
        sharing.check_not_shared(container)
    wire_id = documents.wire_id(container)
    try:
        deleting.delete_container(container, with_memories=types, actor=call.principal.actor, now=call.now)
    except deleting.Gone:
        raise not_found(NO_CONTAINER) from None
    except deleting.Asked as asked:
        raise ApiError(409, CONFLICT, str(asked)) from None
    return write_result(container, index=documents.CONTAINER_INDEX, wire_id=wire_id, result="deleted")


def _count_as_one(container: Container, *, revision: int) -> None:
    """Policy and fields in one request are one new version of the document."""
    if container.revision != revision:
        Container.objects.filter(pk=container.pk).update(revision=revision)
        container.revision = revision


def _details(document: Document, *, new: bool) -> dict[str, Any]:
    """Return the columns that stand beside the configuration, as far as they are given. Raises ApiError."""
    name = text_of(document, "name")
    if name is None and new:
        raise bad_argument("name is null")
    if name is not None and not 1 <= len(name) <= LONGEST_NAME:
        raise bad_argument(f"name must have 1 to {LONGEST_NAME} characters")
    found = {"name": name, "description": text_of(document, "description"), "backend_roles": configuring.backend_roles_of(document)}
    return {column: value for column, value in found.items() if value is not None}


def _own_id(document: Document) -> str | None:
    cid = text_of(document, "memory_container_id")
    if cid is None:
        return None
    if not _ID.fullmatch(cid) or len(cid) > LONGEST_ID:
        raise bad_argument(f"memory_container_id must match {_ID.pattern} and have at most {LONGEST_ID} bytes")
    if find_container(cid) and not Container.objects.filter(external_id=cid).exists():
        raise _taken(cid)  # it is the uid of another one
    return cid


def _made(call: Call, cid: str | None, details: dict[str, Any]) -> Container:
    """Make the container. Its id may be taken at this very moment, so the database has the last word. Raises ApiError."""
    configuration = details["configuration"]
    try:
        return ingest.create_container(
            **details,
            external_id=cid,
            owner=_owner(call.principal),
            tenant=call.principal.tenant,
            sessions_enabled=not configuration["disable_session"],
            history_enabled=not configuration["disable_history"],
            actor=call.principal.actor,
            now=call.now,
        )
    except IntegrityError:
        raise _taken(cid) from None


def _taken(cid: str | None) -> ApiError:
    return ApiError(409, CONFLICT, f"memory container id '{cid}' already exists")


def _owner(principal: Principal) -> dict[str, Any]:
    return {
        "name": principal.name,
        "backend_roles": sorted(principal.backend_roles),
        "roles": ["all_access"] if principal.all_access else [],
        "custom_attribute_names": [],
        "user_requested_tenant": None,
    }


def _what_to_delete(call: Call) -> tuple[bool, list[ItemType]]:
    """Read what goes along, from the address or else from the body. Raises ApiError."""
    body = call.document or {}
    in_address = "delete_all_memories" in call.parameters
    everything = call.flag("delete_all_memories") if in_address else flag_of(body, "delete_all_memories", default=False)
    listed = call.parameters.get("delete_memories")
    names = texts_of(body, "delete_memories") if listed is None else listed.split(",")
    types = [item_type_of(name.strip()) for name in names or [] if name.strip()]
    if everything and types:
        raise bad_argument(BOTH)
    return everything, list(dict.fromkeys(types))


def _warned(container: Container, policy: policies.Given, answer: dict[str, Any]) -> WithHeaders:
    idle = policy.has_sessions and not container.sessions_enabled
    return WithHeaders(answer, {"Warning": f'299 OpenSearch-3.8.0 "{policies.IDLE_SESSIONS}"'} if idle else {})
