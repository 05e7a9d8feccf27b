"""The victims of a run in ranges, so that several workers carry out one run without waiting for each other.

A worker has a range for as long as its transaction holds the lock on the range's row. Nothing is written to claim one: a worker that
is killed gives its range back with its connection, at the place where its last batch ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from django.db import connection, transaction
from django.db.models import F, Sum

from memadmin.lifecycle.models import ItemKind, Run, RunCluster, RunRange

AT_MOST = 8  # ranges of one type
AT_LEAST = 20_000  # victims of a range: fewer are soon done by one worker


def claim(run: Run, *, wait: bool) -> RunRange | None:
    """Lock a range of a divided run that has victims to go and return it, None when there is none left.

    Types go in their order: no range of the next begins before all of one are done. With `wait` a range that others hold is waited
    for, without it None is returned where others hold all.
    """
    while True:
        unfinished = RunRange.objects.filter(run=run, cursor__lt=F("last")).order_by("item_kind", "first")
        next_one = unfinished.first()
        if next_one is None:
            return None
        of_kind = unfinished.filter(item_kind=next_one.item_kind)
        found = of_kind.select_for_update(skip_locked=True).first()
        if found is not None or not wait:
            return found
        of_kind.select_for_update().first()  # somebody is at the last of this type


def divide(run: Run) -> None:
    """Make the ranges of a run that has none yet."""
    if RunRange.objects.filter(run=run).exists():
        return
    with transaction.atomic():
        Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
        if not RunRange.objects.filter(run=run).exists():
            RunRange.objects.bulk_create(_ranges(run))


def worth_two_workers(run: Run) -> bool:
    """Whether a second worker would find victims of its own. SQLite has one writer at a time."""
    return connection.vendor == "postgresql" and run.planned >= 2 * AT_LEAST


def _ranges(run: Run) -> Iterator[RunRange]:
    behind = 0
    clustered = RunCluster.objects.filter(run=run).aggregate(n=Sum(F("room") - F("first") + 1))["n"] or 0
    for kind in ItemKind:
        total = run.summary.of(kind.memory_type).total
        apart = clustered if kind is ItemKind.LONG_TERM else 0  # victims that become summaries stand first, and are no part of a range
        for before, last in pairwise(_bounds(behind + apart, total - apart)):
            # A run that began before there were ranges is past some of its victims already.
            cursor = before if clustered else min(max(before, run.cursor), last)
            yield RunRange(run=run, first=before + 1, last=last, cursor=cursor, item_kind=kind)
        behind += total


def _bounds(behind: int, total: int) -> list[int]:
    """Return where ranges of about the same length end, and before them where the first begins."""
    if not total:
        return []
    parts = min(AT_MOST, max(1, total // AT_LEAST)) if connection.vendor == "postgresql" else 1
    return [behind + total * part // parts for part in range(parts + 1)]
