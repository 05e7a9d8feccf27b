"""Rows G of the list of behaviours about the retention job, by their numbers. Those of working memories stand in `test_housekeeping.py`."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memadmin.jobs import queue
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import enforcement, nightly, pacing, planning, runs
from memadmin.lifecycle.models import Run, RunState
from memadmin.lifecycle.starting import OtherRunLive
from memadmin.lifecycle.warnings import warnings_of
from memadmin.store import configuration, defaults, pinning, policies, removal
from memadmin.store.models import Container, HistoryEntry, LongTermMemory, PolicyState, PolicyVersion, Session, WorkingMemory
from memadmin.transfer.times import read_time
from retention.policy import InvalidPolicy, parse_policy
from retention.rules import MemoryType
from retention.victims import COUNT_CAP
from tests.factories import ACTOR, NOON, a_change, a_message, a_session, days, make_container, make_memory, make_session, store
from tests.runs import a_policy, assert_store_agrees, carry_out, governed, preview, publish, switch_on

pytestmark = pytest.mark.django_db
WEEK = a_policy(sessions={"retention_days": 7})


@pytest.fixture(autouse=True)
def naps(monkeypatch):
    slept = []
    monkeypatch.setattr(nightly.time, "sleep", slept.append)
    return slept


def a_night(now=NOON):
    return run_inline(queue.reserve("nightly", requested_by="job/nightly", now=now), now=now)


def sessions(container, *ages, **details):
    """Store sessions last updated so many days ago, called s0, s1 …"""
    items = [a_session(f"s{n}", days_old=age, last_updated_at=NOON - days(age), **details) for n, age in enumerate(ages)]
    store(container, *items)


def left():
    return sorted(Session.objects.values_list("external_id", flat=True))


def test_g1_with_multi_tenancy_nothing_is_read_or_deleted():
    sessions(governed(WEEK), 30)
    configuration.change("multi_tenancy_enabled", True, actor=ACTOR, now=NOON)

    a_night()

    assert (Run.objects.count(), left()) == (0, ["s0"])


def test_g2_while_retention_is_off_nothing_is_read_or_deleted():
    sessions(governed(WEEK), 30)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    a_night()

    assert (Run.objects.count(), left()) == (0, ["s0"])


def test_g3_without_containers_the_night_ends():
    switch_on()

    assert a_night().state == "done"


def test_g4_the_messages_of_old_sessions_go_with_them():
    container = governed(WEEK)
    for number in range(3):
        make_session(container, f"s{number}", messages=2, days_old=30, last_updated_at=NOON - days(30))

    a_night()

    assert (Session.objects.count(), WorkingMemory.objects.count()) == (0, 0)
    assert Run.objects.get().outcome["sessions"]["working"] == 6
    assert_store_agrees()


def looks_for_ids(container):
    """Make a preview and return it with the statements that look through the sessions for ids."""
    with CaptureQueriesContext(connection) as asked:
        run = preview(container)
    return run, [query["sql"] for query in asked if "FROM store_session" in query["sql"] and "ORDER BY" in query["sql"]]


def test_g6_within_the_number_no_id_is_collected():
    container = governed(a_policy(sessions={"max_count": 3}))
    sessions(container, 1, 2, 3)

    within, looked = looks_for_ids(container)
    publish(container, a_policy(sessions={"max_count": 2}))
    beyond, looked_beyond = looks_for_ids(container)

    assert (within.planned, looked) == (0, [])
    assert (beyond.planned, bool(looked_beyond)) == (1, True)


def test_g7_pinned_sessions_are_neither_taken_nor_counted():
    container = governed(a_policy(sessions={"retention_days": 7, "max_count": 2}))
    sessions(container, 1, 2, 300, 301, 302)
    for session in Session.objects.filter(external_id__in=["s2", "s3", "s4"]):
        pinning.pin(session, reason="kept", actor=ACTOR, now=NOON)

    carry_out(preview(container))

    assert left() == ["s0", "s1", "s2", "s3", "s4"]


def test_g8_all_that_exceeds_the_number_goes_in_one_run():
    container = governed(a_policy(sessions={"max_count": 10}))
    sessions(container, *range(1, 101))

    run = carry_out(preview(container))

    assert (run.removed, Session.objects.count()) == (90, 10)


def test_g9_more_than_the_cap_of_a_run_waits_for_the_next_one_and_is_told():
    container = governed(a_policy(sessions={"max_count": 2}))
    sessions(container, *range(1, 13))

    first = a_capped_run(container)
    told = [warned.text for warned in warnings_of(container, planning.policy_of(first), first.summary) if warned.code == "capped.sessions"]
    carry_out(first)
    after_first = left()
    carry_out(a_capped_run(container))

    assert COUNT_CAP == 50_000
    assert (first.planned, first.summary.by_type["sessions"].left_for_later) == (6, 4)
    assert told == ["One run takes at most 50,000 sessions for the largest number: this is run 1 of 2, 4 are left for later ones."]
    assert after_first == sorted(f"s{number}" for number in range(6))
    assert left() == ["s0", "s1"]


def a_capped_run(container):
    run = planning.open_version(policies.published(container), now=NOON, trigger="preview", actor=ACTOR)
    return planning.record(run, now=NOON, count_cap=6)


def test_g11_exactly_as_old_as_the_limit_is_kept():
    container = governed(WEEK)
    sessions(container, 7)
    store(container, a_session("older", days_old=7, last_updated_at=NOON - days(7) - timedelta(microseconds=1)))

    carry_out(preview(container))

    assert left() == ["s0"]


def test_g12_without_a_time_a_session_is_kept_by_age_and_goes_last_for_the_number():
    container = governed(a_policy(sessions={"retention_days": 7, "max_count": 2}))
    sessions(container, 1, 2)
    store(container, a_session("no-time", created_at=None, last_updated_at=None))

    carry_out(preview(container))

    assert left() == ["no-time", "s0"]


def test_g13_of_equal_times_the_lower_key_goes_first():
    container = governed(a_policy(sessions={"max_count": 2}))
    sessions(container, 1, 1, 1, 1)
    keys = list(Session.objects.order_by("id").values_list("external_id", flat=True))

    carry_out(preview(container))

    assert left() == sorted(keys[2:])


def test_g14_a_time_in_seconds_is_read_as_such_and_its_session_kept():
    container = governed(WEEK)
    yesterday = int((NOON - days(1)).timestamp())
    store(container, a_session("seconds", last_updated_at=read_time(yesterday, field="last_updated_time").at))

    carry_out(preview(container))

    assert left() == ["seconds"]


def test_g16_age_and_number_take_their_union():
    container = governed(a_policy(sessions={"retention_days": 7, "max_count": 4}))
    sessions(container, 1, 2, 3, 4, 5, 30, 31, 32)

    run = carry_out(preview(container))

    assert (run.removed, left()) == (4, ["s0", "s1", "s2", "s3"])


def test_g17_hundreds_of_sessions_go_in_batches_of_500(monkeypatch):
    assert enforcement.SESSIONS == 500
    monkeypatch.setattr(enforcement, "SESSIONS", 25)
    monkeypatch.setattr(pacing.Pace, "learn", lambda self, seconds: None)  # else a batch has what share of it the machine's speed says
    batches = []
    remove = removal.remove_sessions
    monkeypatch.setattr(removal, "remove_sessions", lambda *args, **more: batches.append(removed := remove(*args, **more)) or removed)
    container = governed(WEEK)
    sessions(container, *([30] * 60))

    run = carry_out(preview(container))

    assert [batch.items for batch in batches] == [25, 25, 10]
    assert (run.removed, Session.objects.count()) == (60, 0)


def test_g18_a_container_that_fails_is_recorded_and_the_next_one_done_without_a_pause(naps):
    broken, sound = governed(WEEK, "broken"), governed(WEEK, "sound")
    sessions(sound, 30)
    version = policies.published(broken)
    type(version).objects.filter(pk=version.pk).update(document="{")

    a_night()

    assert [run.state for run in Run.objects.order_by("number")] == [RunState.FAILED, RunState.FINISHED]
    assert left() == []
    assert len([nap for nap in naps if nap]) == 1  # after the sound one


def test_g19_a_pause_follows_deletions_only(naps):
    sessions(governed(WEEK, "loses"), 30)
    for name in ("keeps", "keeps too"):
        sessions(governed(WEEK, name), 1)

    a_night()

    assert Run.objects.count() == 3
    assert sum(naps) == pytest.approx(configuration.value("retention_throttle_seconds"))


def test_g21_pinned_memories_stay_whatever_their_age_and_number():
    container = governed(a_policy(long_term={"retention_days": 7, "max_count": 1}))
    kept = [make_memory(container, f"fact {age}", days_old=age, last_updated_at=NOON - days(age)) for age in (300, 301)]
    for memory in kept:
        pinning.pin(memory, reason="kept", actor=ACTOR, now=NOON)
    make_memory(container, "old", days_old=300, last_updated_at=NOON - days(300))

    carry_out(preview(container))

    assert set(LongTermMemory.objects.values_list("uid", flat=True)) == {memory.uid for memory in kept}


def test_g22_without_long_term_memories_their_rule_does_nothing():
    container = governed(a_policy(long_term={"max_count": 1}))

    run = carry_out(preview(container))

    assert (run.state, run.removed) == (RunState.FINISHED, 0)


def test_g23_of_too_much_history_the_oldest_goes():
    container = governed(a_policy(history={"max_count": 5}))
    store(container, *(a_change(f"change {age}", created_at=NOON - days(age)) for age in range(8)))

    carry_out(preview(container))

    assert sorted(entry.after["memory"] for entry in HistoryEntry.objects.all()) == [f"change {age}" for age in range(5)]


def test_g24_history_cannot_have_a_limit_of_age():
    with pytest.raises(InvalidPolicy, match="limited by number only"):
        parse_policy({"retention": {"history": {"retention_days": 5}}})


def test_g31_defaults_are_stored_and_enforced_in_the_same_night():
    switch_on()
    container = make_container()
    sessions(container, 30)
    configuration.change("default_session_retention_days", 7, actor=ACTOR, now=NOON)

    a_night()

    container.refresh_from_db()
    assert (container.policy_state, left()) == (PolicyState.SET, [])


def test_g33_a_policy_that_somebody_set_this_moment_is_not_replaced_by_defaults():
    switch_on()
    container = make_container()
    configuration.change("default_session_retention_days", 7, actor=ACTOR, now=NOON)
    stale = Container.objects.get(pk=container.pk)
    publish(container, a_policy(sessions={"retention_days": 90}))

    sessions(container, 30)

    defaults.stamp(stale, actor="job/nightly", now=NOON)
    a_night()

    assert left() == ["s0"]
    assert policies.current(container) == a_policy(sessions={"retention_days": 90})


def test_g33_a_container_that_gets_a_policy_while_the_night_reaches_it_has_its_turn_the_next_night(monkeypatch):
    switch_on()
    container, stamp = make_container(), defaults.stamp
    configuration.change("default_session_retention_days", 7, actor=ACTOR, now=NOON)
    sessions(container, 30)

    def somebody_is_faster(reached, **options):
        if policies.published(container) is None:
            publish(container, a_policy(sessions={"retention_days": 20}))
        return stamp(reached, **options)

    monkeypatch.setattr(defaults, "stamp", somebody_is_faster)
    a_night()
    first = (Run.objects.count(), left())
    a_night()

    assert first == (0, ["s0"])
    assert (Run.objects.count(), left()) == (1, [])


def test_g34_a_default_that_is_changed_later_leaves_stamped_containers_as_they_are():
    switch_on()
    container = make_container()
    configuration.change("default_session_retention_days", 7, actor=ACTOR, now=NOON)
    a_night()
    stamped = policies.published(container)

    configuration.change("default_session_retention_days", 90, actor=ACTOR, now=NOON)
    a_night()

    assert policies.parse(stamped).rule(MemoryType.SESSIONS).age_limit == days(7)
    assert [version.pk for version in PolicyVersion.objects.all()] == [stamped.pk]
    assert list(Run.objects.values_list("state", flat=True)) == ["finished", "finished"]


def test_g36_a_second_run_is_refused_with_the_number_of_the_first():
    container = governed(WEEK)
    sessions(container, 30)
    first, second = preview(container), preview(container)
    runs.start_reserved(first, actor=ACTOR, now=NOON)

    with pytest.raises(OtherRunLive, match=f"{first.number}"):
        runs.start_reserved(second, actor=ACTOR, now=NOON)


def test_g37_a_message_makes_an_old_session_young_again():
    container = governed(WEEK)
    sessions(container, 30)
    store(container, a_message("hello again", session_ref="s0", created_at=NOON), now=NOON)

    carry_out(preview(container))

    assert left() == ["s0"]


def test_g38_an_old_session_that_is_unpinned_goes_with_the_next_run():
    container = governed(WEEK)
    sessions(container, 30)
    session = Session.objects.get()
    pinning.pin(session, reason="kept", actor=ACTOR, now=NOON)
    carry_out(preview(container))
    assert left() == ["s0"]

    session.refresh_from_db()
    pinning.unpin(session, actor=ACTOR, now=NOON)
    carry_out(preview(container))

    assert left() == []


def test_g39_a_hundred_containers_are_followed_by_the_look_for_orphans():
    containers = [governed(WEEK, f"c{number}", orphan_baseline_at=NOON - days(30)) for number in range(100)]
    for container in (containers[0], containers[-1]):
        store(container, a_message("lost", session_ref="gone", session_gone=True, created_at=NOON - days(60)))

    a_night()

    assert Run.objects.filter(state=RunState.FINISHED).count() == 100
    assert WorkingMemory.objects.count() == 0
