"""What keywords are asked for, with one meaning in Python and in PostgreSQL."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping
from typing import Any

from memadmin.api.opensearch.querying.globs import like_pattern, lowered, matches
from memadmin.api.opensearch.querying.queries import Glob, Wild

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_COMPARISONS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


class TextTest:
    """What a keyword is asked for: one of some values, a form, a stretch of the alphabet; none of them: that there is one."""

    def __init__(
        self,
        *,
        among: Collection[str] | None = None,
        glob: Glob | None = None,
        any_case: bool = False,
        bounds: Mapping[str, str] | None = None,
    ) -> None:
        self.among, self.glob, self.any_case, self.bounds = among, glob, any_case, bounds or {}

    @property
    def asks_presence_only(self) -> bool:
        return self.among is None and self.glob is None and not self.bounds

    def as_json(self) -> str:
        """Return the test as the functions of SQLite take it."""
        glob = None if self.glob is None else [piece.value if isinstance(piece, Wild) else [piece] for piece in self.glob]
        return json.dumps({"among": self.among, "glob": glob, "any_case": self.any_case, "bounds": self.bounds})

    @classmethod
    @functools.lru_cache(maxsize=64)
    def from_json(cls, text: str) -> TextTest:
        """SQLite asks with every row, and the tests of a request are few: they are kept until `forget`."""
        given = json.loads(text)
        glob = None if given["glob"] is None else tuple(piece[0] if isinstance(piece, list) else Wild(piece) for piece in given["glob"])
        among = None if given["among"] is None else frozenset(given["among"])
        return cls(among=among, glob=glob, any_case=given["any_case"], bounds=given["bounds"])

    def may_stand_in(self, column: str) -> bool:
        """A quick look at the JSON of a whole column: false where none of the values can be in it."""
        return self.literal is None or any(value in column for value in self.literal)

    @functools.cached_property
    def literal(self) -> list[str] | None:
        """The values, where each stands in JSON just as it is: letters do, what is escaped or could be a number does not."""
        plain = self.among is not None and all(map(_is_plain, self.among))
        return list(self.among or ()) if plain else None

    def holds(self, text: str) -> bool:
        if self.among is not None and text not in self.among:
            return False
        if self.glob is not None and not self._has_form(text):
            return False
        return all(_compares(name, text, bound) for name, bound in self.bounds.items())

    def _has_form(self, text: str) -> bool:
        glob = self.glob or ()
        if not self.any_case:
            return matches(glob, text)
        return matches(tuple(piece if isinstance(piece, Wild) else lowered(piece) for piece in glob), lowered(text))

    def postgresql(self, text: str) -> tuple[str, list[Any]]:
        """Return the condition over the SQL expression `text`, which may be NULL, and its parameters."""
        parts: list[str] = []
        parameters: list[Any] = []
        if self.among is not None:
            parts.append(f"{text} = ANY(%s)")
            parameters.append(list(self.among))
        if self.glob is not None:
            pattern = like_pattern(self.glob)
            parts.append(f"translate({text}, '{_UPPER}', '{_LOWER}') LIKE %s" if self.any_case else f"{text} LIKE %s")
            parameters.append(lowered(pattern) if self.any_case else pattern)
        for name, bound in self.bounds.items():
            parts.append(f'{text} COLLATE "C" {_COMPARISONS[name]} %s')
            parameters.append(bound)
        return " AND ".join(parts) or f"{text} IS NOT NULL", parameters


def forget() -> None:
    """Keep nothing in this process of what was asked for: it may be the id of somebody who is erased tomorrow."""
    TextTest.from_json.cache_clear()


def _compares(name: str, text: str, bound: str) -> bool:
    # UTF-8 sorts like the code points, and Python compares those.
    return {"gte": text >= bound, "gt": text > bound, "lte": text <= bound, "lt": text < bound}[name]


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable() and not {'"', "\\"} & set(value) and any(map(str.isalpha, value))
