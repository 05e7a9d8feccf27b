import time
from datetime import datetime

from django.db import transaction

from memadmin.jobs.lease import checkpoint
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.registry import JobView, Step, job

KIND = "killable"
UNIT = "killable.unit"
UNITS = 14
WAIT, WRITE = 0.2, 0.2  # seconds that a unit takes before its transaction, and in it


@job(KIND)
def do_one_unit(job: JobView, *, now: datetime) -> Step:
    """Leave one row for each unit of work; nothing but the checkpoint keeps a unit from being done twice."""
    unit = job.done + 1
    time.sleep(WAIT)
    with transaction.atomic():
        Job.objects.create(kind=UNIT, target=f"{unit}", state=JobState.DONE, created_at=now, finished_at=now, requested_by=f"job/{KIND}")
        time.sleep(WRITE)
        step = Step(unit == UNITS, done=unit, total=UNITS)
        checkpoint(job, step, now=now)
    return step
