import pytest
from django.db import connection

from memadmin.audit import anchors, checkpoints, verification
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPending, Stream
from memadmin.jobs import queue
from memadmin.jobs.models import Job, JobState
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import sealing, tasks
from memadmin.store import suppression
from memadmin.store.models import Mode, Suppression
from memadmin.store.suppression import Terms
from tests.factories import ACTOR, NOON, a_memory, a_message, days, make_container, store

pytestmark = pytest.mark.django_db


def run(kind, now=NOON):
    return run_inline(queue.reserve(kind, requested_by="job/tick", now=now), now=now)


def counted():
    return [entry.counts for entry in AuditEntry.objects.filter(stream=Stream.ACTIVITY, action=Action.CONTAINER_COUNTED).order_by("seq")]


def test_what_agents_wrote_is_summed_up_by_the_hour_sealed_and_anchored():
    store(make_container(), a_message(), a_memory())

    run(sealing.HOURLY)
    assert sealing.is_due(now=NOON)
    job = run(sealing.SEAL)

    assert job.state == JobState.DONE
    assert [(counts["users"], counts["working"], counts["long_term"]) for counts in counted()] == [(1, 1, 1)]
    assert not AuditPending.objects.exists()
    report = verification.verify(connection, anchors=checkpoints.folder())
    assert (report.exit_code, report.tail_pinned) == (0, True)


def test_a_container_that_did_not_change_is_not_summed_up_again():
    container = make_container()
    store(container, a_memory())
    for _ in range(2):
        run(sealing.HOURLY)
        run(sealing.SEAL)
    assert len(counted()) == 1

    store(container, a_memory("new"))
    run(sealing.HOURLY)
    run(sealing.SEAL)

    assert [counts["long_term"] for counts in counted()] == [1, 2]


def test_the_hour_lets_go_of_suppressions_whose_time_is_over():
    terms = Terms(mode=Mode.BLOCK, keep_until=NOON)
    suppression.suppress_users(["ann"], container=None, terms=terms, request_ref="erasure/1", actor=ACTOR, now=NOON - days(9))

    run(sealing.HOURLY)

    assert not Suppression.objects.exists()


def test_the_minute_queues_the_job_only_when_something_waits():
    make_container()
    tasks.start_sealing(now=NOON)
    assert Job.objects.filter(kind=sealing.SEAL).count() == 1
    run_inline(Job.objects.get(), now=NOON)
    assert anchors.latest(checkpoints.folder()).lines == 1

    tasks.start_sealing(now=NOON)

    assert Job.objects.filter(kind=sealing.SEAL, state=JobState.QUEUED).count() == 0
