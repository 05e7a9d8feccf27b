"""Runs that name working memories: their order, batches and backlog, and what has changed since the preview."""

import pytest

from memadmin.lifecycle import enforcement, housekeeping, nightly, planning, reporting, runs, stepping
from memadmin.lifecycle.drift import drift_of
from memadmin.lifecycle.models import ItemKind, Run, RunKept, RunVictim, Trigger
from memadmin.lifecycle.warnings import warnings_of
from memadmin.store import configuration
from memadmin.store.check import check
from memadmin.store.models import Container, ItemType, WorkingMemory
from memadmin.store.removal import remove_by_hand
from retention.rules import MemoryType
from tests.factories import ACTOR, NOON, a_change, a_session, days, store
from tests.people import auditor
from tests.runs import a_policy, carry_out, governed, make_old_session, preview, publish
from tests.working import POLICY, a_night, ages, opt_in, orphans_of, put, watched, without_a_policy

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_test_sleeps(monkeypatch):
    monkeypatch.setattr(nightly.time, "sleep", lambda _: None)


def test_a_preview_without_a_policy_can_be_carried_out_until_a_policy_comes():
    container = without_a_policy()
    put(container, days_old=60)
    first, second = preview(container, housekeeping.NO_POLICY), preview(container, housekeeping.NO_POLICY)

    assert carry_out(first).removed == 1
    publish(container, POLICY)
    with pytest.raises(runs.StalePolicy, match=r"without a policy; version 1 is in force now\. Make a new preview"):
        runs.start(second, actor=ACTOR, now=NOON)


def test_a_run_without_a_policy_is_called_that_and_one_of_values_that_are_not_published_is_not():
    container = without_a_policy()
    bare, tried = preview(container, housekeeping.NO_POLICY), preview(container, POLICY)

    said = [next(reporting.lines_of(run)) for run in (bare, tried)]
    ada = auditor()
    pages = [ada.get(f"/runs/{run.number}/").content.decode() for run in (bare, tried)]

    assert [", without a policy, " in line for line in said] == [True, False]
    assert ["Without a policy" in page for page in pages] == [True, False]
    assert ["(not published)" in page for page in pages] == [False, True]


def test_a_policy_published_in_the_middle_stops_a_run_without_one():
    container = without_a_policy()
    put(container, days_old=60)
    run = preview(container, housekeeping.NO_POLICY)
    runs.start_within(run, actor=ACTOR, now=NOON)
    publish(container, POLICY)

    assert stepping.advance(run, actor=ACTOR, now=NOON)

    assert (run.state, run.error_code, ages()) == ("cancelled", "policy_changed", [60])


def test_h13_a_run_takes_so_many_sessions_and_says_how_many_are_left(monkeypatch):
    container = watched()
    orphans_of(container, *range(20, 25))
    run = planning.open_run(container, POLICY, now=NOON, trigger=Trigger.PREVIEW, actor=ACTOR)

    planning.record(run, now=NOON, count_cap=2)

    assert (run.planned, run.summary.of(MemoryType.WORKING).left_for_later) == (2, 3)
    [warned] = [w for w in warnings_of(container, POLICY, run.summary) if w.code == "capped.working"]
    assert "the working memories of 50,000 sessions that have gone: this is run 1 of 2, 3 are left" in warned.text


def test_many_orphans_go_in_batches_and_all_users_agree(monkeypatch):
    monkeypatch.setattr(enforcement, "AT_ONCE", 2)
    container = watched()
    orphans_of(container, *range(20, 25))
    for age in range(30, 33):
        put(container, days_old=age, user_id="bob", session_ref="gone", session_gone=True)

    a_night()

    assert ages() == []
    run = Run.objects.get()
    assert (run.removed, run.outcome["working"]) == (8, {"items": 8, "tokens": 0, "working": 0, "messages": 8})
    assert list(check()) == []


@pytest.mark.parametrize("back", ["as a session", "changed", "deleted by hand"])
def test_what_is_not_as_it_was_when_the_preview_named_it_is_passed_over(back):
    container = watched()
    orphans_of(container, 60, 50)
    run = preview(container)
    if back == "as a session":
        store(container, a_session("gone-60", user_id="bob"))
    elif back == "changed":
        WorkingMemory.objects.filter(session_ref="gone-60").update(revision=2)
    else:
        remove_by_hand(ItemType.WORKING, list(WorkingMemory.objects.filter(session_ref="gone-60").values_list("pk", flat=True)))
    expected = drift_of(Run.objects.get(pk=run.pk))

    carry_out(run)

    assert (run.removed, run.kept, expected.kept) == (1, 1, 1)
    why = {"as a session": "session", "changed": "changed", "deleted by hand": "gone"}[back]
    assert RunKept.objects.get(run=run).why == why
    assert drift_of(run) == expected
    assert ages() == ([] if back == "deleted by hand" else [60])
    assert list(check()) == []


@pytest.mark.parametrize("changed", ["setting", "consent"])
def test_a_preview_by_other_rules_than_hold_now_is_refused_and_a_run_stops(changed):
    container = opt_in(watched())
    orphans_of(container, 60)
    put(container, days_old=60, user_id=None)
    waiting, running = preview(container), preview(container)
    runs.start_within(running, actor=ACTOR, now=NOON)
    if changed == "setting":
        configuration.change("orphan_ttl_days", 100, actor=ACTOR, now=NOON)
    else:
        Container.objects.update(removes_unattributed=False)

    with pytest.raises(runs.TermsChanged):
        runs.start(Run.objects.get(pk=waiting.pk), actor=ACTOR, now=NOON)
    stepping.advance(running, actor=ACTOR, now=NOON)

    assert (running.state, running.error_code, running.removed) == ("cancelled", "terms_changed", 0)
    assert ages() == [60, 60]


def test_working_memories_go_behind_everything_else_of_their_container():
    container = governed(a_policy(sessions={"retention_days": 30}, history={"max_count": 1}), orphan_baseline_at=NOON - days(30))
    orphans_of(container, 60)
    make_old_session(container, messages=2)
    store(container, a_change("one"), a_change("two"))

    run = preview(container)

    kinds = list(RunVictim.objects.of_run(run).in_order().values_list("item_kind", flat=True))
    assert kinds == [ItemKind.SESSION, ItemKind.HISTORY, ItemKind.WORKING]
    carry_out(run)
    assert (run.removed, WorkingMemory.objects.count(), list(check())) == (3, 0, [])


def test_previewing_starts_no_clock_and_a_run_started_by_hand_does():
    container = governed(POLICY)
    run = preview(container)
    container.refresh_from_db()
    assert container.orphan_baseline_at is None

    carry_out(run)

    container.refresh_from_db()
    assert container.orphan_baseline_at == NOON
