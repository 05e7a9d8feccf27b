"""Bodies of requests into what the store takes in. The owner is always the caller; times are ours."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memadmin.access.principals import Principal
from memadmin.api.opensearch.errors import bad_argument
from memadmin.api.opensearch.fields import (
    Document,
    flag_of,
    number_of,
    object_of,
    objects_of,
    shown,
    text_map,
    text_of,
    wrong_shape,
)
from memadmin.store.intake import IncomingMemory, IncomingSession, IncomingWorking
from memadmin.store.models import Container, PayloadType
from memadmin.transfer.columns import check
from memadmin.transfer.opensearch_documents import place_of

NO_PIN_HERE = "pinned field is not supported for working memory type. To preserve a conversation, pin the session instead."
NO_MESSAGES = "No messages provided when inferring memory"
NO_MODEL = "infer=true requires llm_model_id to be configured in memory storage"
NO_TEXT = "Text cannot be null or empty"


def read_session(document: Document, *, principal: Principal, now: datetime) -> IncomingSession:
    """Return a session; without an id, or with a blank one, it gets one. Raises ApiError and Refused."""
    namespace = text_map(document, "namespace")
    given = text_of(document, "session_id") or ""
    item = IncomingSession(
        user_id=namespace.get("user_id"),
        external_id=given if given.strip() else str(uuid.uuid4()),
        owner=principal.name,
        namespace=namespace,
        created_at=now,
        last_updated_at=now,
        summary=text_of(document, "summary"),
        metadata=object_of(document, "metadata") or {},
        agents=object_of(document, "agents") or {},
        additional_info=object_of(document, "additional_info") or {},
    )
    check(item)
    return item


def read_working(document: Document, *, container: Container, principal: Principal, now: datetime) -> IncomingWorking:
    """Return a payload. Raises ApiError and Refused."""
    if document.get("pinned") is not None:
        raise bad_argument(NO_PIN_HERE)
    messages = read_messages(document) or []
    infer = flag_of(document, "infer", default=False)
    if infer and not messages:
        raise bad_argument(NO_MESSAGES)
    if infer and not container.configuration.get("llm_id"):
        raise bad_argument(NO_MODEL)
    payload_type = _payload_type(document)
    namespace = _with_session(text_map(document, "namespace"), container, payload_type)
    session_ref = namespace.get("session_id", "")
    message_id = number_of(document, "message_id")
    item = IncomingWorking(
        user_id=namespace.get("user_id"),
        session_ref=session_ref if session_ref.strip() else None,
        owner=principal.name,
        namespace=namespace,
        created_at=now,
        last_updated_at=now,
        sequence=place_of(message_id, now),
        payload_type=payload_type,
        messages=messages,
        message_id=message_id,
        binary_data=text_of(document, "binary_data"),
        structured_data=object_of(document, "structured_data"),
        structured_data_blob=object_of(document, "structured_data_blob"),
        metadata=text_map(document, "metadata"),
        tags=text_map(document, "tags"),
        parameters=object_of(document, "parameters") or {},
        infer=infer,
        checkpoint_id=text_of(document, "checkpoint_id"),
    )
    check(item)
    return item


def read_memory(document: Document, *, principal: Principal, now: datetime) -> IncomingMemory:
    """Return a long-term memory that an agent states itself. Raises ApiError and Refused."""
    text = text_of(document, "memory")
    if not text or not text.strip():
        raise bad_argument(NO_TEXT)
    namespace = text_map(document, "namespace")
    item = IncomingMemory(
        user_id=namespace.get("user_id"),
        owner=principal.name,
        namespace=namespace,
        created_at=now,
        last_updated_at=now,
        text=text,
        strategy_id=text_of(document, "strategy_id"),
        strategy_type=text_of(document, "strategy_type"),
        tags=text_map(document, "tags"),
        metadata=object_of(document, "metadata") or {},
        importance=document.get("importance"),
        importance_source="agent",
    )
    check(item)
    return item


def read_messages(document: Document) -> list[dict[str, Any]] | None:
    """Return the messages: each has a role and a list of content parts, and nothing else is kept. Raises ApiError."""
    messages = objects_of(document, "messages")
    return None if messages is None else [_message(message, number) for number, message in enumerate(messages)]


def session_changes(document: Document) -> dict[str, Any]:
    """Return the fields of a session that a PUT changes. Raises ApiError."""
    return _given(document, {"summary": text_of}) | _given(document, dict.fromkeys(("metadata", "agents", "additional_info"), _full))


def working_changes(document: Document) -> dict[str, Any]:
    """Return the fields of a working memory that a PUT changes. Raises ApiError."""
    found = _given(document, {"binary_data": text_of, "structured_data": object_of, "structured_data_blob": object_of})
    found |= _given(document, {"metadata": _full, "tags": _full})
    if "messages" in document:
        found["messages"] = read_messages(document) or []
    return found


def memory_changes(document: Document) -> dict[str, Any]:
    """Return the fields of a long-term memory that a PUT changes. Raises ApiError."""
    found = _given(document, {"tags": _full})
    if "memory" in document:
        text = text_of(document, "memory")
        if not text or not text.strip():
            raise bad_argument(NO_TEXT)
        found["text"] = text
    return found


def _given(document: Document, readers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: read(document, name) for name, read in readers.items() if name in document}


def _full(document: Document, name: str) -> dict[str, Any]:
    return object_of(document, name) or {}


def _message(message: Mapping[str, Any], number: int) -> dict[str, Any]:
    role, content = text_of(message, "role"), message.get("content")
    if not role or content is None:
        raise bad_argument("Message must have role and content")
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise wrong_shape(f"messages[{number}].content", "a list of objects")
    return {"role": role, "content": content}


def _payload_type(document: Document) -> str:
    given = text_of(document, "payload_type")
    if given is None:
        return PayloadType.CONVERSATIONAL.value
    if given.lower() not in PayloadType.values:
        raise bad_argument(f"Invalid working memory type: {shown(given)}. Must be one of: CONVERSATIONAL, DATA")
    return given.lower()


def _with_session(namespace: dict[str, str], container: Container, payload_type: str) -> dict[str, str]:
    """Name a new session for a conversation that names none, where the container would have one summarised."""
    named = "session_id" in namespace or not container.sessions_enabled
    if named or payload_type != PayloadType.CONVERSATIONAL or not container.configuration.get("llm_id"):
        return namespace
    return {**namespace, "session_id": str(uuid.uuid4())}
