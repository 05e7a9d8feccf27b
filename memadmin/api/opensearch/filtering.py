"""`filter_path`: which fields of an answer to send. Comma separated dotted paths; `*` is any part of a name, `**` any number of names.

Paths that begin with `-` leave fields out; with both kinds, what is left of the wanted fields is sent. `\\.` is a dot inside a name.
Lists are looked through. What holds nothing of what is wanted is left out itself. Source: OpenSearch, common REST parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memadmin.api.opensearch.errors import bad_argument

MOST_PATHS, LONGEST = 200, 10_000
ANY = "**"

Path = tuple[str, ...]
_COMMA = re.compile(r",")
_DOT = re.compile(r"(?<!\\)\.")


class _Nothing:
    """Nothing is left of a value."""


NOTHING = _Nothing()


@dataclass(frozen=True, slots=True)
class FieldFilter:
    wanted: tuple[Path, ...]
    unwanted: tuple[Path, ...]

    def of(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return what is to be sent of an answer; an empty object where nothing is."""
        left: Any = document
        if self.wanted:
            left = _part(left, self.wanted, inside=_kept)
        if self.unwanted and left is not NOTHING:
            left = _part(left, self.unwanted, inside=_left)
        return {} if left is NOTHING else left


def parse(text: str) -> FieldFilter:
    """Return the filter that a parameter asks for; an empty one sends everything. Raises ApiError."""
    if len(text) > LONGEST:
        raise bad_argument(f"filter_path has {len(text)} characters, at most {LONGEST}")
    paths = [path.strip() for path in _COMMA.split(text) if path.strip()]
    if len(paths) > MOST_PATHS:
        raise bad_argument(f"filter_path has {len(paths)} paths, at most {MOST_PATHS}")
    return FieldFilter(
        wanted=tuple(_names(path) for path in paths if not path.startswith("-")),
        unwanted=tuple(_names(path[1:]) for path in paths if path.startswith("-")),
    )


def _names(path: str) -> Path:
    return tuple(name.replace("\\.", ".") for name in _DOT.split(path))


def _part(value: Any, paths: Sequence[Path], *, inside: Callable[[Any, Sequence[Path], bool], Any]) -> Any:
    """Return a value without the fields that `inside` lets go, or NOTHING."""
    if isinstance(value, list):
        parts = [part for part in (inside(part, paths, False) for part in value) if part is not NOTHING]
        return parts or NOTHING
    fields = {}
    for name, field in value.items():
        further = _further(paths, name)
        part = inside(field, further, () in further)
        if part is not NOTHING:
            fields[name] = part
    return fields or NOTHING


def _kept(value: Any, paths: Sequence[Path], is_met: bool) -> Any:
    """What is met is sent whole, what some path leads into in part."""
    if is_met:
        return value
    return _part(value, paths, inside=_kept) if paths and isinstance(value, dict | list) else NOTHING


def _left(value: Any, paths: Sequence[Path], is_met: bool) -> Any:
    """What is met is not sent."""
    if is_met:
        return NOTHING
    return _part(value, paths, inside=_left) if paths and value and isinstance(value, dict | list) else value


def _further(paths: Iterable[Path], name: str) -> list[Path]:
    """Return how the paths go on inside a field of this name; an empty one ends there."""
    found: dict[Path, None] = {}
    for path in paths:
        _follow(path, name, found)
    return list(found)


def _follow(path: Path, name: str, found: dict[Path, None]) -> None:
    if path and path[0] == ANY:
        found[path] = None
        rest = path[1:]
        if not rest:
            found[()] = None
        else:
            _follow(rest, name, found)
    elif path and _matches(name, path[0]):
        found[path[1:]] = None


def _matches(name: str, pattern: str) -> bool:
    """True where `*` in the pattern stands for any characters. The first place that fits is as good as any later one."""
    first, *parts = pattern.split("*")
    if not parts:
        return name == pattern
    if not name.startswith(first):
        return False
    at = len(first)
    for part in parts[:-1]:
        at = name.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return len(name) - at >= len(parts[-1]) and name.endswith(parts[-1])
