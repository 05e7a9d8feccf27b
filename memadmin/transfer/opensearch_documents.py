"""One document of OpenSearch agentic memory into what we store. Two generations of field names, times in two writings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memadmin.store.identity import item_uid
from memadmin.store.intake import Incoming, IncomingHistory, IncomingMemory, IncomingSession, IncomingWorking
from memadmin.store.models import ItemType
from memadmin.transfer.columns import check_text
from memadmin.transfer.loose import pin_at_source
from memadmin.transfer.messages import read_content, read_role
from memadmin.transfer.outcomes import FoundContainer, FoundPolicy, Outcome
from memadmin.transfer.problems import Noted, Refused
from memadmin.transfer.times import EPOCH
from memadmin.transfer.values import Record, identifier, leftover, time, with_extras

CONTAINER = "container"
INDEX_ENDINGS = {
    "memory-container": CONTAINER,
    "sessions": ItemType.SESSION,
    "session": ItemType.SESSION,
    "history": ItemType.HISTORY,
    "long-term": ItemType.LONG_TERM,
    "long-term-memory": ItemType.LONG_TERM,
    "working": ItemType.WORKING,
    "short-term-memory": ItemType.WORKING,
}
OLDER_PAYLOADS = {"conversation": "conversational"}
PLUMBING = {
    "memory_container_id",
    "namespace_size",
    "memory_embedding",
    "tenant_id",
    "namespace",
    "owner_id",
    "created_time",
    "last_updated_time",
}
SESSION_FIELDS = {*PLUMBING, "summary", "metadata", "agents", "additional_info", "pinned", "owner"}
WORKING_COLUMNS = ("message_id", "binary_data", "structured_data", "structured_data_blob", "tags", "parameters", "infer", "checkpoint_id")
WORKING_FIELDS = {*PLUMBING, *WORKING_COLUMNS, "payload_type", "memory_type", "messages", "metadata", "session_id"}
MEMORY_FIELDS = {*PLUMBING, "memory", "strategy_type", "memory_type", "strategy_id", "tags", "pinned"}
HISTORY_COLUMNS = ("action", "before", "after", "error", "tags")
HISTORY_FIELDS = {*PLUMBING, *HISTORY_COLUMNS, "memory_id", "pinned", "last_updated_time"}


@dataclass(frozen=True)
class Document:
    """A document taken out of its envelope."""

    index: str
    given_id: str | None
    source: Record

    @property
    def id(self) -> str:
        """The id, or a name made of the content where the document was copied without one."""
        return self.given_id or f"sha256:{hashlib.sha256(json.dumps(self.source, sort_keys=True).encode()).hexdigest()}"


def unwrap(record: Record) -> Document:
    """Take a document out of its envelope, if it has one. Raises Refused."""
    source = record.get("_source", record)
    if not isinstance(source, dict):
        raise Refused("not_an_object", "a document is an object", field="_source")
    index = record.get("_index")
    return Document(index if isinstance(index, str) else "", identifier(record, "_id"), source)


def kind_of(document: Document) -> str:
    """Tell what a document is by its index, or by its fields. Raises Refused."""
    for ending, kind in INDEX_ENDINGS.items():
        if document.index.endswith(ending):
            return kind
    source = document.source
    if "configuration" in source:
        return CONTAINER
    if "memory" in source:
        return ItemType.LONG_TERM
    if source.keys() & {"action", "before", "after", "error"}:
        return ItemType.HISTORY
    if source.keys() & {"messages", "payload_type", "memory_type", "structured_data", "structured_data_blob", "binary_data"}:
        return ItemType.WORKING
    if "memory_container_id" in source or "namespace" in source:
        return ItemType.SESSION
    raise Refused("unknown_shape", "neither a container, nor a session, nor a working, long-term or history memory")


def read_container(document: Document) -> Iterator[FoundContainer | FoundPolicy | Noted]:
    """Yield the container and its policy. Raises Refused."""
    source = document.source
    configuration = source.get("configuration") or {}
    if not isinstance(configuration, dict):
        raise Refused("not_an_object", "an object is needed here", field="configuration")
    name = identifier(source, "name")
    check_text(name, "name", longest=512)
    created, updated, baseline = (time(source, field) for field in ("created_time", "last_updated_time", "orphan_sweep_baseline_time"))
    details: dict[str, Any] = {
        "description": identifier(source, "description") or "",
        "owner": source.get("owner"),
        "tenant": identifier(source, "tenant_id"),
        "backend_roles": source.get("backend_roles") or [],
        "configuration": {key: value for key, value in configuration.items() if key != "retention_policy"},
        "sessions_enabled": configuration.get("disable_session") is not True,
        "history_enabled": configuration.get("disable_history") is not True,
        "orphan_baseline_at": baseline.at if baseline else None,
    }
    details |= {field: read.at for field, read in (("created_at", created), ("last_updated_at", updated)) if read}
    yield FoundContainer(name=name or document.id, external_id=document.id, details=details)
    if policy := configuration.get("retention_policy"):
        yield FoundPolicy(document={"retention": policy}, field="configuration.retention_policy", note="From the imported container")
    elif "retention_policy" in configuration:
        yield Noted(
            "policy_opted_out", "the source had no policy on purpose; here it was never set", field="configuration.retention_policy"
        )


def read_document(document: Document, *, container_uid: UUID, now: datetime) -> Iterator[Outcome]:
    """Yield the item that a document holds, and what was dropped. Raises Refused."""
    kind = kind_of(document)
    if "memory_embedding" in document.source:
        yield Noted("embedding_dropped", "embeddings are not stored", field="memory_embedding")
    if kind == ItemType.HISTORY:
        for name in sorted(leftover(document.source, HISTORY_FIELDS)):
            yield Noted("field_dropped", "history has no place for this field", field=name)
        yield _history(document, container_uid)
    elif kind == ItemType.LONG_TERM:
        yield _memory(document, now)
    else:
        yield _READERS[kind](document, now)


def _common(document: Document) -> dict[str, Any]:
    source = document.source
    namespace = source.get("namespace") or {}
    if not isinstance(namespace, dict):
        raise Refused("not_an_object", "an object is needed here", field="namespace")
    created = time(source, "created_time")
    return {
        "user_id": _in_namespace(namespace, "user_id"),
        "external_id": document.id,
        "owner": identifier(source, "owner_id"),
        "namespace": namespace,
        "created_at": created.at if created else None,
        "time_note": created.note if created else "",
    }


def _in_namespace(namespace: Record, name: str) -> str | None:
    try:
        return identifier(namespace, name)
    except Refused as problem:
        raise problem.within("namespace") from None


def _updated(source: Record) -> datetime | None:
    updated = time(source, "last_updated_time")
    return updated.at if updated else None


def _given(source: Record, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named fields that have a value; null is how this source says that there is none."""
    return {name: source[name] for name in names if source.get(name) is not None}


