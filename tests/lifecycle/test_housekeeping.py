"""Rows G and H of the list of behaviours about working memories that no session carries away, by their numbers."""

import pytest

from memadmin.audit.models import AuditEntry
from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import nightly, selection
from memadmin.lifecycle.models import Run
from memadmin.store import configuration, policies
from memadmin.store.check import check
from memadmin.store.models import Container, PolicyVersion, Session
from tests.factories import ACTOR, NOON, a_session, days, make_container, store, subject_of
from tests.runs import a_policy, governed, publish, switch_on
from tests.working import POLICY, a_night, ages, opt_in, orphans_of, put, sessionless, watched, without_a_policy, would_go

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_test_sleeps(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)


def with_a_neighbour_that_loses():
    """What stays must stay while the same night takes something: a container beside it has an orphan 99 days old."""
    orphans_of(governed(POLICY, "neighbour", orphan_baseline_at=NOON - days(30)), 99)


def test_g26_a_container_without_sessions_loses_old_working_memories_by_their_creation():
    container = sessionless()
    put(container, days_old=60)
    put(container, days_old=30)
    put(container, days_old=29)

    assert would_go(container) == {"ttl": 1}
    a_night()

    assert ages() == [29, 30]
    assert subject_of(container).working == 2
    entry = AuditEntry.objects.get(action="run.finished")
    assert (entry.counts["removed"], entry.counts["working.messages"]) == (1, 1)
    assert list(check()) == []


def test_g27_a_container_with_sessions_loses_none_by_this_age():
    configuration.change("working_memory_ttl_days", 30, actor=ACTOR, now=NOON)
    container = watched()
    put(container, days_old=60)
    with_a_neighbour_that_loses()

    a_night()

    assert ages() == [60]


@pytest.mark.parametrize("limit", [-1, 0])
def test_g28_without_the_limit_nothing_goes(limit):
    container = sessionless(limit)
    put(container, days_old=60)
    with_a_neighbour_that_loses()

    a_night()

    assert ages() == [60]


def test_g29_without_a_policy_old_working_memories_go_too_as_documented():
    container = without_a_policy()
    put(container, days_old=60)
    put(container, days_old=20)
    assert would_go(container) == {"ttl": 1}

    a_night()

    run = Run.objects.get()
    assert (run.state, run.removed, run.policy_version) == ("finished", 1, None)
    assert ages() == [20]
    assert Container.objects.get().policy_state == "never_set"


def test_g29_who_opted_out_keeps_working_memories():
    container = without_a_policy()
    policies.opt_out(container, actor=ACTOR, now=NOON, base=None)
    put(container, days_old=60)

    a_night()

    assert (ages(), Run.objects.count()) == ([60], 0)


def test_h12_the_first_visit_starts_the_clock_and_no_later_one_moves_it():
    container = governed(POLICY)
    orphans_of(container, 60)

    a_night()
    a_night(NOON + days(1))

    container.refresh_from_db()
    assert container.orphan_baseline_at == NOON
    assert ages() == [60]


def test_h2_and_h3_before_the_grace_is_over_nothing_goes_and_afterwards_it_does():
    container = governed(POLICY, orphan_baseline_at=NOON)
    orphans_of(container, 60)

    a_night(NOON + days(6.9))
    assert ages() == [60]
    a_night(NOON + days(7))
    assert ages() == []


def test_h4_a_younger_orphan_stays():
    container = watched()
    orphans_of(container, 8, 6)

    a_night()

    assert ages() == [6]
    assert Run.objects.get().summary.by_reason == {"orphan": 1}


def test_h5_where_the_session_is_there_messages_stay_at_any_age():
    container = watched()
    store(container, a_session("s-1", days_old=900))
    put(container, days_old=900, session_ref="s-1")
    put(container, days_old=800, session_ref="s-1", session_gone=True)  # written when it was away
    orphans_of(container, 99)

    a_night()

    assert ages() == [800, 900]


def test_h7_a_container_without_sessions_has_no_orphans():
    container = watched(sessions_enabled=False)
    orphans_of(container, 60)
    with_a_neighbour_that_loses()

    a_night()

    assert ages() == [60]


@pytest.mark.parametrize("state", ["opted out", "never set"])
def test_h8_without_a_policy_orphans_stay(state):
    switch_on()
    container = make_container(orphan_baseline_at=NOON - days(30))
    if state == "opted out":
        policies.opt_out(container, actor=ACTOR, now=NOON, base=None)
    orphans_of(container, 60)
    with_a_neighbour_that_loses()

    a_night()

    assert ages() == [60]


def test_h9_what_names_no_session_user_or_agent_stays_unless_the_container_opted_in():
    container = watched()
    put(container, days_old=60, user_id=None)
    put(container, days_old=61)
    put(container, days_old=62, user_id=None, namespace={"agent_id": "clerk"})

    a_night()
    assert ages() == [60, 61, 62]
    opt_in(container)
    assert would_go(container) == {"unattributed": 1}
    a_night(NOON + days(1))

    assert ages() == [61, 62]


def test_h10_a_younger_unattributed_one_stays_there_too():
    container = opt_in(watched())
    put(container, days_old=6, user_id=None)
    put(container, days_old=8, user_id=None)

    a_night()

    assert ages() == [6]


def test_h14_a_failing_look_skips_the_container_and_deletes_nothing(monkeypatch):
    broken = watched()
    orphans_of(broken, 60)
    sound = governed(POLICY, "sound", orphan_baseline_at=NOON - days(30))
    orphans_of(sound, 50)
    select = selection.select_lost

    def fails(container, *args, **options):
        if container == broken:
            raise RuntimeError("a shard does not answer")
        return select(container, *args, **options)

    monkeypatch.setattr(selection, "select_lost", fails)
    a_night()

    assert ages() == [60]
    assert list(Run.objects.order_by("number").values_list("state", "error_code")) == [("failed", "RuntimeError"), ("finished", "")]


def test_h15_a_policy_of_cleared_limits_takes_no_orphans():
    container = watched()
    publish(container, a_policy(history={"max_count": None}))
    orphans_of(container, 60)
    with_a_neighbour_that_loses()

    a_night()

    assert ages() == [60]


def test_h15_such_a_policy_does_not_start_the_clock_either():
    container = governed(a_policy(history={"max_count": None}))

    a_night()

    container.refresh_from_db()
    assert container.orphan_baseline_at is None


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
    container = make_container()
    store(container, *(a_session(name, days_old=900) for name in ("a", "b")))
    before = Container.objects.values().get()

    a_night()

    assert Container.objects.values().get() == before
    assert (before["policy_state"], PolicyVersion.objects.count(), Session.objects.count()) == ("never_set", 0, 2)
