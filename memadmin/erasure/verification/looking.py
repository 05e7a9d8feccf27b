"""One look over the whole database, in steps of one stretch of one table each. Where it has come to is the caller's to keep.

What a step finds is noted in memory alone, until the caller saves it together with where the look is: a look that is killed goes on from
there, and finds nothing twice.

Where users and names stand by key is asked for all tables at once, after the controls (see `keyed`); then texts and bytes go table by
table. It is clean when all of this holds: a control was seen in every column of every place; what was found is among what the manifest says
stays, or is a word that a namesake's own rows say; all of the former is there; and no planner's statistics and no file of a killed import
or export names the person.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from memadmin.erasure.models import Finding, FindingKind, Kind, Manifest, ManifestItem, Outcome, Verification
from memadmin.erasure.verification import controls, statistics
from memadmin.erasure.verification.files import files_with
from memadmin.erasure.verification.keyed import columns_with
from memadmin.erasure.verification.missing import STAYS, count_staying
from memadmin.erasure.verification.namesakes import have_rows_in, theirs
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.reading import reading_only
from memadmin.erasure.verification.rows import Hit, Key, Stretch, filled_ones, long_ones, next_stretch
from memadmin.erasure.verification.scanning import scan
from memadmin.erasure.verification.schema import Holds, Table, tables
from memadmin.store import locations
from memadmin.store.locations import Act

OWN_TABLES = "erasure_"  # the papers of requests, which end with them; see `purging`
SHORTEST = 3  # characters: a shorter id is a word of every second text, and is looked for by key and name alone
TEMPORARY = ("memadmin-import-*", "memadmin-export-*")


@dataclass(frozen=True, slots=True)
class Place:
    """How far a look is: which table, and behind which key of it.

    `keyed` are the columns that have anything by key, by table, of all that are one stretch; `filled` the tables that had any row when
    that was asked. None: nobody has asked yet.
    """

    table: int = -1  # -1: the controls come first
    after: Key | None = None
    keyed: Mapping[str, Sequence[str]] | None = None
    filled: Sequence[str] | None = None

    @classmethod
    def read(cls, cursor: Mapping[str, Any] | None) -> Place:
        at = dict(cursor or {})
        after = tuple(at["after"]) if at.get("after") is not None else None
        return cls(at.get("table", -1), after, at.get("keyed"), at.get("filled"))

    def as_cursor(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Noted:
    """What was found since the last saving. `tables`: how many were looked through, once the look has ended."""

    rows: dict[tuple[FindingKind, str, str], int] = field(default_factory=dict)
    samples: dict[tuple[FindingKind, str, str], str] = field(default_factory=dict)
    expected: int = 0
    found: int = 0
    controls: tuple[int, int] | None = None  # planted, seen
    tables: int | None = None

    def add(self, kind: FindingKind, table: str, column: str, *, rows: int, sample: str = "") -> None:
        self.rows[kind, table, column] = self.rows.get((kind, table, column), 0) + rows
        self.samples.setdefault((kind, table, column), sample[:100])


@dataclass
class Look:
    """A look between two savings: what it is of, what it goes by, which is asked anew for each, and what it has found."""

    verification: Verification
    noted: Noted = field(default_factory=Noted)

    @cached_property
    def every(self) -> list[Table]:
        return tables()

    @cached_property
    def tables(self) -> list[Table]:
        """Those to look through."""
        return [table for table in self.every if not table.name.startswith(OWN_TABLES)]

    @cached_property
    def probes(self) -> Probes:
        return probes_of(self.verification.manifest)


def begin(manifest: Manifest, *, now: datetime) -> Verification:
    """Open a new look at what a manifest's execution has left."""
    last = manifest.request.verifications.order_by("-number").values_list("number", flat=True).first() or 0
    return Verification.objects.create(request=manifest.request, manifest=manifest, number=last + 1, started_at=now)


def probes_of(manifest: Manifest) -> Probes:
    """Return what must not be found again, from the request's own papers."""
    meant = manifest.request.subjects.filter(ticked=True).values_list("subject_id", "user_id", "container_id")
    ticked = [(subject, user) for subject, user, _ in meant]
    gone = ManifestItem.objects.filter(manifest=manifest, act=Act.DELETE).values("row_uid")
    names, values = gone.query.sql_with_params()
    whole = tuple(sorted(subject for subject, _ in ticked if subject is not None)) if Kind(manifest.request.kind).is_about_people else ()
    known = tuple(sorted({user for _, user in ticked if user is not None and len(user.strip()) >= SHORTEST}))
    people = frozenset((container, user) for _, user, container in meant if user is not None and container is not None)
    return Probes(whole, known, names % tuple(map(_literal, values)), people)


def step(look: Look, place: Place, *, now: datetime) -> Place | None:
    """Take one step. None: the look has ended. Its statements read only, besides the control's own; what it finds is for `save`."""
    if place.table < 0:
        _look_at_controls(look, now=now)
        return Place(0)
    while place.filled is not None and place.table < len(look.tables) and look.tables[place.table].name not in place.filled:
        place = replace(place, table=place.table + 1, after=None)
    with reading_only():
        return _next(look, place)


