"""What people have said in an archive copy, beside what is kept of it so that it can come back: and the copy without some of that."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from memadmin.store import archive
from memadmin.store.locations import Change

# The columns of sessions, memories and messages that an agent or a person fills; the others are times, numbers and names of ours.
SAID = (
    *("external_id", "namespace", "metadata", "tags", "author"),
    *("summary", "state", "agents", "additional_info"),
    *("text", "parts", "fact_key", "strategy_id", "strategy_type"),
    *("session_ref", "messages", "structured_data", "structured_data_blob", "binary_data", "parameters", "event"),
    *("checkpoint_id", "event_id", "invocation_id"),
)


def said(payload: bytes | memoryview) -> list[Any]:
    """Return the values of all these columns, of the item itself and of a session's messages, and why it was pinned."""
    body = archive.unpack(payload)
    found = [row[name] for row in _rows(body) for name in SAID if row.get(name) is not None]
    return [*found, body["pin"].get("reason")] if body.get("pin") else found


def changed(payload: bytes | memoryview, change: Change) -> bytes:
    """Return the copy with each of these values changed. The rest is as it was."""
    body = archive.unpack(payload)
    for row in _rows(body):
        row |= {name: change(name, row[name], UUID(row["uid"])) for name in SAID if row.get(name) is not None}
    if body.get("pin"):
        body["pin"]["reason"] = change("reason", body["pin"].get("reason"), UUID(body["row"]["uid"]))
    return zlib.compress(json.dumps(body, ensure_ascii=False).encode("utf8", "surrogatepass"))


def _rows(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield body["row"]
    yield from body["working"]
