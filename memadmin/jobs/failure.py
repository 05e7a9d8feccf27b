"""What is written when an attempt fails. The error is known here by the name of its class: its text may quote a memory."""

import logging
from datetime import datetime, timedelta

from django.db import transaction

from memadmin.jobs import lease, limits, registry
from memadmin.jobs.models import Job
from memadmin.jobs.registry import JobView, UnknownKind

logger = logging.getLogger(__name__)
LONGEST_CODE = 100


def code_of(error: BaseException) -> str:
    return type(error).__name__[:LONGEST_CODE]


@transaction.atomic
def record(job: JobView, error: Exception, *, now: datetime) -> None:
    """Queue the job for another attempt after a wait, or mark it as failed when there is none left. Raises LeaseLost."""
    code = code_of(error)
    logger.error("job %d: attempt %d of %d stopped with %s", job.id, job.attempt, job.max_attempts, code)
    if job.attempt < job.max_attempts and not isinstance(error, UnknownKind):
        lease.give_back(job, error_code=code, ready_at=now + wait_after(job.attempt))
        return
    lease.fail(job, error_code=code, now=now)
    tell(lease.view_of(Job.objects.get(pk=job.id)), error_code=code, now=now)  # `job` is where this attempt began; the row, how far it came


def wait_after(attempt: int) -> timedelta:
    """Return 1 minute after the first attempt, four times longer after each further one, at most an hour."""
    times: int = 4 ** min(attempt - 1, 10)
    return min(limits.FIRST_WAIT * times, limits.LONGEST_WAIT)


def tell(job: JobView, *, error_code: str, now: datetime) -> None:
    """Let the app whose job it is mark its own rows, in the transaction of the failure."""
    handler = registry.HANDLERS.get(job.kind)
    if handler is None or handler.on_failed is None:
        return
    try:
        with transaction.atomic():
            handler.on_failed(job, error_code=error_code, now=now)
    except Exception as error:  # noqa: BLE001  # it must not keep the job from being marked as failed
        logger.error("job %d: its app could not note the failure: %s", job.id, code_of(error))
