"""An identifier, and the forms in which one can lie in a column: as it is, escaped in JSON (once or twice), or in an address."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

DEPTH = 50  # of JSON inside JSON, and of nesting that is walked; deeper text is searched as it stands


def forms(identifier: str) -> list[str]:
    """Return every form of an identifier, without repetition. A plain word has one."""
    once = [json.dumps(identifier, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)]
    twice = [json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in once for ascii_only in (False, True)]
    return list(dict.fromkeys([*quoted_forms(identifier), *once, *twice]))


def quoted_forms(identifier: str) -> list[str]:
    """Return an identifier as it is and as addresses write it."""
    return list(dict.fromkeys([identifier, quote(identifier), quote(identifier, safe="")]))


def stands_in(identifier: str, text: str) -> bool:
    """Whether a text has the identifier as a word of its own: `user1` is not in `user10`, and is in `user1#visit`."""
    place = text.find(identifier)
    while place >= 0:
        before, behind = text[place - 1 : place], text[place + len(identifier) : place + len(identifier) + 1]
        if not (_goes_on(before) and _goes_on(identifier[:1])) and not (_goes_on(behind) and _goes_on(identifier[-1:])):
            return True
        place = text.find(identifier, place + 1)
    return False


def said_in(value: Any) -> Iterator[str]:
    """Yield what a value of a text column says: the text, or if it is JSON, every key and string in it."""
    yield from _walk(value, DEPTH)


def any_stands_in(words: Iterable[str], value: Any) -> bool:
    """Whether any of the words stands in what a column says."""
    texts = list(said_in(value))
    return any(stands_in(word, text) for word in words for text in texts)


def _goes_on(character: str) -> bool:
    return character.isalnum() or character == "_"


def _walk(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        inner = _parsed(value) if depth else None
        if inner is None:
            yield value
        else:
            yield from _walk(inner, depth - 1)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _walk(each, depth - 1) if depth else iter([json.dumps(each, ensure_ascii=False)])
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, depth - 1) if depth else iter([json.dumps(each, ensure_ascii=False)])
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _parsed(text: str) -> Any:
    """Return what JSON text means, None for text that is no object, list or quoted string."""
    if text[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
