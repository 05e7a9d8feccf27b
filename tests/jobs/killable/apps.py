from datetime import timedelta
from pathlib import Path

from django.apps import AppConfig

from memadmin.jobs import limits


class KillableConfig(AppConfig):
    name = "tests.jobs.killable"
    path = str(Path(__file__).parent)

    def ready(self) -> None:
        limits.LEASE = timedelta(seconds=3)
        limits.STRETCH = timedelta(seconds=4)
