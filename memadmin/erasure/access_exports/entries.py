"""Records as a person reads them: what was said first, then what else is known of it, in words where the column's name is none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.template.loader import render_to_string

from memadmin.erasure.access_exports.records import Record
from memadmin.store.said import texts_of

SAID = ("text", "summary", "words")  # what the row is for
TIMES = ("created_at", "at", "noticed_at", "placed_at", "archived_at", "arrived_at", "stored_at")
# Of no use to a reader beside the text: `data.json` has every column.
NOT_SHOWN = {
    *(
        "place",
        "uid",
        "revision",
        "time_note",
        "sequence",
        "message_count",
        "container",
        "messages",
        "canonical_id",
        "payload_type",
        "infer",
    ),
    *(
        "stored_at",
        "tokens",
        "tokens_method",
        "importance",
        "importance_source",
        "session",
        "strategy_id",
        "owner",
        "epoch",
        "container_id",
        "subject_id",
        "session_id",
    ),
}
LABELS = {
    "user_id": "your id",
    "external_id": "the agent's name for it",
    "session_ref": "conversation",
    "created_at": "from",
    "stored_at": "stored",
    "last_updated_at": "last changed",
    "last_accessed_at": "last used by an agent",
    "hits": "times used by an agent",
    "strategy_type": "kind",
    "memory_uid": "memory",
    "held": "kept for a legal reason",
    "restricted": "kept, but not used",
    "payload": "content",
    "before": "before the change",
    "after": "after the change",
    "sources": "came out of",
    "actor": "by",
    "target_type": "of",
    "target_uid": "its name here",
    "review_on": "looked at again on",
    "invocation_id": "the agent's turn",
    "memory_ref": "the agent's name for the memory",
    "long_term": "long-term memories",
    "working": "messages and data",
    "pinned_long_term": "memories marked to be kept",
    "pinned_sessions": "conversations marked to be kept",
    "history": "changes of memories",
    "sessions": "conversations",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing on the page. `said` are texts with who said them, `facts` what else is known."""

    at: str
    where: str
    said: list[tuple[str, str]] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)


def entry_of(record: Record) -> Entry:
    inner = record.get("payload")
    row = {**record, **inner["row"], "payload": None} if isinstance(inner, Mapping) and isinstance(inner.get("row"), Mapping) else record
    more = inner.get("working", []) if row is not record and isinstance(inner, Mapping) else []
    said = [("", row[name]) for name in SAID if isinstance(row.get(name), str) and row[name]]
    said += list(_messages(row.get("messages")))
    said += [each for working in more for each in _messages(working.get("messages"))]
    dated_by = next((name for name in TIMES if row.get(name)), "")
    return Entry(_moment(row.get(dated_by, "")), str(record.get("container") or ""), said, list(_facts(row, besides=dated_by)))


def html_of(records: Iterable[Record]) -> str:
    entries = [entry_of(record) for record in records]
    return render_to_string("access_exports/_entries.html", {"entries": entries}) if entries else ""


def _messages(messages: Any) -> Iterator[tuple[str, str]]:
    for message in messages if isinstance(messages, list) else []:
        words = "\n".join(texts_of([message]))
        role = message.get("role") if isinstance(message, dict) else None
        yield str(role or "said"), words or _shown(message)


def _facts(row: Record, *, besides: str) -> Iterator[tuple[str, str]]:
    """Yield what else is known; the time that stands above the entry is not told twice."""
    for name, value in row.items():
        hidden = name in NOT_SHOWN or name in SAID or name == besides or (name == "user_id" and row["place"] != "store.subjects")
        if not hidden and value not in (None, "", [], {}, False):
            yield LABELS.get(name, name.replace("_", " ")), _moment(value) if name.endswith("_at") or name == "at" else _shown(value)


def _shown(value: Any) -> str:
    if value is True:
        return "yes"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _moment(value: Any) -> str:
    """Return `2026-03-01T12:00:00Z` as people write it; what is no such time as it is."""
    text = str(value)
    return f"{text[:10]} {text[11:16]} UTC" if len(text) >= 16 and text[10] == "T" else text
