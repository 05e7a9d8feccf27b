"""Rows G and H of the list of behaviours about working memories that no session carries away, by their numbers."""

import pytest

from memadmin.audit.models import AuditEntry
from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import housekeeping
from memadmin.store import configuration, policies
from memadmin.store.check import check
from memadmin.store.models import Container, Session, WorkingMemory
from tests.factories import ACTOR, NOON, a_message, a_session, days, make_container, store, subject_of
from tests.runs import a_policy, governed, publish, switch_on

pytestmark = pytest.mark.django_db
POLICY = a_policy(history={"max_count": 1000})


def tidy(container, now=NOON):
    container.refresh_from_db()
    while not housekeeping.tidy(container, actor="job/nightly", now=now):
        pass


def put(container, *, days_old, session_ref=None, user_id="ann", **details):
    store(container, a_message(user_id=user_id, session_ref=session_ref, created_at=NOON - days(days_old), **details))


def orphans_of(container, *ages):
    """Messages whose session has gone."""
    for age in ages:
        put(container, days_old=age, session_ref=f"gone-{age}", session_gone=True)


def watched(**details):
    """A container in which orphans have been looked for since long ago."""
    return governed(POLICY, orphan_baseline_at=NOON - days(30), **details)


def ages():
    return sorted((NOON - created).days for created in WorkingMemory.objects.values_list("created_at", flat=True))


def sessionless(days_to_keep=30):
    configuration.change("working_memory_ttl_days", days_to_keep, actor=ACTOR, now=NOON)
    return governed(POLICY, sessions_enabled=False)


def test_g26_a_container_without_sessions_loses_old_working_memories_by_their_creation():
    container = sessionless()
    put(container, days_old=60)
    put(container, days_old=30)
    put(container, days_old=29)

    assert housekeeping.estimate(container, now=NOON) == housekeeping.Kept(ttl=1)
    tidy(container)

    assert ages() == [29, 30]
    assert subject_of(container).working == 2
    entry = AuditEntry.objects.get(action="working.tidied")
    assert (entry.reason_code, entry.counts) == ("ttl", {"working": 1})
    assert list(check()) == []


def test_g27_a_container_with_sessions_loses_none_by_this_age():
    configuration.change("working_memory_ttl_days", 30, actor=ACTOR, now=NOON)
    container = watched()
    put(container, days_old=60)

    tidy(container)

    assert ages() == [60]


@pytest.mark.parametrize("limit", [-1, 0])
def test_g28_without_the_limit_nothing_goes(limit):
    container = sessionless(limit)
    put(container, days_old=60)

    tidy(container)

    assert ages() == [60]


def test_g29_without_a_policy_nothing_goes():
    switch_on()
    configuration.change("working_memory_ttl_days", 30, actor=ACTOR, now=NOON)
    container = make_container(sessions_enabled=False)
    put(container, days_old=60)

    tidy(container)

    assert ages() == [60]


def test_h12_the_first_visit_starts_the_clock_and_no_later_one_moves_it():
    container = governed(POLICY)
    orphans_of(container, 60)

    tidy(container)
    tidy(container, NOON + days(1))

    container.refresh_from_db()
    assert container.orphan_baseline_at == NOON
    assert ages() == [60]


def test_h2_before_the_grace_is_over_nothing_goes_and_h3_afterwards_it_does():
    container = governed(POLICY, orphan_baseline_at=NOON)
    orphans_of(container, 60)

    tidy(container, NOON + days(6.9))
    assert ages() == [60]
    tidy(container, NOON + days(7))
    assert ages() == []


def test_h4_a_younger_orphan_stays():
    container = watched()
    orphans_of(container, 8, 6)

    tidy(container)

    assert ages() == [6]
    assert AuditEntry.objects.get(action="working.tidied").reason_code == "orphan"


def test_h5_where_the_session_is_there_messages_stay_at_any_age():
    container = watched()
    store(container, a_session("s-1", days_old=900))
    put(container, days_old=900, session_ref="s-1")
    put(container, days_old=800, session_ref="s-1", session_gone=True)  # written when it was away

    tidy(container)

    assert ages() == [800, 900]


def test_h7_a_container_without_sessions_has_no_orphans():
    container = watched(sessions_enabled=False)
    orphans_of(container, 60)

    tidy(container)

    assert ages() == [60]


@pytest.mark.parametrize("state", ["opted out", "never set"])
def test_h8_without_a_policy_orphans_stay(state):
    switch_on()
    container = make_container(orphan_baseline_at=NOON - days(30))
    if state == "opted out":
        policies.opt_out(container, actor=ACTOR, now=NOON, base=None)
    orphans_of(container, 60)

    tidy(container)

    assert ages() == [60]


@pytest.mark.parametrize("age", [60, 1], ids=["H9", "H10"])
def test_h9_and_h10_what_names_no_session_is_unattributed_and_stays(age):
    container = watched()
    put(container, days_old=age, user_id=None)

    tidy(container)

    assert ages() == [age]


def test_h15_a_policy_of_cleared_limits_takes_no_orphans():
    container = watched()
    publish(container, a_policy(history={"max_count": None}))
    orphans_of(container, 60)

    tidy(container)

    assert ages() == [60]


def test_many_orphans_go_in_batches(monkeypatch):
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    container = watched()
    orphans_of(container, *range(20, 25))

    tidy(container)

    assert ages() == []
    assert [entry.counts["working"] for entry in AuditEntry.objects.filter(action="working.tidied").order_by("seq")] == [2, 2, 1]


def test_a_night_tidies_every_container_and_gives_the_defaults_first():
    switch_on()
    configuration.change("default_session_max_count", 1, actor=ACTOR, now=NOON)
    never, tidied = make_container("never"), watched()
    store(never, a_session("a"), a_session("b", days_old=9))
    orphans_of(tidied, 60)

    run_inline(queue.reserve("nightly", requested_by="job/nightly", now=NOON), now=NOON)

    never.refresh_from_db()
    assert (never.policy_state, list(Session.objects.values_list("external_id", flat=True))) == ("set", ["a"])
    assert ages() == []


def test_g32_without_defaults_a_container_that_was_never_set_stays_so():
    switch_on()
    make_container()

    run_inline(queue.reserve("nightly", requested_by="job/nightly", now=NOON), now=NOON)

    assert Container.objects.get().policy_state == "never_set"
