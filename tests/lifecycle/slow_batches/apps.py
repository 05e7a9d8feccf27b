from datetime import timedelta
from pathlib import Path

from django.apps import AppConfig

from memadmin.jobs import limits

INSIDE, BETWEEN = 0.2, 0.2  # seconds that a batch takes before its commit, and that pass before the next


class SlowBatchesConfig(AppConfig):
    name = "tests.lifecycle.slow_batches"
    path = str(Path(__file__).parent)

    def ready(self) -> None:
        limits.LEASE = timedelta(seconds=3)
        limits.STRETCH = timedelta(seconds=4)
