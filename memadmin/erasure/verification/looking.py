"""One look over the whole database, in steps of one stretch of one table each. Where it has come to is the caller's to keep.

What a step finds is noted in memory alone, until the caller saves it together with where the look is: a look that is killed goes on from
there, and finds nothing twice.

It is clean when all of this holds: a control was seen in every column of every place; what was found is among what the manifest says
stays, or is a word that a namesake's own rows say; all of the former is there; and no planner's statistics and no file of a killed import
or export names the person.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F

from memadmin.erasure.models import Finding, FindingKind, Kind, Manifest, ManifestItem, Outcome, Verification
from memadmin.erasure.verification import controls, statistics
from memadmin.erasure.verification.files import files_with
from memadmin.erasure.verification.namesakes import have_rows_in, theirs
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.scanning import Hit, Key, Stretch, next_stretch, scan
from memadmin.erasure.verification.schema import Holds, Table, tables
from memadmin.store import locations
from memadmin.store.locations import Act

OWN_TABLES = "erasure_"  # the papers of requests, which end with them; see `purging`
SHORTEST = 3  # characters: a shorter id is a word of every second text, and is looked for by key and name alone
STAYS = (Act.WITHHOLD, Act.KEEP)
EXISTING_AT_ONCE = 500
TEMPORARY = ("memadmin-import-*", "memadmin-export-*")


@dataclass(frozen=True, slots=True)
class Place:
    """How far a look is: which table, and behind which key of it."""

    table: int = -1  # -1: the controls come first
    after: Key | None = None

    @classmethod
    def read(cls, cursor: Mapping[str, Any] | None) -> Place:
        at = dict(cursor or {})
        return cls(at.get("table", -1), tuple(at["after"]) if at.get("after") is not None else None)

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


def step(verification: Verification, place: Place, noted: Noted, *, now: datetime) -> Place | None:
    """Take one step. None: the look has ended. Its statements read only, besides the control's own; what it finds is for `save`."""
    if place.table < 0:
        _look_at_controls(noted, now=now)
        return Place(0)
    known = [table for table in tables() if not table.name.startswith(OWN_TABLES)]
    if place.table >= len(known):
        _close(verification, noted)
        noted.tables = len(known)
        return None
    table = known[place.table]
    stretch = next_stretch(table, place.after)
    _compare(verification, table, stretch, noted)
    return replace(place, after=stretch.upto) if stretch.upto else Place(place.table + 1)


@transaction.atomic
def save(verification: Verification, noted: Noted, *, now: datetime) -> None:
    """Write down what was found, in the transaction in which the caller saves where the look is; after the last step its outcome."""
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


def _look_at_controls(noted: Noted, *, now: datetime) -> None:
    blind, planted = controls.blind_places(now=now), controls.planted_columns()
    noted.controls = (planted, planted - len(blind))
    for name in blind:
        table, _, column = name.rpartition(".")
        noted.add(FindingKind.BLIND, table, column, rows=1)


def _compare(verification: Verification, table: Table, stretch: Stretch, noted: Noted) -> None:
    """Note the rows that were found and were not to stay: once each, in the first column that has it."""
    found: dict[str, Hit] = {}
    probes = probes_of(verification.manifest)
    for hit in scan(table, probes, stretch):
        found.setdefault(json.dumps(hit.key[0] if len(hit.key) == 1 else list(hit.key), default=str), hit)
    if not found:
        return
    in_words = set(table.holding(Holds.TEXT, Holds.BYTES))
    staying = _staying(verification, table) | theirs(table, [key for key, hit in found.items() if hit.column in in_words], probes)
    left = {key: hit for key, hit in found.items() if key not in staying}
    by_column: dict[str, list[str]] = {}
    for key, hit in left.items():
        by_column.setdefault(hit.column, []).append(key)
    for column, keys in by_column.items():
        noted.add(FindingKind.RESIDUE, table.name, column, rows=len(keys), sample=keys[0])


def _staying(verification: Verification, table: Table) -> set[str]:
    names = [place.name for place in locations.LOCATIONS.values() if place.table == table.name]
    items = ManifestItem.objects.filter(manifest=verification.manifest, location__in=names, act__in=STAYS)
    return set(items.values_list("row_key", flat=True).iterator())


def _close(verification: Verification, noted: Noted) -> None:
    _look_for_missing(verification, noted)
    probes = probes_of(verification.manifest)
    by_name = {table.name: table for table in tables()}
    papers = {name for name in by_name if name.startswith(OWN_TABLES)}  # their statistics are made anew with their end
    for name, columns in statistics.found_in_statistics(probes, besides=papers | _tables_with_staying(verification)).items():
        if not (name in by_name and have_rows_in(by_name[name], probes)):
            noted.add(FindingKind.RESIDUE, statistics.TABLE, name, rows=columns)
    for path in files_with(_folders(), probes.raw_needles):
        noted.add(FindingKind.RESIDUE, "files", path.parent.name, rows=1, sample=path.name)


def _tables_with_staying(verification: Verification) -> set[str]:
    """Return the tables whose statistics may name the person: they are made of rows that stay."""
    names = verification.manifest.items.filter(act__in=STAYS).order_by().values_list("location", flat=True).distinct()
    return {locations.LOCATIONS[name].table for name in names if name in locations.LOCATIONS}


def _look_for_missing(verification: Verification, noted: Noted) -> None:
    """Ask for everything that was to stay, by its key: what else took it, has to be known."""
    for location in locations.in_order():
        items = ManifestItem.objects.filter(manifest=verification.manifest, location=location.name, act__in=STAYS).order_by("pk")
        keys = [json.loads(key) for key in items.values_list("row_key", flat=True).iterator()] if location.table else []
        for start in range(0, len(keys), EXISTING_AT_ONCE):
            _count_existing(location.table, keys[start : start + EXISTING_AT_ONCE], noted)


def _count_existing(name: str, keys: list[Any], noted: Noted) -> None:
    table = next((each for each in tables() if each.name == name), None)
    columns = ", ".join(map(connection.ops.quote_name, table.key)) if table else ""
    there = 0
    if table:
        marks = ", ".join(["%s"] * len(table.key))
        rows = [key if isinstance(key, list) else [key] for key in keys]
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM {connection.ops.quote_name(name)} WHERE ({columns}) IN ({', '.join([f'({marks})'] * len(rows))})",
                [part for row in rows for part in row],
            )
            there = int(cursor.fetchone()[0])
    noted.expected += len(keys)
    noted.found += there
    if there < len(keys):
        noted.add(FindingKind.MISSING, name, "", rows=len(keys) - there)


def _folders() -> list[Path]:
    root = Path(tempfile.gettempdir())
    return [*(folder for pattern in TEMPORARY for folder in root.glob(pattern)), settings.VAR_DIR / "exports", settings.VAR_DIR / "log"]


def _literal(value: Any) -> str:
    """Return a value of ours (a number or one of our words) as SQL: the query becomes part of others."""
    return str(value) if isinstance(value, int) else f"'{value}'"
