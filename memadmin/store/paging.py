"""Pages by key: the next page starts behind the last row seen, so no row shows twice or is skipped while others delete.

Only ids and keys are read to find a page; the rows of one page are fetched afterwards.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

Key = int | str


class InvalidPlace(ValueError):
    """The place in the list is not one that a page of this list named."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row that a page ended with: its key and id, which way to go on, and the number of the row to go on with."""

    key: Key
    id: int
    backwards: bool
    position: int

    def token(self) -> str:
        packed = json.dumps([self.key, self.id, int(self.backwards), self.position], separators=(",", ":"))
        return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, token: str, *, key_type: type[Key]) -> Place:
        """Return the place that a token names. Raises InvalidPlace for anything that is not such a token."""
        try:
            parts = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            key, row, backwards, position = parts
        except (binascii.Error, ValueError, TypeError, RecursionError):
            raise InvalidPlace("This address names no place in the list.") from None
        whole = all(type(number) is int and abs(number) < 2**63 for number in (row, backwards, position))
        if type(key) is not key_type or not whole or (isinstance(key, int) and abs(key) >= 2**63):
            raise InvalidPlace("This address names no place in the list.")
        return cls(key=key, id=row, backwards=bool(backwards), position=max(position, 1))


@dataclass(frozen=True, slots=True)
class Slice:
    """One page: the ids in order, the numbers of its first and last row (0 when empty), and tokens of its neighbours."""

    ids: list[int]
    first: int
    last: int
    next: str | None
    previous: str | None


def slice_by_key(rows: QuerySet[Any], *, key: str, descending: bool = False, token: str = "", size: int = 50) -> Slice:
    """Return one page of rows ordered by `key` (a column or annotation without nulls), then by id in the same direction.

    Raises InvalidPlace when the token is not of this list.
    """
    key_type = str if rows.query.resolve_ref(key).output_field.get_internal_type() in {"CharField", "TextField"} else int
    place = Place.read(token, key_type=key_type) if token else None
    backwards = bool(place and place.backwards)
    reverse = descending != backwards
    if place:
        rows = rows.filter(_behind(key, place, reverse=reverse))
    sign = "-" if reverse else ""
    found = list(rows.order_by(f"{sign}{key}", f"{sign}id").values_list(key, "id")[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    return _numbered(found, place, more=more)


def page_with(rows: QuerySet[Any], row_id: int, *, key: str, size: int = 50) -> str:
    """Return the token of the page of this list, in ascending order, that has the row; "" when that is the first page or none."""
    found = rows.filter(pk=row_id).values_list(key, "id").first()
    if found is None:
        return ""
    row = Place(key=found[0], id=found[1], backwards=True, position=1)
    ahead = rows.filter(_behind(key, row, reverse=True)).count()
    first = ahead - ahead % size
    if first == 0:
        return ""
    last_key, last_id = rows.order_by(key, "id").values_list(key, "id")[first - 1]
    return Place(key=last_key, id=last_id, backwards=False, position=first + 1).token()


def _behind(key: str, place: Place, *, reverse: bool) -> Q:
    beyond = "lt" if reverse else "gt"
    return Q(**{f"{key}__{beyond}": place.key}) | Q(**{key: place.key, f"id__{beyond}": place.id})


def _numbered(found: list[tuple[Key, int]], place: Place | None, *, more: bool) -> Slice:
    if not found:
        return Slice(ids=[], first=0, last=0, next=None, previous=None)
    if place and place.backwards:
        first = max(place.position - len(found) + 1, 1) if more else 1
        has_previous, has_next = more, True
    else:
        first = place.position if place else 1
        has_previous, has_next = place is not None, more
    last = first + len(found) - 1
    onwards = Place(key=found[-1][0], id=found[-1][1], backwards=False, position=last + 1).token() if has_next else None
    back = Place(key=found[0][0], id=found[0][1], backwards=True, position=max(first - 1, 1)).token() if has_previous else None
    return Slice(ids=[row for _, row in found], first=first, last=last, next=onwards, previous=back)
