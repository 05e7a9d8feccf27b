"""Ids that are a plain word or a number, which records of the program say too: `session`, `2026`, the number of an entry in the log.

Such an id means the person only where agents or people write. A column that the register waives, or one that holds records of ours, is not
asked for it; of a packed column only what was said in it is. A table that nobody has described is read whole, whatever the id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memadmin.erasure.verification.schema import Holds, Table
from memadmin.store import locations

Read = Callable[[Any], Any]


def reading(table: Table) -> dict[str, Read]:
    """Return the columns of a table that are asked for plain ids, each with what of it is read."""
    texts = table.holding(Holds.TEXT, Holds.BYTES)
    places = [place for place in locations.LOCATIONS.values() if place.table == table.name]
    waived = locations.WAIVED_TABLES.get(table.name, {})
    if not places and not waived:
        return dict.fromkeys(texts, _whole)
    found: dict[str, Read] = {}
    for place in places:
        if not place.records:
            found |= {column: _reader(place, column) for column in place.columns if column in texts}
    return found


def _reader(place: locations.Location, column: str) -> Read:
    return place.said.get(column) or place.read.get(column) or _whole


def _whole(value: Any) -> Any:
    return value
