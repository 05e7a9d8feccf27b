"""What was to stay: is it there still? What else took it, has to be known. Nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any

from django.db import connection

from memadmin.erasure.models import Manifest
from memadmin.erasure.verification.rows import quoted
from memadmin.erasure.verification.schema import Table
from memadmin.store import locations
from memadmin.store.locations import Act

STAYS = (Act.WITHHOLD, Act.KEEP)
AT_ONCE = 500


def count_staying(manifest: Manifest, tables: Mapping[str, Table]) -> dict[str, tuple[int, int]]:
    """Return by table how many rows were to stay, and how many of them are there. Of a table that is not there, none is."""
    found: dict[str, tuple[int, int]] = {}
    items = manifest.items.filter(act__in=STAYS).order_by("location", "pk").values_list("location", "row_key")
    for place, rows in groupby(items.iterator(), key=lambda row: row[0]):
        name = locations.LOCATIONS[place].table if place in locations.LOCATIONS else ""
        for keys in _parts(key for _, key in rows) if name else ():
            expected, there = found.get(name, (0, 0))
            found[name] = expected + len(keys), there + (_count_existing(tables[name], keys) if name in tables else 0)
    return found


def _count_existing(table: Table, keys: list[Any]) -> int:
    marks = f"({', '.join(['%s'] * len(table.key))})"
    rows = [key if isinstance(key, list) else [key] for key in keys]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM {quoted(table.name)} WHERE ({quoted(*table.key)}) IN ({', '.join([marks] * len(rows))})",
            [part for row in rows for part in row],
        )
        return int(cursor.fetchone()[0])


def _parts(keys: Iterable[str]) -> Iterator[list[Any]]:
    every = map(json.loads, keys)
    while part := list(islice(every, AT_ONCE)):
        yield part
