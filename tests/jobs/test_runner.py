from datetime import UTC, datetime

import pytest

from memadmin.jobs import queue, runner
from memadmin.jobs.models import JobState
from memadmin.jobs.registry import JobView, Step

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.django_db
def test_a_job_is_run_step_by_step_to_its_end(handle):
    def count(job: JobView, *, now: datetime) -> Step:
        done = (job.cursor or 0) + 1
        return Step(done == 3, cursor=done, done=done, total=3)

    handle("count", count)
    job = runner.run_inline(queue.enqueue("count", target="things/1", requested_by="command/test", now=NOON), now=NOON)

    assert (job.state, job.done, job.total, job.cursor, job.finished_at) == (JobState.DONE, 3, 3, 3, NOON)
