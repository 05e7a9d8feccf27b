"""A search as it was asked for, checked for its form. Nothing here knows tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

Scalar = str | int | float | bool


def as_text(value: Scalar) -> str:
    """Return a value as a keyword: numbers in plain digits, as the databases write them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(Decimal(repr(value or 0.0)), "f")  # never -0
    return str(value)


class QueryRefused(ValueError):
    """The search cannot be done as it stands: `kind` is the type of the wire's error, the message its reason."""

    def __init__(self, reason: str, *, kind: str = "parsing_exception") -> None:
        super().__init__(reason)
        self.kind = kind


class Wild(Enum):
    """What stands in a glob between its literal texts."""

    ANY = "*"  # any number of characters
    ONE = "?"


Glob = tuple[str | Wild, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    boost: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchAll(Clause):
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms(Clause):
    """The field has one of the values."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Like(Clause):
    """The field, or one of its words, has this form from beginning to end."""

    field: str
    glob: Glob
    any_case: bool = False  # of ASCII letters


@dataclass(frozen=True, kw_only=True, slots=True)
class Match(Clause):
    """The field holds words of the text: `at_least` so many of them (see `words_needed`)."""

    field: str
    value: Scalar
    at_least: str | int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Exists(Clause):
    field: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Range(Clause):
    field: str
    gte: Scalar | None = None
    gt: Scalar | None = None
    lte: Scalar | None = None
    lt: Scalar | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ids(Clause):
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Bool(Clause):
    must: tuple[Clause, ...] = ()
    filter: tuple[Clause, ...] = ()
    should: tuple[Clause, ...] = ()
    must_not: tuple[Clause, ...] = ()
    minimum_should_match: str | int | None = None

    @property
    def should_needed(self) -> int:
        """How many of `should` must hold; more than there are means that nothing can match."""
        if self.minimum_should_match is None:
            return int(bool(self.should) and not self.must and not self.filter)
        return needed(self.minimum_should_match, len(self.should))


def needed(rule: str | int, count: int) -> int:
    """Return how many of `count` a rule like 2, -1, "75%" or "-25%" asks for; never below 0."""
    if isinstance(rule, int):
        return max(rule if rule >= 0 else count + rule, 0)
    share = int(rule.removesuffix("%"))
    part = int(count * abs(share) / 100)
    return max(part if share >= 0 else count - part, 0)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One thing to sort by. Rows without a value come last, whichever way the others go, unless it says otherwise."""

    field: str
    descending: bool = False
    missing_first: bool = False
    optional: bool = False  # a field that does not exist is passed over instead of refused


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Which parts of a document to send: none at all, or what the patterns let through."""

    wanted: bool = True
    includes: Sequence[str] = ()
    excludes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """The body of a search. `count_to` None: the total is left out."""

    query: Clause
    offset: int = 0
    size: int = 10
    sort: tuple[SortKey, ...] = ()
    after: tuple[Scalar | None, ...] | None = None
    count_to: int | None = 10_000
    source: SourceFilter = SourceFilter()
