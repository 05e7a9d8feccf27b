"""The workers' sign of life, in the database, where the supervisor and the pages can read it."""

from datetime import datetime, timedelta

from memadmin.jobs.models import Heartbeat

WORKER = "worker"
TICK = "tick"


def beat(now: datetime, name: str = WORKER) -> None:
    Heartbeat.objects.bulk_create([Heartbeat(name=name, at=now)], update_conflicts=True, unique_fields=["name"], update_fields=["at"])


def age(now: datetime, name: str = WORKER) -> timedelta | None:
    """Return the time since the last sign of life, None when there never was one.

    A sign from the future (the clock was set back) counts as just as old: it proves nothing about now.
    """
    at = Heartbeat.objects.filter(name=name).values_list("at", flat=True).first()
    return None if at is None else abs(now - at)


def take_turn(now: datetime) -> None:
    """Wait until no other process is between this call and the end of its transaction. To be called inside one."""
    beat(now, TICK)  # the row stays locked until the end of the transaction
