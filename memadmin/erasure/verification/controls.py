"""Controls: a made-up person in every place, whom the look must find before its silence means anything.

They are planted in a transaction that is taken back, so nobody else ever sees them, and nothing of them stays.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from memadmin.erasure.planting import Planted, made_row_by_row, plant_person, plant_row
from memadmin.erasure.verification.keyed import columns_with
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.rows import Stretch, behind_last
from memadmin.erasure.verification.scanning import scan
from memadmin.erasure.verification.schema import Table, tables
from memadmin.store import ingest, locations
from memadmin.store.locations import Location

ACTOR = "job/erasure"
# Numbers, digests and sealed bytes say nothing to a search for words: these are found by the other columns of their row, and go with it.
WITHOUT_WORDS = {"store.long_term.embedding", "store.suppressions.digest", "store.returned.payload"}


class _TakenBack(Exception):
    """Ends the transaction in which the controls were planted."""


def blind_places(*, now: datetime, among: Sequence[Table] | None = None) -> list[str]:
    """Plant a control in every place and return `location.column` of each that the look does not see. The tables: those that there are."""
    blind: list[str] = []
    known = _by_name(among)
    with contextlib.suppress(_TakenBack), transaction.atomic():
        behind = behind_last(list(known.values()))  # a control is new: what was there is not looked through for it
        blind += _unseen(_plant(now=now), behind, known)
        raise _TakenBack
    return blind


def planted_columns(among: Sequence[Table] | None = None) -> int:
    """Return in how many columns a control is planted."""
    return sum(planted_by_place(among).values())


def planted_by_place(among: Sequence[Table] | None = None) -> dict[str, int]:
    """Return by place in how many of its columns a control is planted."""
    known = _by_name(among)
    return {location.name: len(_expected(location, known.get(location.table))) for location in _with_tables()}


def _by_name(among: Sequence[Table] | None) -> dict[str, Table]:
    return {table.name: table for table in (tables() if among is None else among)}


def _plant(*, now: datetime) -> Planted:
    word = f"control{secrets.token_hex(12)}"
    said: dict[str, Any] = dict.fromkeys(("name", "description", "external_id", "tenant"), word)
    whole: dict[str, Any] = {"configuration": {word: word}, "owner": {"name": word}, "backend_roles": [word]}
    container = ingest.create_container(**said, **whole, actor=ACTOR, now=now)
    planted = plant_person(container, word, actor=ACTOR, now=now)
    for location in made_row_by_row():
        if _in_words(location):
            plant_row(location, planted, now=now)
    return planted


def _unseen(planted: Planted, behind: Mapping[str, Stretch], known: Mapping[str, Table]) -> Iterator[str]:
    probes = Probes(subjects=(planted.subject.pk,), identifiers=(planted.word,), names=_names_of(planted))
    stretches = {known[name]: behind[name] for location in _with_tables() if (name := location.table) in known}
    keyed = columns_with(stretches, probes)
    seen = {table.name: {hit.column for hit in scan(table, probes, part, keyed=keyed[table.name])} for table, part in stretches.items()}
    for location in _with_tables():
        there = seen.get(location.table, set())
        yield from (f"{location.name}.{column}" for column in _expected(location, known.get(location.table)) if column not in there)


def _with_tables() -> list[Location]:
    return [place for place in locations.in_order() if place.table and place.app != "erasure"]


def _expected(location: Location, table: Table | None) -> list[str]:
    """Return the columns in which a control must be seen; of a table that is not there, all."""
    known = {column.name for column in table.columns} if table else set(location.columns)
    return [column for column in _in_words(location) if column in known]


def _in_words(location: Location) -> list[str]:
    return [column for column in location.columns if f"{location.name}.{column}" not in WITHOUT_WORDS]


def _names_of(planted: Planted) -> str:
    tables_of_items = ("store_session", "store_workingmemory", "store_longtermmemory", "store_historyentry", "store_archived")
    parts = [f"SELECT uid FROM {connection.ops.quote_name(table)} WHERE subject_id = {planted.subject.pk}" for table in tables_of_items]
    return " UNION ALL ".join([*parts, f"SELECT uid FROM store_subject WHERE id = {planted.subject.pk}"])
