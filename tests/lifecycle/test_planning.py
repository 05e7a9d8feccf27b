import json

import pytest

from memadmin.audit import log
from memadmin.lifecycle import planning
from memadmin.lifecycle.models import ItemKind, Run, RunState, RunVictim, Trigger
from memadmin.lifecycle.selection import select
from memadmin.store.models import LongTermMemory
from retention.policy import digest
from retention.rules import MemoryType
from retention.victims import Reason
from tests.factories import ACTOR, NOON, a_change, a_memory, days, make_container, make_memory, store
from tests.runs import a_policy, fill, governed, make_old_session, memories_of, named_by, pin, preview

pytestmark = pytest.mark.django_db


def test_a_preview_has_a_number_and_names_the_victims_without_touching_them():
    container = make_container()
    fill(container, 5)
    before = memories_of(container)

    run = preview(container, a_policy(relevance={"max_records": 3}))

    assert (run.state, run.planned, run.removed) == (RunState.READY, 2, 0)
    assert run.number > 0
    assert named_by(run) < before
    assert memories_of(container) == before


def test_the_record_says_by_which_policy_and_as_of_when_it_judged():
    policy = a_policy(relevance={"max_records": 3})

    run = preview(make_container(), policy, now=NOON, as_of=NOON - days(1))

    assert (run.policy_digest, run.as_of, run.created_at) == (digest(policy), NOON - days(1), NOON)
    assert json.loads(run.document)["relevance"]["max_records"] == 3
    (entry,) = log.latest("governance", 1)
    assert (entry.action, entry.target, entry.actor) == ("run.previewed", f"runs/{run.number}", ACTOR)


def test_each_victim_is_recorded_with_reason_score_tokens_and_age_but_no_text():
    container = make_container()
    memory = make_memory(container, days_old=400, tokens=12, hits=3)

    run = preview(container, a_policy(relevance={"ttl_days": 365}))

    victim = RunVictim.objects.of_run(run).get()
    assert (victim.seq, victim.item_kind, victim.item_uid) == (1, ItemKind.LONG_TERM, memory.uid)
    assert (victim.reason, victim.tokens, victim.dated_at) == (Reason.TTL, 12, memory.created_at)
    assert victim.score is not None
    assert "text" not in {field.name for field in RunVictim._meta.get_fields()}


def test_all_types_stand_in_the_order_in_which_they_go():
    container = make_container()
    make_old_session(container, messages=3)
    make_memory(container, days_old=100)
    store(container, a_change(created_at=NOON - days(2), external_id="h-1"), a_change(external_id="h-2"))
    policy = a_policy(sessions={"retention_days": 30}, long_term={"retention_days": 30}, history={"max_count": 1})

    run = preview(container, policy)

    kinds = list(RunVictim.objects.of_run(run).in_order().values_list("seq", "item_kind"))
    assert kinds[:2] == [(1, ItemKind.SESSION), (2, ItemKind.LONG_TERM)]
    assert all(kind == ItemKind.HISTORY for _, kind in kinds[2:])
    sessions = run.summary.of(MemoryType.SESSIONS)
    assert (sessions.total, sessions.working, sessions.messages) == (1, 3, 3)


def test_totals_count_each_victim_once_under_its_first_reason():
    container = make_container()
    fill(container, 6, tokens=10)
    make_memory(container, days_old=400, tokens=7, user_id="bob")
    make_memory(container, days_old=500, tokens=7, user_id=None)

    totals = preview(container, a_policy(relevance={"ttl_days": 365, "max_records": 4})).summary

    assert totals.by_reason == {Reason.TTL: 2, Reason.MAX_RECORDS: 2}
    assert (totals.items, totals.tokens, totals.users) == (4, 34, 2)
    assert totals.of(MemoryType.LONG_TERM).stored == 8


def test_pinned_and_past_its_limit_is_counted_apart():
    container = make_container()
    memory = make_memory(container, days_old=400)
    LongTermMemory.objects.filter(pk=memory.pk).update(held=True)
    pin(make_memory(container, "pinned and old", days_old=401))

    run = preview(container, a_policy(relevance={"ttl_days": 365}))

    assert (run.planned, run.summary.exempt_past_limit) == (0, 2)