def _session(document: Document, now: datetime) -> Incoming:
    source = document.source
    return IncomingSession(
        **_common(document),
        **_given(source, ("summary", "agents", "additional_info")),
        metadata=with_extras(source.get("metadata") or {}, extra=leftover(source, SESSION_FIELDS)),
        last_updated_at=_updated(source),
        pin=pin_at_source(source, now=now),
    )


def _working(document: Document, now: datetime) -> Incoming:
    source, common = document.source, _common(document)
    payload = source.get("payload_type") or source.get("memory_type") or "conversational"
    return IncomingWorking(
        **common,
        **_given(source, WORKING_COLUMNS),
        session_ref=_in_namespace(common["namespace"], "session_id") or identifier(source, "session_id"),
        sequence=place_of(source.get("message_id"), common["created_at"]),
        payload_type=OLDER_PAYLOADS.get(payload, payload),
        messages=_messages(source.get("messages")),
        metadata=with_extras(source.get("metadata") or {}, extra=leftover(source, WORKING_FIELDS)),
        last_updated_at=_updated(source),
    )


def place_of(message_id: object, created_at: datetime | None) -> int:
    """Return the agent's own number, else the microsecond of creation: a dump is in no order, and the same each time."""
    if isinstance(message_id, int):
        return message_id
    return (created_at - EPOCH) // datetime.resolution if created_at else 0


def _messages(messages: Any) -> list[dict[str, Any]]:
    if messages is None:
        return []
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise Refused("not_messages", "a list of messages is needed here", field="messages")
    found = []
    for index, message in enumerate(messages):
        try:
            found.append(_message(message))
        except Refused as problem:
            raise problem.within(f"messages[{index}]") from None
    return found


def _message(message: dict[str, Any]) -> dict[str, Any]:
    role, original = read_role(message.get("role"))
    rest = {name: value for name, value in message.items() if name not in ("role", "content", "content_text")}
    content = read_content(message.get("content", message.get("content_text")))
    return {"role": role, "content": content, **rest, **({"original_role": original} if original else {})}


def _memory(document: Document, now: datetime) -> Incoming:
    source = document.source
    return IncomingMemory(
        **_common(document),
        **_given(source, ("strategy_id", "tags")),
        text=source.get("memory") or "",
        strategy_type=source.get("strategy_type") or source.get("memory_type"),
        metadata=with_extras({}, extra=leftover(source, MEMORY_FIELDS)),
        last_updated_at=_updated(source),
        pin=pin_at_source(source, now=now),
    )


def _history(document: Document, container_uid: UUID) -> Incoming:
    source, common = document.source, _common(document)
    memory_ref = identifier(source, "memory_id")
    known = memory_ref is not None and common["user_id"] is not None
    return IncomingHistory(
        **common,
        **_given(source, HISTORY_COLUMNS),
        memory_ref=memory_ref,
        memory_uid=item_uid(container_uid, ItemType.LONG_TERM, common["user_id"], memory_ref or "") if known else None,
    )


_READERS: dict[str, Callable[[Document, datetime], Incoming]] = {ItemType.SESSION: _session, ItemType.WORKING: _working}
