"""Hand-written records of several shapes: a session with its messages, one memory, one message, a conversation tree.

{"user_id": …, "session_id": …, "messages": [{"role": …, "content": …, "created_at": …, "id"?: …}, …]}
{"user_id": …, "memory": …, "created_at": …, "id"?: …, "metadata"?: …}
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from memadmin.store.identity import item_uid
from memadmin.store.intake import IncomingMemory, IncomingPin, IncomingSession, Source
from memadmin.store.models import ItemType
from memadmin.store.pinning import PINNED_AT_THE_SOURCE
from memadmin.transfer.messages import TIMES, counted_name, read_message
from memadmin.transfer.outcomes import Outcome, Said
from memadmin.transfer.problems import Noted, Refused
from memadmin.transfer.scratch import Scratch
from memadmin.transfer.values import Record, identifier, leftover, time, with_extras

UPDATED = ("last_updated_at", "updated_at", "update_time")
SESSION_FIELDS = {
    *("user_id", "session_id", "id", "title", "session_title", "summary", "state", "metadata", "agents", "additional_info"),
    *("namespace", "owner", "messages", "mapping", "current_node", *TIMES, *UPDATED),
}
MEMORY_FIELDS = {
    *("user_id", "memory", "text", "id", "external_id", "session_id", "metadata", "tags", "namespace", "owner", "author", "parts"),
    *("strategy_id", "strategy_type", "fact_key", "tokens", "importance", "hits", "pinned", "last_accessed_at", *TIMES, *UPDATED),
}


def read_session(record: Record, *, scratch: Scratch) -> Iterator[Outcome]:
    """Yield a session and its messages; a message that cannot be read is yielded as Refused, the others stand."""
    messages = record["messages"]
    if not isinstance(messages, list):
        raise Refused("not_messages", "a list of messages is needed here", field="messages")
    user_id, session_ref = identifier(record, "user_id"), identifier(record, "session_id")
    if session := _session(record, user_id=user_id, session_ref=session_ref):
        yield session
    for index, message in enumerate(messages):
        try:
            if not isinstance(message, dict):
                raise Refused("not_an_object", "a message is an object with role and content")
            yield Said(working=read_message(message, user_id=user_id, session_ref=session_ref, scratch=scratch))
        except Refused as problem:
            yield problem.within(f"messages[{index}]")


def _session(record: Record, *, user_id: str | None, session_ref: str | None) -> IncomingSession | None:
    if not session_ref:
        return None
    created, updated = time(record, *TIMES), time(record, *UPDATED)
    title = identifier(record, "title", "session_title")
    return IncomingSession(
        user_id=user_id,
        external_id=session_ref,
        created_at=created.at if created else None,
        time_note=created.note if created else "",
        last_updated_at=updated.at if updated else None,
        metadata=with_extras(record.get("metadata", {}), extra=leftover(record, SESSION_FIELDS), title=title),
        owner=identifier(record, "owner"),
        **{name: record[name] for name in ("summary", "state", "agents", "additional_info", "namespace") if name in record},
    )


def read_memory(record: Record, *, container_uid: UUID, scratch: Scratch, now: datetime) -> Iterator[Outcome]:
    """Yield a long-term memory. Without an id it is named by user, text, time and how often the file has it. Raises Refused.

    A last access that cannot be read is noted and left out: the memory then counts as never recalled, and stays.
    """
    user_id, session_ref = identifier(record, "user_id"), identifier(record, "session_id")
    created, updated = time(record, *TIMES), time(record, *UPDATED)
    try:
        accessed = time(record, "last_accessed_at")
    except Refused as problem:
        accessed = None
        yield Noted("access_unknown", f"left out: {problem.words}", field=problem.field)
    text, parts = _text_and_parts(record)
    if text is None:
        raise Refused("missing", "a memory needs a text", field="memory")
    name = identifier(record, "id", "external_id")
    same = ("tags", "namespace", "strategy_id", "strategy_type", "fact_key", "tokens", "importance", "hits")
    yield IncomingMemory(
        user_id=user_id,
        external_id=name or counted_name([user_id, text, str(created and created.at)], scratch=scratch),
        text=text,
        parts=parts,
        created_at=created.at if created else None,
        time_note=created.note if created else "",
        last_updated_at=updated.at if updated else None,
        last_accessed_at=accessed.at if accessed else None,
        metadata=with_extras(record.get("metadata", {}), extra=leftover(record, MEMORY_FIELDS)),
        owner=identifier(record, "owner"),
        author=identifier(record, "author"),
        sources=_sources(container_uid, user_id, session_ref),
        pin=pin_at_source(record, now=now),
        **{field: record[field] for field in same if field in record},
    )


def _text_and_parts(record: Record) -> tuple[Any, Any]:
    """Return the text (None: there is none) and the content parts. Where only parts are given, their words are the text, to be found by."""
    text, parts = record.get("memory") if record.get("memory") is not None else record.get("text"), record.get("parts")
    if isinstance(text, list):
        text, parts = None, text
    if text is None and isinstance(parts, list) and parts:
        words = (part.get("text") if isinstance(part, dict) else part for part in parts)
        text = "\n".join(each for each in words if isinstance(each, str))
    return text, parts


def _sources(container_uid: UUID, user_id: str | None, session_ref: str | None) -> tuple[Source, ...]:
    if not session_ref:
        return ()
    return (Source(item_type=ItemType.SESSION, uid=item_uid(container_uid, ItemType.SESSION, user_id, session_ref)),)


def pin_at_source(record: Record, *, now: datetime) -> IncomingPin | None:
    """Return the pin of an item that its source marks as pinned, without saying by whom or why."""
    if record.get("pinned") not in (None, True, False):
        raise Refused("not_a_flag", "true or false is needed here", field="pinned")
    return IncomingPin(reason=PINNED_AT_THE_SOURCE, actor="command/import_memories", created_at=now) if record.get("pinned") else None


def read_tree(record: Record, *, scratch: Scratch) -> Iterator[Outcome]:
    """Yield the active branch of a conversation whose messages form a tree (`mapping`, `current_node`)."""
    mapping = record["mapping"]
    if not isinstance(mapping, dict):
        raise Refused("not_an_object", "an object of nodes is needed here", field="mapping")
    branch = _branch(mapping, record.get("current_node"))
    inactive = sum(isinstance(node, dict) and bool(node.get("message")) for node in mapping.values()) - len(branch)
    if inactive:
        yield Noted("inactive_branch", f"{inactive} messages of abandoned branches were left out", field="mapping")
    conversation = {name: value for name, value in record.items() if name not in ("mapping", "current_node", "conversation_id")}
    conversation["session_id"] = identifier(record, "session_id", "conversation_id", "id")
    yield from read_session({**conversation, "messages": [_flat(message) for message in branch]}, scratch=scratch)


def _branch(mapping: dict[str, Any], node_id: object) -> list[dict[str, Any]]:
    """Return the messages from the root to a node."""
    messages: list[dict[str, Any]] = []
    seen: set[object] = set()
    while isinstance(node_id, str) and node_id not in seen and isinstance(node := mapping.get(node_id), dict):
        seen.add(node_id)
        if isinstance(node.get("message"), dict):
            messages.append(node["message"])
        node_id = node.get("parent")
    return messages[::-1]


def _flat(message: dict[str, Any]) -> dict[str, Any]:
    author, content = message.get("author"), message.get("content")
    parts = content.get("parts") if isinstance(content, dict) else content
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], str):
        parts = parts[0]
    rest = {name: value for name, value in message.items() if name not in ("author", "content")}
    return {**rest, "role": author.get("role") if isinstance(author, dict) else author, "content": parts}
