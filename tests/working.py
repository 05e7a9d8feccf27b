"""Plain functions for tests of working memories that no session carries away."""

from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import housekeeping, planning
from memadmin.store import configuration, policies
from memadmin.store.models import Container, WorkingMemory
from retention.rules import MemoryType
from tests.factories import ACTOR, NOON, a_message, days, make_container, store
from tests.runs import a_policy, governed, switch_on

POLICY = a_policy(history={"max_count": 1000})


def a_night(now=NOON):
    return run_inline(queue.reserve("nightly", requested_by="job/nightly", now=now), now=now)


def would_go(container, policy=None, now=NOON):
    """What a preview says of working memories, by reason."""
    container.refresh_from_db()
    totals = planning.estimate(container, policy or policies.current(container) or housekeeping.NO_POLICY, now=now).totals
    return {str(reason): number for reason, number in totals.of(MemoryType.WORKING).by_reason.items()}


def put(container, *, days_old, session_ref=None, user_id="ann", **details):
    store(container, a_message(user_id=user_id, session_ref=session_ref, created_at=NOON - days(days_old), **details))


def orphans_of(container, *ages):
    """Messages whose session has gone."""
    for age in ages:
        put(container, days_old=age, session_ref=f"gone-{age}", session_gone=True)


def watched(**details):
    """A container in which orphans have been looked for since long ago."""
    return governed(POLICY, orphan_baseline_at=NOON - days(30), **details)


def opt_in(container):
    Container.objects.filter(pk=container.pk).update(removes_unattributed=True)
    container.refresh_from_db()
    return container


def ages():
    return sorted((NOON - created).days for created in WorkingMemory.objects.values_list("created_at", flat=True))


def sessionless(days_to_keep=30):
    configuration.change("working_memory_ttl_days", days_to_keep, actor=ACTOR, now=NOON)
    return governed(POLICY, sessions_enabled=False)


def without_a_policy(days_to_keep=30, **details):
    switch_on()
    configuration.change("working_memory_ttl_days", days_to_keep, actor=ACTOR, now=NOON)
    return make_container(sessions_enabled=False, **details)
