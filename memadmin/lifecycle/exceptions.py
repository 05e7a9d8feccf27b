"""Victims that are not as they were when chosen: why each of them is kept."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.models import ItemKind, Kept, Run, RunVictim
from memadmin.store import bars, counters
from memadmin.store.lost import LOST


@dataclass(frozen=True, slots=True)
class Stretch:
    """Victims of one type that stand side by side in a run: those behind one number, up to another."""

    run: Run
    kind: ItemKind
    behind: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.behind


def differing_sql(run: Run, kind: ItemKind, *, behind: int = 0, last: int | None = None) -> str:
    """Return a SELECT of (seq, why) of the victims of one type that differ by now. Gone is looked at first, then the pin.

    One that went and was restored has changed: somebody wanted it back.
    """
    same = "IS NOT DISTINCT FROM" if connection.vendor == "postgresql" else "IS"
    tests = [(Kept.CHANGED, f"m.id IS NULL AND {is_back_sql(kind)}"), (Kept.GONE, "m.id IS NULL")]
    tests.append((Kept.SESSION, f"NOT ({LOST})") if kind is ItemKind.WORKING else (Kept.PINNED, "m.pinned"))
    erased = bars.being_erased()
    tests.append((Kept.HELD, f"m.held OR m.subject_id IN ({erased})" if erased else "m.held"))
    if kind is ItemKind.LONG_TERM:
        tests.append((Kept.READ, f"NOT (m.last_accessed_at {same} v.last_accessed_at)"))
    tests.append((Kept.CHANGED, "m.revision <> v.revision"))
    until = "" if last is None else f" AND v.seq <= {last}"
    return (
        f"SELECT v.seq, CASE {' '.join(f'WHEN {test} THEN {why.value!r}' for why, test in tests)} END AS why "
        f"FROM lifecycle_runvictim v LEFT JOIN {SOURCES[kind].table} m ON m.id = v.item_id "
        f"WHERE v.run_id = {run.pk} AND v.item_kind = {kind.value} AND v.seq > {behind}{until} "
        f"AND ({' OR '.join(test for _, test in tests[1:])})"
    )


def is_back_sql(kind: ItemKind, *, behind: int = 0) -> str:
    """Return the condition that a victim (alias v) has a row again, restored under a new number above `behind`."""
    same = "b.uid = v.item_uid AND b.subject_id = v.subject_id"
    return f"EXISTS (SELECT 1 FROM {SOURCES[kind].table} b WHERE {same} AND b.id > {behind})"


def record_kept(stretch: Stretch) -> int:
    """Note why victims of a stretch are kept and return how many are. Locks all of them, so that it stays true."""
    run, kind = stretch.run, stretch.kind
    victims = RunVictim.objects.of_run(run).filter(seq__gt=stretch.behind, seq__lte=stretch.last)
    counters.lock(victims.values_list("subject_id", flat=True))
    if connection.vendor == "postgresql":
        _lock_items(stretch)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO lifecycle_runkept (run_id, seq, why) "
            f"SELECT {run.pk}, d.seq, d.why FROM ({differing_sql(run, kind, behind=stretch.behind, last=stretch.last)}) d"
        )
        return int(cursor.rowcount)


def _lock_items(stretch: Stretch) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM {SOURCES[stretch.kind].table} m WHERE m.id IN (SELECT item_id FROM lifecycle_runvictim "
            f"WHERE run_id = {stretch.run.pk} AND seq > {stretch.behind} AND seq <= {stretch.last}) ORDER BY m.id FOR UPDATE"
        )
