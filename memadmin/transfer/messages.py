"""Messages: one line, one message. What names it, what its role means, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.intake import IncomingWorking
from memadmin.transfer.columns import check_text
from memadmin.transfer.frames import Frame
from memadmin.transfer.outcomes import Outcome, Said
from memadmin.transfer.problems import Refused
from memadmin.transfer.scratch import Scratch
from memadmin.transfer.sources import Source
from memadmin.transfer.targets import Target
from memadmin.transfer.values import Record, identifier, leftover, time, with_extras

ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "function": "tool"}
TIMES = ("created_at", "timestamp", "created_time", "create_time")
KEPT_IN_MESSAGE = ("name", "tool_calls", "tool_call_id", "function_call", "parent_id")
ROW_FIELDS = {"user_id", "session_id", "session_title", "title"}
MESSAGE_FIELDS = {"message_id", "id", "role", "author", "content", "metadata", *KEPT_IN_MESSAGE, *TIMES}


class MessagesReader:
    """The normalised conversation rows: {user_id, session_id, role, content, created_at, message_id?, author?, …}."""

    stages = ("rows",)

    def __init__(self, target: Target, scratch: Scratch) -> None:
        self.scratch = scratch

    def prepare(self, source: Source) -> None:
        """Nothing has to be known beforehand."""

    def wants(self, frame: Frame, stage: str) -> bool:
        return True

    def read(self, record: Record, stage: str) -> Iterator[Outcome]:
        yield read_row(record, scratch=self.scratch)

    def missing(self) -> Iterator[Refused]:
        return iter(())


def read_row(record: Record, *, scratch: Scratch) -> Said:
    """Return the message that a row holds. Raises Refused."""
    if "role" not in record and "content" not in record:
        raise Refused("unknown_shape", "a message has a role and a content; this record has neither")
    title = record.get("session_title", record.get("title"))
    check_text(title, "session_title", longest=None)
    message = {name: value for name, value in record.items() if name not in ROW_FIELDS}
    working = read_message(message, user_id=identifier(record, "user_id"), session_ref=identifier(record, "session_id"), scratch=scratch)
    return Said(working=working, title=title)


def read_message(message: Record, *, user_id: str | None, session_ref: str | None, scratch: Scratch) -> IncomingWorking:
    """Return one message as a working memory of its own. An empty session id is none. Raises Refused."""
    created = time(message, *TIMES)
    author = identifier(message, "author")
    content = read_content(message.get("content"))
    role, original_role = read_role(message.get("role"))
    name = message_name(message, session_ref=session_ref)
    said = [user_id, session_ref, original_role or role, author, str(created and created.at), content]
    return IncomingWorking(
        user_id=user_id,
        session_ref=session_ref or None,
        external_id=name or counted_name(said, scratch=scratch),
        created_at=created.at if created else None,
        time_note=created.note if created else "",
        author=author,
        messages=[_kept(message, role, content)],
        metadata=with_extras(message.get("metadata", {}), extra=leftover(message, MESSAGE_FIELDS), original_role=original_role),
    )


def message_name(message: Record, *, session_ref: str | None) -> str | None:
    """Return what names a message among those of its user: its id within the session. None if it has no id."""
    given = identifier(message, "message_id", "id")
    if not given:
        return None
    name = json.dumps([session_ref, given], ensure_ascii=False, separators=(",", ":"))
    return name if len(name) <= MAX_ID_LENGTH else f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def counted_name(parts: Any, *, scratch: Scratch) -> str:
    """Return a name made of what the item says, and of how many times the file has said it so far."""
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    return f"sha256:{digest.hexdigest()}#{scratch.count(digest.digest())}"


def read_role(role: object) -> tuple[str | None, str | None]:
    """Return the role in our words, and the source's word where it differs."""
    if role is None:
        return None, None
    if not isinstance(role, str):
        raise Refused("not_text", "a role is text", field="role")
    known = ROLES.get(role.lower(), role.lower())
    return (known, None) if known == role else (known, role)


def read_content(content: Any) -> Any:
    """Return a message's content: text, null, or a list of parts, none of them looked into."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, dict):
        return [content]
    if isinstance(content, list) and all(isinstance(part, dict | str) for part in content):
        return content
    raise Refused("not_content", "the content is text, null or a list of parts", field="content")


def _kept(message: Record, role: str | None, content: Any) -> dict[str, Any]:
    kept = {name: message[name] for name in KEPT_IN_MESSAGE if name in message}
    if given := identifier(message, "message_id", "id"):
        kept["id"] = given
    return {"role": role, "content": content, **kept}
