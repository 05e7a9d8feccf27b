"""What django-q2 runs: one job, or the tick of every minute. Nothing that it would store may hold a person's data."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.dispatch import receiver
from django.utils import timezone
from django_q.signals import post_spawn

from memadmin.audit import protection
from memadmin.jobs import failure, heartbeat, reconcile, registry, runner, schedules

logger = logging.getLogger(__name__)


def run_job(job_id: int) -> None:
    with _nothing_escapes(f"job {job_id}"):
        if registry.work_is_held():
            logger.info("job %d: work is held, left in the queue", job_id)
            return
        runner.run_stretch(job_id)


def tick() -> None:
    """The minute's housekeeping. It may run twice, at once, or late."""
    now = timezone.now()
    with _nothing_escapes("heartbeat"):
        heartbeat.beat(now)
    if registry.work_is_held():
        return  # the tick finds what was left once it is not
    with _nothing_escapes("reconcile"):
        reconcile.reconcile(now=now)
    with _nothing_escapes("schedules"):
        schedules.start_due(now=now)
    for look in registry.EVERY_MINUTE:
        with _nothing_escapes(getattr(look, "__name__", "every minute")):
            look(now=now)
    with _nothing_escapes("prune"):
        reconcile.prune(now=now)


@receiver(post_spawn)
def on_worker_start(**_: object) -> None:
    """A worker that starts is alive, and sees to it that the tick is scheduled (it may have been lost with a restored database)."""
    with _nothing_escapes("worker start"):
        now = timezone.now()
        schedules.ensure(now=now)
        heartbeat.beat(now)
    with _nothing_escapes("protection of the audit log"):
        protection.announce(connection)


@contextmanager
def _nothing_escapes(what: str) -> Iterator[None]:
    """django-q2 stores and logs the text and traceback of what a task raises; either may quote a memory. Log the class alone."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # the runner has recorded it
        logger.error("%s: stopped with %s", what, failure.code_of(error))
    except SystemExit as stop:
        raise stop from None  # django-q2's timeout: must reach it, but without the error that was being handled when it came
