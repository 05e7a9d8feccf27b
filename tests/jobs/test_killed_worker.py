import os
import signal
import time
from collections.abc import Callable

import pytest
from django.utils import timezone
from django_q.models import Schedule as EngineSchedule

from memadmin.jobs import heartbeat, queue, reconcile, schedules
from memadmin.jobs.models import Job, JobState
from tests.jobs.cluster import running_cluster
from tests.jobs.killable.tasks import KIND, UNIT, UNITS, WAIT, WRITE

SECONDS = 120
WAITING, WRITING = WAIT / 2, WAIT + WRITE / 2


@pytest.fixture
def cluster(transactional_db, tmp_path):
    log = tmp_path / "qcluster.log"
    with running_cluster("tests.jobs.killable.settings", log=log) as group:
        yield group
    print(log.read_text())  # pytest shows it when the test fails


@pytest.mark.slow
def test_a_job_whose_worker_is_killed_twice_does_each_unit_once(cluster):
    job = queue.enqueue(KIND, requested_by="command/test", now=timezone.now())
    until = time.monotonic() + SECONDS

    first = kill_worker_of(job, attempt=1, in_the_unit=WAITING, group=cluster, until=until)
    second = kill_worker_of(job, attempt=2, in_the_unit=WRITING, group=cluster, until=until)
    wait_for(job, lambda: job.state == JobState.DONE, until=until)

    units = Job.objects.filter(kind=UNIT).values_list("target", flat=True)
    assert sorted(map(int, units)) == list(range(1, UNITS + 1))
    assert (job.done, job.error_code) == (UNITS, "")
    assert first != second
    assert heartbeat.age(timezone.now()).total_seconds() < 30
    assert EngineSchedule.objects.filter(name=schedules.TICK_NAME).count() == 1


def kill_worker_of(job: Job, *, attempt: int, in_the_unit: float, group: int, until: float) -> int:
    """Kill the worker so many seconds into a unit, and long before its stretch of work ends: an idle worker holds the queue's lock."""
    begun_at = job.done
    wait_for(job, lambda: job.state == JobState.RUNNING and job.attempts >= attempt and job.done > begun_at, until=until)
    worker = int(job.leased_by.split(":")[1])
    assert os.getpgid(worker) == group
    time.sleep(in_the_unit)
    os.kill(worker, signal.SIGKILL)
    return worker


def wait_for(job: Job, reached: Callable[[], bool], *, until: float) -> None:
    while not reached():
        assert time.monotonic() < until, f"{job.state}, {job.done} done, {job.attempts} attempts"
        time.sleep(0.03)
        reconcile.reconcile(now=timezone.now())  # the tick's part, which comes once a minute
        job.refresh_from_db()
