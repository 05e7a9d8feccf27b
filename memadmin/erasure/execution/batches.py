"""The batches of an execution: which items of a place go in one transaction.

A batch has 200 items. Where a place can delete by list (`Location.delete_listed`) it grows while the transactions stay short, so that a
person of a million rows takes minutes and nobody else waits; there the items never pass through here, and those that the list spared
(they are held, or are somebody else's by now) are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from memadmin.erasure.execution.erasing import count, erase
from memadmin.erasure.models import ErasureRequest, Manifest, ManifestItem
from memadmin.store.locations import Act, Location
from memadmin.store.removal_by_list import Listed

AT_ONCE, MOST = 200, 10_000  # items of one transaction
SHORT, LONG = 0.05, 0.1  # seconds of a transaction: below the one batches grow, above the other they shrink


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of a manifest at one place: those behind one key and up to another, with one of these acts."""

    manifest: Manifest
    location: Location
    acts: Sequence[Act]
    behind: int
    upto: int
    items: int
    deletions: int

    def rows(self) -> list[ManifestItem]:
        within = {"location": self.location.name, "act__in": self.acts, "pk__gt": self.behind, "pk__lte": self.upto}
        return list(self.manifest.items.filter(**within).order_by("pk"))

    @property
    def listed(self) -> Listed:
        return Listed(_LISTED, [self.manifest.pk, self.location.name, self.behind, self.upto, Act.DELETE])


def next_batch(manifest: Manifest, location: Location, *, acts: Sequence[Act], behind: int, size: int) -> Batch | None:
    """Return the next items of a place, 200 or where it can delete by list `size`. None: there are no more."""
    at_once = size if location.delete_listed and Act.DELETE in acts else AT_ONCE
    with connection.cursor() as cursor:
        marks = ", ".join(["%s"] * len(acts))
        cursor.execute(_NEXT.format(acts=marks), [Act.DELETE, manifest.pk, location.name, behind, *acts, at_once])
        upto, items, deletions = cursor.fetchone()
    return Batch(manifest, location, acts, behind, upto, items, deletions or 0) if items else None


def carry_out(request: ErasureRequest, batch: Batch, *, actor: str, now: datetime) -> None:
    """Do with each item what was approved. The caller has the transaction. Raises NoWayToErase."""
    remove = batch.location.delete_listed
    if remove is None or not batch.deletions:
        erase(request, batch.location, batch.rows(), actor=actor, now=now)
        return
    gone = remove(batch.listed)
    count(request, batch.location, erased=gone, withheld=batch.items - batch.deletions)
    if gone < batch.deletions:
        left = _left(batch)
        count(request, batch.location, absent=batch.deletions - gone - len(left))
        for start in range(0, len(left), AT_ONCE):
            erase(request, batch.location, left[start : start + AT_ONCE], actor=actor, now=now)


def next_size(size: int, *, took: float) -> int:
    """Return how many items the next batch may have, after one that took so many seconds."""
    if took < SHORT:
        return min(size * 2, MOST)
    return max(size // 2, AT_ONCE) if took > LONG else size


def _left(batch: Batch) -> list[ManifestItem]:
    """Return the items to delete whose rows are there still."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT l.item FROM ({_LISTED}) AS l JOIN {batch.location.table} AS m ON m.id = l.key", batch.listed.params)
        keys = [key for (key,) in cursor.fetchall()]
    return list(ManifestItem.objects.filter(pk__in=keys).order_by("pk"))


_NEXT = """
SELECT max(id), count(*), count(CASE WHEN act = %s THEN 1 END) FROM (
    SELECT id, act FROM erasure_manifestitem WHERE manifest_id = %s AND location = %s AND id > %s AND act IN ({acts}) ORDER BY id LIMIT %s
) AS batch
"""
_LISTED = """
SELECT id AS item, CAST(row_key AS bigint) AS key, subject_id FROM erasure_manifestitem
WHERE manifest_id = %s AND location = %s AND id > %s AND id <= %s AND act = %s
"""
