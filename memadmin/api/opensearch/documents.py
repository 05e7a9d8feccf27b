"""Our rows as documents of the compatible API: its field names, times in epoch milliseconds, keys without a value left out.

`memadmin.transfer.opensearch_documents` reads the same format. Rows come with their `container` and `subject` selected.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast

from memadmin.store import policies
from memadmin.store.models import Container, HistoryEntry, ItemType, LongTermMemory, PolicyState, Session, WorkingMemory
from memadmin.store.models.memories import Item
from memadmin.transfer.times import EPOCH

Row = Session | WorkingMemory | LongTermMemory | HistoryEntry
Source = dict[str, Any]

CONTAINER_INDEX = ".plugins-ml-am-memory-container"
DEFAULT_PREFIX = "default"
# What stands in a stored document, and in search hits, but not in the answer to a GET of the document.
NOT_SHOWN: dict[type[Item], str] = {WorkingMemory: "session_id", LongTermMemory: "memory_container_id"}


def source_of(row: Row | Container) -> Source:
    """Return the whole document, as a search hit has it in `_source`."""
    if isinstance(row, Container):
        return _container(row)
    return {name: value for name, value in _READERS[type(row)](row).items() if value is not None}


def shown(row: Row) -> Source:
    """Return the document as a GET of it answers."""
    hidden = NOT_SHOWN.get(type(row))
    return {name: value for name, value in source_of(row).items() if name != hidden}


def wire_id(row: Row | Container) -> str:
    """Return the id of the document: the one that its source gave, else our own; a container's has to fit between two slashes."""
    given = row.external_id
    return given if given and not (isinstance(row, Container) and "/" in given) else str(row.uid)


def index_name(container: Container, item_type: ItemType | str) -> str:
    """Return the name of the index that would hold the container's documents of a type."""
    name = f"{prefix_of(container)}-memory-{item_type}"
    return name if container.configuration.get("use_system_index") is False else f".plugins-ml-am-{name}"


def prefix_of(container: Container) -> str:
    return str(container.configuration.get("index_prefix") or DEFAULT_PREFIX)


def millis(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - EPOCH) // timedelta(milliseconds=1)


def retention_policy(container: Container) -> dict[str, Any] | None:
    """Return the rules in force by memory type, explicit nulls kept; None: opted out, or never set."""
    version = policies.published(container)
    return cast("dict[str, Any]", json.loads(version.document)["retention"]) if version else None


def namespace_of(row: Row) -> dict[str, Any]:
    """Return the namespace as written; for a row that came without one, what we know of its user and session."""
    if row.namespace:
        return dict(row.namespace)
    known = {"user_id": row.subject.user_id, "session_id": row.session_ref if isinstance(row, WorkingMemory) else None}
    return {name: value for name, value in known.items() if value is not None}


def _container(container: Container) -> Source:
    configuration = {name: value for name, value in container.configuration.items() if name != "retention_policy"}
    configuration |= {"disable_session": not container.sessions_enabled, "disable_history": not container.history_enabled}
    if container.policy_state != PolicyState.NEVER_SET:
        configuration["retention_policy"] = retention_policy(container)
    found = {
        "name": container.name,
        "description": container.description or None,
        "owner": container.owner,
        "tenant_id": container.tenant,
        "created_time": millis(container.created_at),
        "last_updated_time": millis(container.last_updated_at),
        "backend_roles": container.backend_roles or None,
        "configuration": configuration,
        "orphan_sweep_baseline_time": millis(container.orphan_baseline_at),
    }
    return {name: value for name, value in found.items() if value is not None}


def _common(row: Row) -> Source:
    return {
        "owner_id": row.owner,
        "memory_container_id": wire_id(row.container),
        "tenant_id": row.container.tenant,
        "created_time": millis(row.created_at),
    }


def _scope(row: Row) -> Source:
    namespace = namespace_of(row)
    return {"namespace": namespace or None, "namespace_size": len(namespace) or None}


def _session(row: Session) -> Source:
    return {
        **_common(row),
        "summary": row.summary,
        "metadata": row.metadata or None,
        "agents": row.agents or None,
        "additional_info": row.additional_info or None,
        "namespace": namespace_of(row) or None,
        "last_updated_time": millis(row.last_updated_at),
        "pinned": row.pinned or None,
    }


def _working(row: WorkingMemory) -> Source:
    return {
        **_common(row),
        **_scope(row),
        "payload_type": row.payload_type,
        "messages": [_message(message) for message in row.messages] or None,
        "message_id": row.message_id,
        "binary_data": row.binary_data,
        "structured_data": row.structured_data,
        "structured_data_blob": row.structured_data_blob,
        "session_id": row.session_ref,
        "metadata": row.metadata or None,
        "tags": row.tags or None,
        "parameters": row.parameters or None,
        "infer": row.infer,
        "checkpoint_id": row.checkpoint_id,
        "last_updated_time": millis(row.last_updated_at),
    }


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """Content is a list of objects here; other sources also write a text, or a list of texts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    return {**message, "content": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]}


def _memory(row: LongTermMemory) -> Source:
    return {
        **_common(row),
        **_scope(row),
        "tenant_id": None,  # this type has none
        "memory": row.text,
        "strategy_id": row.strategy_id,
        "strategy_type": row.strategy_type,
        "tags": row.tags or None,
        "last_updated_time": millis(row.last_updated_at),
        "pinned": row.pinned or None,
    }


def _history(row: HistoryEntry) -> Source:
    return {
        **_common(row),
        **_scope(row),
        "memory_id": row.memory_ref or (str(row.memory_uid) if row.memory_uid else None),
        "action": row.action,
        "before": row.before,
        "after": row.after,
        "error": row.error,
        "tags": row.tags or None,
        "pinned": row.pinned or None,
    }


_READERS: dict[type[Item], Callable[[Any], Source]] = {
    Session: _session,
    WorkingMemory: _working,
    LongTermMemory: _memory,
    HistoryEntry: _history,
}
