"""The batches of an execution: which items of a place go in one transaction.

A batch has 200 items. Where a place can delete by list (`Location.delete_listed`) it grows while the transactions stay short, so that a
person of a million rows takes minutes and nobody else waits; there the items never pass through here, and those that the list spared
(they are held, or are somebody else's by now) are asked for one by one. Of these a transaction takes 200 as well: what is over has batches
of its own, which come next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum

from memadmin.erasure.execution.erasing import count, erase
from memadmin.erasure.models import ErasureRequest, Manifest, ManifestItem
from memadmin.erasure.scope import scope_of
from memadmin.store.locations import Act, Location
from memadmin.store.removal_by_list import Listed

AT_ONCE, MOST = 200, 100_000  # items of one transaction
SHORT = 0.1  # seconds of a transaction, below which batches grow
LONG = {"sqlite": 0.2, "postgresql": 0.5}  # above which they shrink: on SQLite every writer waits for a batch, here only this person's
GROWTH = 4


@dataclass(frozen=True, slots=True)
class Rest:
    """What a list spared and nobody has asked for yet: so many items, the last of them not behind this one."""

    upto: int
    left: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of a manifest at one place: those from one key to another, with one of these acts.

    `listed` for a place that takes a list. `rest`: the list has gone before, and this is what it spared.
    """

    manifest: Manifest
    location: Location
    acts: Sequence[Act]
    first: int
    upto: int
    listed: Listed | None = None
    rest: Rest | None = None

    @property
    def items(self) -> QuerySet[ManifestItem]:
        return self.manifest.items.filter(location=self.location.name, act__in=self.acts, pk__gte=self.first, pk__lte=self.upto)


@dataclass(frozen=True, slots=True)
class Done:
    """How many items a batch was done with, up to which one; `rest` has to be asked for before anything behind it."""

    items: int
    upto: int
    rest: Rest | None = None


def next_batch(manifest: Manifest, location: Location, *, acts: Sequence[Act], behind: int, size: int) -> Batch | None:
    """Return the next items of a place, 200 or where it can delete by list up to `size`. None: there are no more.

    Of a list only the ends are looked at here: that is much of what deleting costs.
    """
    items = _of_place(manifest, location).filter(act__in=acts, pk__gt=behind).values_list("pk", "row_key", "subject_id")
    in_order = items.order_by("location", "pk")
    if location.delete_listed is None or Act.DELETE not in acts:
        found = list(in_order[:AT_ONCE])
        return Batch(manifest, location, acts, found[0][0], found[-1][0]) if found else None
    first = in_order.first()
    if first is None:
        return None
    last = in_order.filter(pk__lt=first[0] + size).reverse()[0]
    return Batch(manifest, location, acts, first[0], last[0], _listed(manifest, location, first, last))


def _of_place(manifest: Manifest, location: Location) -> QuerySet[ManifestItem]:
    """Return the items of a place, so asked that PostgreSQL takes the index that has them in order.

    Were the place given as equal, it would see that the order by place says nothing, and might go by the key through all places before it.
    """
    return manifest.items.filter(location__gte=location.name, location__lte=location.name)


def _listed(manifest: Manifest, location: Location, first: tuple[int, str, int | None], last: tuple[int, str, int | None]) -> Listed:
    """A list whose ends are of one user is taken for his alone, and one whose ends are the lowest and highest key for all between them.

    What is not so stays, and is asked for one by one.
    """
    within = [manifest.pk, location.name, first[0], last[0]]
    low, high = sorted((int(first[1]), int(last[1])))
    length, user = last[0] - first[0] + 1, first[2] if first[2] == last[2] else None
    if user is None:
        return Listed(_LISTED, within, low, high, _users(within), length)
    whole = _goes_whole(manifest, location, user)
    return Listed(_LISTED, within, low, high, [user], length, stored_by=manifest.cutoff_at if whole else None)


def _goes_whole(manifest: Manifest, location: Location, user: int) -> bool:
    """Return whether all that a user had here when the search began is to be deleted, so that a list need not be compared row by row.

    Its length must be known for that without counting, which costs as much: the items of the place have their keys in a row.
    """
    stays = manifest.items.filter(location=location.name, subject_id=user).exclude(act=Act.DELETE)
    if user not in scope_of(manifest).subjects or stays.exists():
        return False
    in_order = _of_place(manifest, location).filter(act=Act.DELETE).order_by("location", "pk").values_list("pk", flat=True)
    first, last = in_order[:1].get(), in_order.reverse()[:1].get()
    return last - first + 1 == manifest.lines.filter(location=location.name, act=Act.DELETE).aggregate(all=Sum("items"))["all"]


