"""What was said in a working memory, as blocks that a page can show. Nothing is fetched, rendered as HTML, or left out."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from memadmin.pages.text import visible
from memadmin.store.models import WorkingMemory
from memadmin.store.said import TEXT_KEYS

SAID = {"role", "content", "content_text", "author", "created_at", "id"}


@dataclass(frozen=True)
class Block:
    """A piece of a message: `kind` text, attachment or data."""

    kind: str
    text: str


@dataclass(frozen=True)
class Message:
    role: str
    author: str
    blocks: tuple[Block, ...]


def messages_of(working: WorkingMemory) -> list[Message]:
    """Return the messages of a working memory; its data, where it has no messages, as one message of the role "data"."""
    said = working.messages if isinstance(working.messages, list) else [working.messages]
    shown = [_message(message, working) for message in said]
    for name in ("event", "structured_data", "structured_data_blob"):
        value = getattr(working, name)
        if value is not None:
            shown.append(Message(role="data", author=name.replace("_", " "), blocks=(_data(value),)))
    if working.binary_data:
        size = len(working.binary_data) * 3 // 4
        shown.append(Message(role="data", author="binary data", blocks=(Block("attachment", f"binary data, about {size:,} bytes"),)))
    return shown


def beginning_of(working: WorkingMemory, most: int) -> str:
    """Return what was said in a working memory as one line of at most so many characters."""
    messages, _ = shortened(messages_of(working), most)
    return " ".join(block.text for message in messages for block in message.blocks)[:most]


def shortened(messages: list[Message], most: int) -> tuple[list[Message], int]:
    """Return the beginning of messages, at most so many characters together, and how many are left out."""
    kept, left, left_out = [], most, 0
    for message in messages:
        blocks = []
        for block in message.blocks:
            text = visible(block.text) if len(block.text) > left else block.text  # which names pictures instead of cutting them
            left_out += max(0, len(text) - left)
            if left or not text:
                blocks.append(replace(block, text=text[:left]))
            left -= min(left, len(text))
        if blocks or not message.blocks:
            kept.append(replace(message, blocks=tuple(blocks)))
    return kept, left_out


def _message(message: Any, working: WorkingMemory) -> Message:
    if not isinstance(message, dict):
        return Message(role="data", author="", blocks=(_data(message),))
    content = message.get("content", message.get("content_text"))
    blocks = _blocks(content)
    rest = {name: value for name, value in message.items() if name not in SAID}
    if rest:
        blocks += (_data(rest),)
    return Message(role=str(message.get("role") or "unknown"), author=str(message.get("author") or working.author or ""), blocks=blocks)


def _blocks(content: Any) -> tuple[Block, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Block("text", content),)
    if isinstance(content, list):
        return tuple(_part(part) for part in content)
    return (_part(content),)


def _part(part: Any) -> Block:
    if isinstance(part, str):
        return Block("text", part)
    if isinstance(part, dict):
        for key in TEXT_KEYS:
            if isinstance(part.get(key), str):
                return Block("text", part[key])
        address = _address(part)
        if address:
            return Block("attachment", f"{part.get('type', 'attachment')}: {address}")
    return _data(part)


def _address(part: dict[str, Any]) -> str:
    """Return where a picture or file lies, to be shown as text: the server and the browser never fetch it."""
    for value in part.values():
        if isinstance(value, dict) and isinstance(value.get("url"), str):
            return str(value["url"])
    return str(part["url"]) if isinstance(part.get("url"), str) else ""


def _data(value: Any) -> Block:
    return Block("data", json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True))
