"""Notes that agents have recalled memories: one hit for each memory and request, at the time of the request.

A note may be lost, as it is only worth something beside many others; a read is never slower or refused because of one. So rows that
somebody else holds are passed over, and a database that refuses is only mentioned in the log.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Greatest

from memadmin.store.models import LongTermMemory

WAIT_MS = 250  # for SQLite's one write lock
MOST_HITS = 2**31 - 1

logger = logging.getLogger(__name__)


def touch(memory_ids: Iterable[int], *, now: datetime) -> int:
    """Count one recall of each of the memories and return how many were noted. Never fails, and waits for nobody."""
    ids = sorted(set(memory_ids))
    if not ids:
        return 0
    try:
        with _impatient(), transaction.atomic():
            return _noted(ids, now=now)
    except DatabaseError as error:
        logger.warning("recalls of %s memories were not noted: %s", len(ids), type(error).__name__)
        return 0


def _noted(ids: list[int], *, now: datetime) -> int:
    rows = LongTermMemory.objects.filter(id__in=ids, hits__lt=MOST_HITS)
    if connection.vendor == "postgresql":
        free = list(rows.select_for_update(skip_locked=True, of=("self",)).values_list("id", flat=True))
        rows = LongTermMemory.objects.filter(id__in=free)
    # A request that took long must not turn back the time of a later one.
    later = Greatest(Coalesce(F("last_accessed_at"), now), now)
    return rows.update(hits=F("hits") + 1, last_accessed_at=later)


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """On SQLite, wait for other writers a moment only."""
    if connection.vendor != "sqlite":
        yield
        return
    patience = _busy_timeout()
    _set_busy_timeout(WAIT_MS)
    try:
        yield
    finally:
        _set_busy_timeout(patience)


def _busy_timeout() -> int:
    with connection.cursor() as cursor:
        return int(cursor.execute("PRAGMA busy_timeout").fetchone()[0])


def _set_busy_timeout(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {milliseconds:d}")