def _users(within: Sequence[Any]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT subject_id FROM ({_LISTED}) AS l WHERE subject_id IS NOT NULL ORDER BY subject_id", within)
        return [user for (user,) in cursor.fetchall()]


def spared(manifest: Manifest, location: Location, rest: Rest, *, acts: Sequence[Act], behind: int) -> Batch:
    """Return the batch of what a list has spared."""
    return Batch(manifest, location, acts, behind + 1, rest.upto, rest=rest)


def carry_out(request: ErasureRequest, batch: Batch, *, actor: str, now: datetime) -> Done:
    """Do with each item what was approved. The caller has the transaction. Raises NoWayToErase."""
    remove = batch.location.delete_listed
    if batch.rest is not None:
        return _carry_out_spared(request, batch, batch.rest, actor=actor, now=now)
    if remove is None or batch.listed is None:
        items = list(batch.items.order_by("pk"))
        erase(request, batch.location, items, actor=actor, now=now)
        return Done(len(items), batch.upto)
    gone = remove(batch.listed)
    if gone == batch.listed.length:  # there can be no more
        count(request, batch.location, erased=gone)
        return Done(gone, batch.upto)
    return _after_list(request, batch, gone=gone, actor=actor, now=now)


def _after_list(request: ErasureRequest, batch: Batch, *, gone: int, actor: str, now: datetime) -> Done:
    number = batch.items.aggregate(all=Count("pk"), deletions=Count("pk", filter=Q(act=Act.DELETE)))
    left = _count_left(batch) if gone < number["deletions"] else 0
    kept_back, absent = number["all"] - number["deletions"], number["deletions"] - gone - left
    count(request, batch.location, erased=gone, withheld=kept_back, absent=absent)
    if not left:
        return Done(number["all"], batch.upto)
    asked = _carry_out_spared(request, batch, Rest(batch.upto, left), actor=actor, now=now)
    return replace(asked, items=asked.items + number["all"] - left)


def _carry_out_spared(request: ErasureRequest, batch: Batch, rest: Rest, *, actor: str, now: datetime) -> Done:
    """Ask for the next of what the list spared. What has gone meanwhile is absent."""
    items = _left(batch)
    erase(request, batch.location, items, actor=actor, now=now)
    left = rest.left - len(items)
    if left > 0 and len(items) == AT_ONCE:
        return Done(len(items), items[-1].pk, Rest(rest.upto, left))
    count(request, batch.location, absent=left)
    return Done(rest.left, rest.upto)


def first_size(size: int) -> int:
    """Return how many items the first batch of a place may have, after one that had so many at another place."""
    return max(size // GROWTH, AT_ONCE)


def next_size(size: int, *, took: float) -> int:
    """Return how many items the next batch may have, after one that took so many seconds."""
    if took < SHORT:
        return min(size * GROWTH, MOST)
    return max(size // 2, AT_ONCE) if took > LONG[connection.vendor] else size


def _count_left(batch: Batch) -> int:
    """Return how many of the items to delete have their rows still."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({_LISTED}) AS l JOIN {batch.location.table} AS m ON m.id = l.key", _within(batch))
        return int(cursor.fetchone()[0])


def _left(batch: Batch) -> list[ManifestItem]:
    """Return the first of the items to delete whose rows are there still."""
    statement = f"SELECT l.item FROM ({_LISTED}) AS l JOIN {batch.location.table} AS m ON m.id = l.key ORDER BY l.item LIMIT {AT_ONCE}"
    with connection.cursor() as cursor:
        cursor.execute(statement, _within(batch))
        keys = [key for (key,) in cursor.fetchall()]
    return list(ManifestItem.objects.filter(pk__in=keys).order_by("pk"))


def _within(batch: Batch) -> list[Any]:
    return [batch.manifest.pk, batch.location.name, batch.first, batch.upto]


_LISTED = f"""
SELECT id AS item, CAST(row_key AS bigint) AS key, subject_id FROM erasure_manifestitem
WHERE manifest_id = %s AND location = %s AND id >= %s AND id <= %s AND act = '{Act.DELETE.value}'
"""
