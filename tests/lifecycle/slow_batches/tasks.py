"""Makes the batches of a run small and slow. The workers import it by themselves, as they do with every app's tasks."""

import time
from typing import Any

from memadmin.lifecycle import enforcement, stepping
from tests.lifecycle.slow_batches.apps import BETWEEN, INSIDE


def slow_down() -> None:
    enforcement.COPIED = 4
    count, batch = enforcement.count, enforcement.enforce_batch

    def slow_count(*args: Any, **named: Any) -> None:
        count(*args, **named)
        time.sleep(INSIDE)

    def slow_batch(*args: Any, **named: Any) -> enforcement.Batch:
        time.sleep(BETWEEN)
        return batch(*args, **named)

    enforcement.count = slow_count
    stepping.paced_batch = slow_batch


slow_down()
