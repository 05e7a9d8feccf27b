"""Batches of a run with a rest behind each, in which others' writes find the log and the disk free."""

from __future__ import annotations

import time
from datetime import datetime

from django.db import connection

from memadmin.lifecycle.enforcement import Batch, enforce_batch

REST = 1 / 4  # of what the batch took
LONGEST = 1.0  # seconds


def paced_batch(number: int, *, now: datetime, wait: bool = True) -> Batch:
    """Evict the next batch as `enforce_batch` does, then rest.

    Not on SQLite: who writes there waits for the batch itself, which is over all the sooner.
    """
    begun = time.monotonic()
    batch = enforce_batch(number, now=now, wait=wait)
    if connection.vendor == "postgresql" and not batch.is_last:
        time.sleep(min(REST * (time.monotonic() - begun), LONGEST))
    return batch
