"""A worker that is alive and slow, while another has taken over. The number is that of the list of attacks and faults."""

import pytest

from memadmin.erasure.execution import steps
from memadmin.erasure.models import Status
from memadmin.jobs import lease, limits
from memadmin.jobs.lease import LeaseLost
from memadmin.jobs.models import Job
from memadmin.store.models import LongTermMemory
from tests.erasure.workflow import approved, opened
from tests.factories import NOON, make_container, make_memory

pytestmark = pytest.mark.django_db(transaction=True)


def gone_as_far_as(phase, view, *, now):
    while steps.At(**(view.cursor or {})).phase != phase:
        view = lease.checkpoint(view, steps.step(view, now=now), now=now)
    return view


def test_5_a_worker_whose_lease_has_run_out_erases_nothing_more_and_the_next_one_all_of_it_once():
    container = make_container()
    for number in range(3):
        make_memory(container, f"fact {number}")
    request, later = opened(), NOON + limits.LEASE * 2
    approved(request)
    steps.begin_approved(now=NOON)
    job = Job.objects.get(kind=steps.EXECUTE)
    slow = gone_as_far_as("rows", lease.take(job.pk, now=NOON), now=NOON)
    assert lease.take(job.pk, now=NOON) is None

    view = lease.take(job.pk, now=later)
    with pytest.raises(LeaseLost):
        steps.step(slow, now=later)
    assert LongTermMemory.objects.count() == 3
    assert not request.outcomes.filter(location="store.long_term", erased__gt=0).exists()
    step = steps.step(view, now=later)
    while not step.finished:
        view = lease.checkpoint(view, step, now=later)
        step = steps.step(view, now=later)

    request.refresh_from_db()
    assert (view.attempt, request.state) == (2, Status.COMPLETED)
    assert request.outcomes.get(location="store.long_term").erased == 3
    assert not LongTermMemory.objects.exists()
