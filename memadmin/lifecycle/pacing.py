"""How much of a run is done at once: what takes a little time, so that others' writes hardly wait for it, however large the store is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from memadmin.lifecycle.enforcement import Batch, enforce_batch

SHORT, LONG = 0.04, 0.12  # seconds that a batch may take before the next is larger, or smaller
LEAST, MOST = 1 / 8, 2.0  # of the usual size


@dataclass
class Pace:
    """What share of the usual size the batches of one run have by now."""

    run: int | None = None
    share: float = 1.0

    def of(self, run: int) -> float:
        if run != self.run:
            self.run, self.share = run, 1.0
        return self.share

    def learn(self, seconds: float) -> None:
        if seconds > LONG:
            self.share = max(LEAST, self.share / 2)
        elif seconds < SHORT:
            self.share = min(MOST, self.share * 2)


_pace = Pace()  # of this process, which carries out one run at a time


def paced_batch(number: int, *, now: datetime, wait: bool = True) -> Batch:
    """Evict the next batch as `enforce_batch` does, of a size that the time of those before it says.

    On SQLite batches keep their size: the costs there are those of a transaction, not of its rows.
    """
    if connection.vendor != "postgresql":
        return enforce_batch(number, now=now, wait=wait)
    begun = time.monotonic()
    batch = enforce_batch(number, now=now, share=_pace.of(number), wait=wait)
    if batch.removed or batch.kept:
        _pace.learn(time.monotonic() - begun)
    return batch