def test_an_estimate_counts_what_a_preview_records_and_writes_nothing():
    container = make_container()
    fill(container, 30)
    make_old_session(container, messages=2)
    policy = a_policy(sessions={"retention_days": 30}, relevance={"max_records": 12})

    estimate = planning.estimate(container, policy, now=NOON)

    assert Run.objects.count() == 0
    run = preview(container, policy)
    assert estimate.totals == run.summary
    # Within one user the order of a run is not fixed, so the first ten of it may be others of the same.
    recorded = {(row.item_uid, row.reasons, row.score, row.dated_at) for row in RunVictim.objects.of_run(run)}
    assert len(estimate.first) == 10
    assert {(row.item_uid, row.reasons, row.score, row.dated_at) for row in estimate.first} <= recorded


def test_an_estimate_of_a_policy_without_limits_is_empty():
    container = make_container()
    fill(container, 3)

    estimate = planning.estimate(container, a_policy(), now=NOON)

    assert (estimate.totals.items, estimate.first) == (0, ())
    assert "no_limits" in {warned.code for warned in estimate.warnings}


def test_a_recording_that_was_cut_off_starts_anew():
    container = make_container()
    fill(container, 5)
    policy = a_policy(relevance={"max_records": 3})
    run = planning.open_run(container, policy, now=NOON, trigger=Trigger.NIGHTLY, actor=ACTOR)
    RunVictim.objects.create(run=run, seq=1, item_kind=2, item_id=1, item_uid=run.uid, subject_id=1, reasons=1, tokens=0, revision=1)

    planning.record(run, now=NOON)

    assert run.planned == RunVictim.objects.of_run(run).count() == 2


def test_a_preview_is_recorded_once():
    run = preview(make_container(), a_policy(relevance={"max_records": 3}))

    with pytest.raises(planning.NotPlanning):
        planning.record(run, now=NOON)


def test_equal_scores_are_taken_in_the_same_order_every_time():
    container = make_container()
    store(container, *(a_memory(days_old=5) for _ in range(10)))
    policy = a_policy(relevance={"max_records": 7})

    first, second = named_by(preview(container, policy)), named_by(preview(container, policy))

    assert first == second == set(sorted(memories_of(container))[:3])


def test_without_a_date_nothing_is_ever_too_old():
    container = make_container()
    make_memory(container, created_at=None)
    policy = a_policy(long_term={"retention_days": 1}, relevance={"ttl_days": 1})

    assert preview(container, policy).planned == 0


def test_every_user_is_judged_over_all_their_memories_and_alone():
    container = make_container()
    fill(container, 15, user_id="ann")
    fill(container, 9, user_id="bob")

    run = preview(container, a_policy(relevance={"max_records": 12}))

    subjects = set(RunVictim.objects.of_run(run).values_list("subject__user_id", flat=True))
    assert (run.planned, subjects) == (3, {"ann"})


def test_nobody_is_selected_from_another_container():
    ours, theirs = make_container("ours"), make_container("theirs")
    fill(theirs, 5)

    assert [*select(ours, a_policy(relevance={"max_records": 1}), now=NOON)]
    assert preview(ours, a_policy(relevance={"max_records": 1})).planned == 0


def test_with_all_pinned_over_the_cap_nothing_goes_and_the_preview_says_so():
    container = governed(a_policy(relevance={"max_records": 3}))
    for number in range(5):
        pin(make_memory(container, f"fact {number}"))

    estimate = planning.estimate(container, a_policy(relevance={"max_records": 3}), now=NOON)

    assert estimate.totals.items == 0
    assert "1 user stays over cap by 2, all pinned: the cap is 3 memories, and no run evicts a pinned one." in {
        warned.text for warned in estimate.warnings
    }


def test_pins_count_inside_the_caps_of_a_user_but_not_inside_a_containers_number():
    container = make_container()
    for number in range(3):
        pin(make_memory(container, f"pinned {number}"))
    fill(container, 2)

    assert preview(container, a_policy(relevance={"max_records": 3})).planned == 2
    assert preview(container, a_policy(long_term={"max_count": 3})).planned == 0
