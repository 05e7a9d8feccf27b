"""In which sessions a text was said. No index knows the words of messages, so this looks through them, newest first, and no further
than a page may wait: the answer tells how far it came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from memadmin.store.models import Subject, WorkingMemory
from memadmin.store.querysets import SessionQuerySet

MOST_ENTRIES = 20_000
MOST_CHARACTERS = 20_000_000
AT_ONCE = 500
TEXT_KEYS = ("text", "content_text")  # where the words of a content part stand


@dataclass(slots=True)
class Looked:
    """`found` has for each session, by its key, the newest entry that says it. `back_to` is the time of the oldest entry looked at."""

    found: dict[int, UUID] = field(default_factory=dict)
    entries: int = 0
    back_to: datetime | None = None
    complete: bool = True


def look_for(text: str, subject: Subject, sessions: SessionQuerySet) -> Looked:
    """Look through the newest entries of these sessions of a user for a text, whatever its case: at most MOST_ENTRIES
    entries and MOST_CHARACTERS characters."""
    wanted, looked, characters = text.casefold(), Looked(), 0
    entries = WorkingMemory.objects.of_subject(subject).filter(session__in=sessions.values("pk"))
    newest_first = entries.order_by(F("created_at").desc(nulls_last=True), "-id")
    rows = newest_first.values_list("session_id", "uid", "created_at", "messages")[: MOST_ENTRIES + 1]
    for session, uid, created_at, messages in rows.iterator(chunk_size=AT_ONCE):
        if looked.entries >= MOST_ENTRIES or characters > MOST_CHARACTERS:
            looked.complete = False
            break
        looked.entries += 1
        looked.back_to = created_at or looked.back_to
        if session not in looked.found:
            said = [each.casefold() for each in texts_of(messages)]
            characters += sum(map(len, said))
            if any(wanted in each for each in said):
                looked.found[session] = uid
    return looked


def texts_of(messages: Any) -> Iterator[str]:
    """Yield what was said in the messages of a working memory: their contents, or the words of their content parts."""
    for message in messages if isinstance(messages, list) else [messages]:
        if isinstance(message, dict):
            content = message.get("content", message.get("content_text"))
            for part in content if isinstance(content, list) else [content]:
                words = [part.get(key) for key in TEXT_KEYS] if isinstance(part, dict) else [part]
                yield from (each for each in words if isinstance(each, str))