def _next(look: Look, place: Place) -> Place | None:
    if place.keyed is None:
        names = filled_ones(look.tables)
        filled = [table for table in look.tables if table.name in names]
        return replace(place, keyed=_asked_by_key(filled, look.probes), filled=[table.name for table in filled])
    if place.table >= len(look.tables):
        _close(look)
        return None
    table = look.tables[place.table]
    stretch = Stretch() if table.name in place.keyed else next_stretch(table, place.after)
    _compare(look, table, stretch, keyed=place.keyed.get(table.name))
    return replace(place, after=stretch.upto) if stretch.upto else replace(place, table=place.table + 1, after=None)


@transaction.atomic
def save(look: Look, *, now: datetime) -> None:
    """Write down what was found, in the transaction in which the caller saves where the look is; after the last step its outcome."""
    verification, noted = look.verification, look.noted
    for (kind, table, column), rows in noted.rows.items():
        values = {"rows": rows, "sample": noted.samples[kind, table, column]}
        finding, is_new = Finding.objects.get_or_create(verification=verification, kind=kind, table=table, column=column, defaults=values)
        if not is_new:
            Finding.objects.filter(pk=finding.pk).update(rows=F("rows") + rows)
    values = {"expected": F("expected") + noted.expected, "found": F("found") + noted.found}
    if noted.controls is not None:
        values |= dict(zip(("controls", "controls_seen"), noted.controls, strict=True))
    if noted.tables is not None:
        values |= {"outcome": _outcome(verification), "ended_at": now, "tables": noted.tables}
    Verification.objects.filter(pk=verification.pk).update(**values)
    verification.refresh_from_db()


def _outcome(verification: Verification) -> Outcome:
    kinds = set(verification.findings.values_list("kind", flat=True))
    return Outcome.BLIND if FindingKind.BLIND in kinds else Outcome.RESIDUE if kinds else Outcome.CLEAN


def _look_at_controls(look: Look, *, now: datetime) -> None:
    blind, planted, noted = controls.blind_places(now=now, among=look.every), controls.planted_columns(look.every), look.noted
    noted.controls = (planted, planted - len(blind))
    for name in blind:
        table, _, column = name.rpartition(".")
        noted.add(FindingKind.BLIND, table, column, rows=1)


def _asked_by_key(tables: Sequence[Table], probes: Probes) -> dict[str, list[str]]:
    """Ask all tables at once, but for those of several stretches, which are asked in their turn."""
    long = long_ones(tables)
    return columns_with({table: Stretch() for table in tables if table.name not in long}, probes)


def _compare(look: Look, table: Table, stretch: Stretch, *, keyed: Sequence[str] | None) -> None:
    """Note the rows that were found and were not to stay: once each, in the first column that has it."""
    found: dict[str, Hit] = {}
    for hit in scan(table, look.probes, stretch, keyed=keyed):
        found.setdefault(json.dumps(hit.key[0] if len(hit.key) == 1 else list(hit.key), default=str), hit)
    if not found:
        return
    in_words = set(table.holding(Holds.TEXT, Holds.BYTES))
    said = [key for key, hit in found.items() if hit.column in in_words]
    staying = _staying(look.verification, table) | theirs(table, said, look.probes)
    left = {key: hit for key, hit in found.items() if key not in staying}
    by_column: dict[str, list[str]] = {}
    for key, hit in left.items():
        by_column.setdefault(hit.column, []).append(key)
    for column, keys in by_column.items():
        look.noted.add(FindingKind.RESIDUE, table.name, column, rows=len(keys), sample=keys[0])


def _staying(verification: Verification, table: Table) -> set[str]:
    names = [place.name for place in locations.LOCATIONS.values() if place.table == table.name]
    items = ManifestItem.objects.filter(manifest=verification.manifest, location__in=names, act__in=STAYS)
    return set(items.values_list("row_key", flat=True).iterator())


def _close(look: Look) -> None:
    """Look for what is not in rows, and for what was to stay and has gone."""
    noted, probes, by_name = look.noted, look.probes, {table.name: table for table in look.every}
    for name, (expected, there) in count_staying(look.verification.manifest, by_name).items():
        noted.expected, noted.found = noted.expected + expected, noted.found + there
        if there < expected:
            noted.add(FindingKind.MISSING, name, "", rows=expected - there)
    papers = {name for name in by_name if name.startswith(OWN_TABLES)}  # their statistics are made anew with their end
    for name, columns in statistics.found_in_statistics(probes, besides=papers | _tables_with_staying(look.verification)).items():
        if not (name in by_name and have_rows_in(by_name[name], probes)):
            noted.add(FindingKind.RESIDUE, statistics.TABLE, name, rows=columns)
    for path in files_with(_folders(), probes.raw_needles):
        noted.add(FindingKind.RESIDUE, "files", path.parent.name, rows=1, sample=path.name)
    noted.tables = len(look.tables)


def _tables_with_staying(verification: Verification) -> set[str]:
    """Return the tables whose statistics may name the person: they are made of rows that stay."""
    names = verification.manifest.items.filter(act__in=STAYS).order_by().values_list("location", flat=True).distinct()
    return {locations.LOCATIONS[name].table for name in names if name in locations.LOCATIONS}


def _folders() -> list[Path]:
    root = Path(tempfile.gettempdir())
    return [*(folder for pattern in TEMPORARY for folder in root.glob(pattern)), settings.VAR_DIR / "exports", settings.VAR_DIR / "log"]


def _literal(value: Any) -> str:
    """Return a value of ours (a number or one of our words) as SQL: the query becomes part of others."""
    return str(value) if isinstance(value, int) else f"'{value}'"
