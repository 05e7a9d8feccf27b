"""What has changed between a preview and now, or between a preview and its run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count

from memadmin.lifecycle.exceptions import differing_sql, is_back_sql
from memadmin.lifecycle.items import RULED, SOURCES
from memadmin.lifecycle.models import ItemKind, Kept, Run, RunKept, RunState


@dataclass(frozen=True, slots=True)
class Drift:
    """Victims that are not as they were when chosen, and rows that were added since and are no part of the run."""

    pinned: int = 0
    held: int = 0
    read: int = 0
    changed: int = 0
    session: int = 0  # working memories whose session is there by now
    gone: int = 0
    unsummarised: int = 0  # no summary could be made of them and others
    added: int = 0

    @property
    def kept(self) -> int:
        """Victims that the run passes over."""
        return self.pinned + self.held + self.read + self.changed + self.session + self.gone + self.unsummarised

    def __bool__(self) -> bool:
        return bool(self.kept or self.added)


def drift_of(run: Run) -> Drift:
    """Return what differs: for a preview, or a run that waits for a second person, by now, for a run that was started by what it met."""
    if run.state in {RunState.READY, RunState.WAITING}:
        return Drift(added=added_since(run), **_differing(run))
    met = run.outcome.get("met") or dict(RunKept.objects.filter(run=run).values_list("why").annotate(Count("seq")))
    return Drift(added=run.outcome.get("added", 0), **met)


def added_since(run: Run) -> int:
    """Return how many items of the limited types the container got since the run was planned. Victims that came back are none of them."""
    return sum(_added(run, source.kind) for source in RULED)


def _added(run: Run, kind: ItemKind) -> int:
    planned_at = run.high_water[kind.memory_type.value]
    new = _one(f"SELECT COUNT(*) FROM {SOURCES[kind].table} WHERE id > {planned_at} AND container_id = {run.container_id}")
    if not new:
        return 0
    named = f"lifecycle_runvictim v WHERE v.run_id = {run.pk} AND v.item_kind = {kind.value}"
    return new - _one(f"SELECT COUNT(*) FROM {named} AND {is_back_sql(kind, behind=planned_at)}")


def _differing(run: Run) -> Counter[str]:
    found: Counter[str] = Counter({why.value: 0 for why in Kept})
    for kind in ItemKind:
        if run.summary.of(kind.memory_type).total:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT why, COUNT(*) FROM ({differing_sql(run, kind)}) d GROUP BY why")
                found.update(dict(cursor.fetchall()))
    return found


def _one(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])
