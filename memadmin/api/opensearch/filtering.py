"""`filter_path`: which fields of an answer to send. Comma separated dotted paths; `*` is any part of a name, `**` any number of names.

Paths that begin with `-` leave fields out; with both kinds, what is left of the wanted fields is sent. `\\.` is a dot inside a name.
Lists are looked through. What holds nothing of what is wanted is left out itself. Source: OpenSearch, common REST parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memadmin.api.opensearch.errors import bad_argument

MOST_PATHS, MOST_STARS, LONGEST = 200, 40, 10_000  # a name with stars has to be tried on every field
ANY = "**"

_COMMA = re.compile(r",")
_DOT = re.compile(r"(?<!\\)\.")


class _Nothing:
    """Nothing is left of a value."""


NOTHING = _Nothing()


@dataclass(frozen=True, slots=True, eq=False)  # told apart by what it is: comparing long paths would take longer than walking them
class Step:
    """The names from here to the end of a path; `rest` None: this one is the last."""

    name: str
    rest: Step | None


Paths = tuple[Step | None, ...]  # None: a path that has come to its end


@dataclass(frozen=True, slots=True)
class FieldFilter:
    wanted: Paths
    unwanted: Paths

    def of(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return what is to be sent of an answer; an empty object where nothing is."""
        left: Any = document
        if self.wanted:
            left = _part(left, self.wanted, _Walk(_kept))
        if self.unwanted and left is not NOTHING:
            left = _part(left, self.unwanted, _Walk(_left))
        return {} if left is NOTHING else left


def parse(text: str) -> FieldFilter:
    """Return the filter that a parameter asks for; an empty one sends everything. Raises ApiError."""
    if len(text) > LONGEST:
        raise bad_argument(f"filter_path has {len(text)} characters, at most {LONGEST}")
    paths = [path.strip() for path in _COMMA.split(text) if path.strip()]
    if len(paths) > MOST_PATHS:
        raise bad_argument(f"filter_path has {len(paths)} paths, at most {MOST_PATHS}")
    stars = sum(name.count("*") for path in paths for name in path.removeprefix("-").split(".") if name != ANY)
    if stars > MOST_STARS:
        raise bad_argument(f"filter_path has {stars} stars inside of names, at most {MOST_STARS}")
    return FieldFilter(
        wanted=tuple(_steps(path) for path in paths if not path.startswith("-")),
        unwanted=tuple(_steps(path[1:]) for path in paths if path.startswith("-")),
    )


def _steps(path: str) -> Step:
    first = None
    for name in reversed([name.replace("\\.", ".") for name in _DOT.split(path)]):
        if not (first and name == first.name == ANY):  # any number of names, and any number of names
            first = Step(name, first)
    assert first is not None
    return first


class _Fork:
    """Where the paths go on inside a field, by its name."""

    def __init__(self, paths: Paths) -> None:
        self.anyway: dict[Step | None, None] = {}
        self.by_name: dict[str, list[Step | None]] = {}
        self.by_pattern: list[Step] = []
        for step in paths:
            if step is not None:
                self._add(step)

    def further(self, name: str) -> Paths:
        met = [*self.by_name.get(name, ()), *(step.rest for step in self.by_pattern if _matches(name, step.name))]
        return tuple(self.anyway | dict.fromkeys(met)) if met else self.always

    @cached_property
    def always(self) -> Paths:
        return tuple(self.anyway)

    def _add(self, step: Step) -> None:
        if step.name == ANY:
            self.anyway[step] = None
            if step.rest is None:
                self.anyway[None] = None
            else:
                self._add(step.rest)
        elif "*" in step.name:
            self.by_pattern.append(step)
        else:
            self.by_name.setdefault(step.name, []).append(step.rest)


class _Walk:
    """One way through an answer. The fields of a thousand hits have the same names, and the paths go on in them in the same way."""

    def __init__(self, inside: Callable[[Any, Paths, _Walk], Any]) -> None:
        self.inside = inside
        self._forks: dict[Paths, _Fork] = {}
        self._known: dict[tuple[Paths, str], Paths] = {}

    def further(self, paths: Paths, name: str) -> Paths:
        """Return how the paths go on inside a field of this name."""
        known = self._known.get((paths, name))
        if known is None:
            fork = self._forks.get(paths) or self._forks.setdefault(paths, _Fork(paths))
            known = self._known[paths, name] = fork.further(name)
        return known


def _part(value: Any, paths: Paths, walk: _Walk) -> Any:
    """Return a value without the fields that the walk lets go, or NOTHING."""
    if isinstance(value, list):
        on = tuple(step for step in paths if step is not None)
        parts = [part for part in (walk.inside(part, on, walk) for part in value) if part is not NOTHING]
        return parts or NOTHING
    fields = {}
    for name, field in value.items():
        part = walk.inside(field, walk.further(paths, name), walk)
        if part is not NOTHING:
            fields[name] = part
    return fields or NOTHING


def _kept(value: Any, paths: Paths, walk: _Walk) -> Any:
    """What is met is sent whole, what some path leads into in part."""
    if None in paths:
        return value
    return _part(value, paths, walk) if paths and isinstance(value, dict | list) else NOTHING


def _left(value: Any, paths: Paths, walk: _Walk) -> Any:
    """What is met is not sent."""
    if None in paths:
        return NOTHING
    return _part(value, paths, walk) if paths and value and isinstance(value, dict | list) else value


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
