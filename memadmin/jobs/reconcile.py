"""Finds what was lost: jobs whose worker died, and queue entries that are gone. Deletes jobs that ended long ago, and nothing else."""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django_q.conf import Conf
from django_q.models import Failure, OrmQ

from memadmin.jobs import failure, heartbeat, lease, limits, queue
from memadmin.jobs.models import Job, JobState

logger = logging.getLogger(__name__)
OUT_OF_ATTEMPTS = "OutOfAttempts"
PRUNED_AT_ONCE = 1000  # rows in one transaction


@transaction.atomic
def reconcile(*, now: datetime) -> None:
    """Queue again the jobs whose lease is over, or fail them when they are out of attempts; enter again what has no queue entry."""
    heartbeat.take_turn(now)
    for job in Job.objects.abandoned(now).oldest_first():
        _release(job, now=now)
    lost = set(Job.objects.ready(now).values_list("pk", flat=True))
    for job_id in sorted(lost - _entered(now) if lost else lost):
        logger.warning("job %d: had no queue entry, entered again", job_id)
        queue.enter(job_id)


def prune(*, now: datetime) -> None:
    """Delete jobs that ended long ago, and django-q2's records of failed tasks, which it keeps for ever."""
    ended = [(JobState.DONE, limits.KEEP_DONE), (JobState.CANCELLED, limits.KEEP_DONE), (JobState.FAILED, limits.KEEP_FAILED)]
    for state, kept_for in ended:
        old = Job.objects.filter(state=state).finished_before(now - kept_for).values_list("pk", flat=True)
        Job.objects.filter(pk__in=list(old[:PRUNED_AT_ONCE])).delete()
    Failure.objects.filter(stopped__lt=now - limits.KEEP_DONE).delete()


def _release(job: Job, *, now: datetime) -> None:
    same = Job.objects.abandoned(now).filter(pk=job.pk, leased_by=job.leased_by)
    if same.filter(attempts__lt=F("max_attempts")).update(state=JobState.QUEUED, **lease.RELEASED):
        logger.warning("job %d: its worker is gone, queued again", job.pk)
        queue.enter(job.pk)  # the entry that the worker had taken stays locked for many minutes
    elif same.update(state=JobState.FAILED, error_code=OUT_OF_ATTEMPTS, finished_at=now, **lease.RELEASED):
        logger.error("job %d: its worker is gone and its attempts are used up", job.pk)
        failure.tell(lease.view_of(job), error_code=OUT_OF_ATTEMPTS, now=now)


def _entered(now: datetime) -> set[int]:
    """Return the ids of the jobs that have an entry in the queue, except entries that died with the worker that took them."""
    locked_for = timedelta(seconds=Conf.RETRY)  # from the time when a worker takes the entry
    waiting = Q(lock__lte=now + limits.CLOCKS_DIFFER)
    in_hand = Q(lock__gte=now + locked_for - limits.LOST, lock__lte=now + locked_for + limits.LOST)
    entries = OrmQ.objects.filter(waiting | in_hand, key=Conf.CLUSTER_NAME)
    return {entry.args()[0] for entry in entries if entry.func() == queue.RUN_JOB}
