"""The register of every place that holds a person's data: what lies there, how it is found, and how it goes.

Each app describes its own places in its `locations.py`, which `StoreConfig.ready` imports (those of the store itself and of the audit log,
which knows no other part, are in `own_locations.py`). So an erasure reaches all of them without importing the apps. A column that no place
covers and nobody has waived with a reason fails `tests/store/test_location_coverage.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid5

from django.db.models import QuerySet, TextChoices

from memadmin.store.removal_by_list import RemoveListed

ROW_NAMES = UUID("5b0f5c52-9f35-4c0e-8d8e-3a6a2b5f0c11")  # the namespace of names for rows that have no uid of their own


class ItemClass(TextChoices):
    """What a thing is to the person whom a request is about. Source: the classes of data maps for erasure requests."""

    OWNED = "A", "the person's own"
    DERIVED = "B", "derived from the person's own alone"
    MIXED = "C", "derived from the person's and from others'"
    MENTION = "D", "mentions in what belongs to others"
    COPY = "E", "technical copies"
    BACKUP = "F", "backups"
    RECIPIENT = "G", "copies with recipients"


class Act(TextChoices):
    """What an approved erasure does with a thing."""

    DELETE = "delete", "delete"
    REDACT = "redact", "take the person's words out, the item stays"
    REDERIVE = "rederive", "take content and vector out, to be derived anew from what survives"
    UNLINK = "unlink", "the item stays, its link to the erased source goes"
    CLEAR = "clear", "goes with what it is a copy of"
    WITHHOLD = "withhold", "stays for now, for a legal reason"
    KEEP = "keep", "stays"


class Unreachable(Exception):
    """The place could not be asked. Nobody knows whether it is empty, so nothing may say that it is."""


class LocationTaken(Exception):
    """Two descriptions have the same name, or a table's column is both covered and waived."""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing in a place. `key` names its row inside the database, `uid` outside of it and after a restore."""

    key: Any
    uid: UUID
    subject_id: int | None = None
    size: int = 0  # characters or bytes of what it says, 0 where that costs too much to ask
    at: datetime | None = None
    held: bool = False
    matched: str = ""  # of a mention: a digest of all by which it mentions the person
    matched_at: str = ""  # and where the plainest of that stands in what it says
    doubtful: bool = False  # all that it has of them, in what somebody wrote, is an id that is a plain word or a number, or words they said


@dataclass(frozen=True, slots=True)
class Page:
    """Some of what a place holds, and where the next look begins; None: that was all."""

    found: Sequence[Found]
    after: Any = None


class Scope(Protocol):
    """Whom or what a request is about, as the apps may ask for it."""

    @property
    def subjects(self) -> Collection[int]:
        """The keys of the users whose everything is meant; none where single items are."""

    @property
    def identifiers(self) -> Collection[str]:
        """The ids from outside by which those users are known."""

    def uids(self) -> QuerySet[Any, Any]:
        """One query for the names of all memories and sessions that are meant, to be used inside other queries."""

    def members(self, uids: Iterable[UUID]) -> set[UUID]:
        """Those of the given names that the request is about: users, sessions and memories."""

    def named_in(self, text: str) -> bool:
        """Whether a text has one of the names or identifiers, with their boundaries: `user1` is not in `user10`."""

    def named_in_records(self, text: str) -> bool:
        """The same beyond doubt, as of what the program itself has written: an id that is a plain word or a number may mean anybody."""

    def plainly_named_in(self, text: str) -> bool:
        """Whether a text has an identifier that is a plain word or a number."""

    def copied_in(self, text: str) -> bool:
        """Whether a text has five words in a row that they said. Only a search knows; afterwards it is False of every text."""


Find = Callable[[Scope, Any, int], Page]  # (scope, where the last page ended or None, how many at most)
Change = Callable[[str, Any, UUID], Any]  # (column, what it says, the row's uid): what it says without the person's words


@dataclass(frozen=True, kw_only=True)
class Location:
    """One place. `find` None: a copy that has no rows of its own, and goes with those that it copies as `goes` says.

    `order` is the place in an erasure: copies that answer searches first, children before parents, links last. `columns` says which columns
    hold what; `waived` says of the others why they cannot hold a person's data. `searched` are the columns in which other people's rows are
    looked through for mentions, `read` how a column of another kind becomes text and `pack` the other way round, `said` what of it somebody
    said: there alone an id that is a plain word is looked for. `delete` removes rows by
    their keys inside the caller's transaction and returns how many went; `delete_listed` does so with thousands at once, but may leave some
    to `delete`. A made-up row needs `example` besides the columns, so that its table takes it; `plant` makes one where a row alone is not
    enough, and returns its key.
    """

    name: str
    title: str
    order: int
    table: str = ""
    columns: Mapping[str, ItemClass] = field(default_factory=dict)
    waived: Mapping[str, str] = field(default_factory=dict)
    item_class: ItemClass = ItemClass.OWNED
    act: Act = Act.DELETE
    goes: str = ""
    records: bool = False
    find: Find | None = None
    searched: Sequence[str] = ()
    accounts: Sequence[str] = ()
    said: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    change: Mapping[str, Callable[[Any, Change], Any]] = field(default_factory=dict)
    read: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    delete: Callable[[Sequence[Any]], int] | None = None
    delete_listed: RemoveListed | None = None
    pack: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    example: Mapping[str, Any] = field(default_factory=dict)
    plant: Callable[[str, datetime], Any] | None = None

    @property
    def app(self) -> str:
        """The app that describes it."""
        return self.name.partition(".")[0]


LOCATIONS: dict[str, Location] = {}
WAIVED_TABLES: dict[str, dict[str, str]] = {}  # table -> column, or "*" for all of it -> why it cannot hold a person's data


def register(*locations: Location) -> None:
    """Add places. Raises LocationTaken."""
    for location in locations:
        if location.name in LOCATIONS or set(location.columns) & set(location.waived):
            raise LocationTaken(location.name)
        LOCATIONS[location.name] = location


def waive(table: str, why: str, *, columns: Iterable[str] = ("*",)) -> None:
    """Say why the columns of a table, all of them unless named, cannot hold a person's data."""
    WAIVED_TABLES.setdefault(table, {}).update(dict.fromkeys(columns, why))


def in_order() -> list[Location]:
    """Return all places in the order in which an erasure goes through them."""
    return sorted(LOCATIONS.values(), key=lambda location: (location.order, location.name))


def get(name: str) -> Location:
    """Raises KeyError."""
    return LOCATIONS[name]


def row_uid(name: str, key: Any) -> UUID:
    """Return a name for a row that has no uid of its own."""
    return uuid5(ROW_NAMES, f"{name}/{key}")
