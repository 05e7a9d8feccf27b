import pytest
from django.db import connection, transaction

from memadmin.audit import log
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import enforcement, runs
from memadmin.lifecycle.drift import drift_of
from memadmin.lifecycle.enforcement import enforce_batch
from memadmin.lifecycle.models import Kept, Run, RunKept, RunState
from memadmin.lifecycle.states import WrongState
from memadmin.store import configuration, policies, removal
from memadmin.store.models import Archived, Container, LongTermMemory, Session, WorkingMemory
from memadmin.store.removal import Chosen
from tests.factories import ACTOR, NOON, a_change, days, make_memory, store, subject_of
from tests.runs import (
    a_policy,
    assert_store_agrees,
    carry_out,
    fill,
    governed,
    keep,
    make_old_session,
    memories_of,
    named_by,
    pin,
    preview,
    publish,
)

pytestmark = pytest.mark.django_db
KEEP_THREE = a_policy(relevance={"max_records": 3})


class Killed(Exception):
    """The process ends here."""


def test_a_run_evicts_exactly_what_its_preview_named():
    container = governed(KEEP_THREE)
    fill(container, 8)
    before = memories_of(container)
    run = preview(container)

    carry_out(run)

    assert memories_of(container) == before - named_by(run)
    assert (run.state, run.planned, run.removed, run.kept) == (RunState.FINISHED, 5, 5, 0)
    assert_store_agrees()


def test_the_log_has_the_start_and_the_end_with_counts():
    container = governed(KEEP_THREE)
    fill(container, 5, tokens=10)

    run = carry_out(preview(container))

    finished, started = log.latest("governance", 2)
    assert (started.action, finished.action) == ("run.started", "run.finished")
    assert started.target == finished.target == f"runs/{run.number}"
    assert finished.counts == {"planned": 2, "removed": 2, "kept": 0, "long-term.items": 2, "long-term.tokens": 20}


def test_changes_between_preview_and_run_are_respected_and_reported():
    container = governed(KEEP_THREE)
    fill(container, 9)
    run = preview(container)
    pinned, read, changed, held, gone, evicted = LongTermMemory.objects.filter(id__in=named_by(run)).order_by("id")
    pin(pinned)
    LongTermMemory.objects.filter(pk=read.pk).update(last_accessed_at=NOON)
    LongTermMemory.objects.filter(pk=changed.pk).update(revision=9)
    keep(held)
    removal.remove_long_term(
        Chosen(f"SELECT id, subject_id, revision, last_accessed_at, 'age' AS reason FROM store_longtermmemory WHERE id = {gone.pk}"),
        archive=None,
    )
    make_memory(container, "added since")
    run.refresh_from_db()
    expected = drift_of(run)

    carry_out(run)

    assert (expected.pinned, expected.read, expected.changed, expected.held, expected.gone, expected.added) == (1, 1, 1, 1, 1, 1)
    assert drift_of(run) == expected
    assert (run.removed, run.kept) == (1, 5)
    assert not LongTermMemory.objects.filter(pk=evicted.pk).exists()
    assert sorted(RunKept.objects.filter(run=run).values_list("why", flat=True)) == sorted(
        {*Kept.values} - {Kept.SESSION, Kept.UNSUMMARISED}
    )
    assert_store_agrees()


@pytest.mark.parametrize("archive_days", [30, None], ids=["archived", "at once"])
def test_a_pin_between_preview_and_run_saves_the_memory(archive_days):
    container = governed(KEEP_THREE, archive_days=archive_days)
    fill(container, 6)
    run = preview(container)
    saved = LongTermMemory.objects.get(pk=min(named_by(run)))
    pin(saved)

    carry_out(run)

    assert LongTermMemory.objects.filter(pk=saved.pk).exists()
    assert (run.removed, run.kept) == (2, 1)
    assert_store_agrees()


def test_evicted_memories_lie_in_the_archive_until_the_last_day():
    container = governed(KEEP_THREE, archive_days=10)
    fill(container, 5)

    run = carry_out(preview(container))

    copies = Archived.objects.filter(run_number=run.number)
    assert {copy.expires_at for copy in copies} == {NOON + days(10)}
    assert {copy.reason for copy in copies} == {"max_records"}
    assert subject_of(container).archived == 2


def test_without_an_archive_nothing_is_copied():
    container = governed(KEEP_THREE, archive_days=None)
    fill(container, 5)

    run = carry_out(preview(container))

    assert (run.removed, Archived.objects.count()) == (2, 0)
    assert_store_agrees()


def test_sessions_take_their_messages_along_and_history_stays_within_its_number():
    container = governed(a_policy(sessions={"retention_days": 30}, history={"max_count": 1}))
    make_old_session(container, "old", messages=3)
    make_old_session(container, "young", messages=2, age=10)
    store(container, *(a_change(created_at=NOON - days(n), external_id=f"h-{n}") for n in range(4)))

    run = carry_out(preview(container))

    assert [session.external_id for session in Session.objects.all()] == ["young"]
    assert WorkingMemory.objects.count() == 2
    assert run.outcome["sessions"] == {"items": 1, "working": 3, "messages": 3, "tokens": 0}
    assert run.outcome["history"]["items"] == 3
    assert_store_agrees()


def test_batches_of_two_end_in_the_same_store():
    container = governed(KEEP_THREE)
    fill(container, 10)
    run = preview(container)
    survivors = memories_of(container) - named_by(run)
    runs.start_within(run, actor=ACTOR, now=NOON)

    done = [enforce_batch(run.number, now=NOON, size=2) for _ in range(4)]

    assert [(batch.removed, batch.is_last) for batch in done] == [(2, False), (2, False), (2, False), (1, True)]
    assert memories_of(container) == survivors
    assert_store_agrees()


def test_a_batch_holds_one_type_only():
    container = governed(a_policy(sessions={"retention_days": 30}, relevance={"ttl_days": 30}))
    make_old_session(container)
    make_memory(container, days_old=100)
    run = preview(container)
    runs.start_within(run, actor=ACTOR, now=NOON)

    assert [enforce_batch(run.number, now=NOON).removed for _ in range(2)] == [1, 1]


@transaction.atomic
def a_batch_that_is_killed(run):
    enforce_batch(run.number, now=NOON, size=2)
    raise Killed


@pytest.mark.parametrize("boundary", range(4))
def test_a_worker_killed_inside_a_batch_has_not_begun_it(boundary):
    container = governed(KEEP_THREE)
    fill(container, 10)
    run = preview(container)
    survivors = memories_of(container) - named_by(run)
    runs.start_within(run, actor=ACTOR, now=NOON)
    for _ in range(boundary):
        enforce_batch(run.number, now=NOON, size=2)
    before = memories_of(container)

    for _ in range(2):
        with pytest.raises(Killed):
            a_batch_that_is_killed(run)

    assert memories_of(container) == before
    while not enforce_batch(run.number, now=NOON, size=2).is_last:
        pass
    runs.finish(run, now=NOON)
    assert (run.removed, memories_of(container)) == (7, survivors)
    assert Archived.objects.filter(run_number=run.number).count() == 7
    assert_store_agrees()


def test_a_step_repeated_after_the_last_batch_removes_nothing_more():
    container = governed(KEEP_THREE)
    fill(container, 5)
    run = preview(container)
    runs.start_within(run, actor=ACTOR, now=NOON)

    first, again = enforce_batch(run.number, now=NOON), enforce_batch(run.number, now=NOON)

    assert (first.removed, again.removed, again.is_last) == (2, 0, True)


def test_only_a_running_run_evicts():
    container = governed(KEEP_THREE)
    fill(container, 5)
    run = preview(container)

    with pytest.raises(WrongState):
        enforce_batch(run.number, now=NOON)


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (lambda container: configuration.change("retention_enabled", False, actor=ACTOR, now=NOON), "retention_off"),
        (lambda container: configuration.change("multi_tenancy_enabled", True, actor=ACTOR, now=NOON), "multi_tenancy"),
        (lambda container: policies.opt_out(container, actor=ACTOR, now=NOON, base=1), "opted_out"),
        (lambda container: publish(container, a_policy(relevance={"max_records": 900})), "policy_changed"),
    ],
    ids=["retention off", "multi-tenancy", "opt out", "new policy"],
)
def test_a_run_stops_after_its_batch_when_it_may_not_go_on(event, cause, monkeypatch):
    monkeypatch.setattr(enforcement, "COPIED", 2)
    container = governed(KEEP_THREE)
    fill(container, 10)
    run = preview(container)
    job = runs.start_reserved(run, actor=ACTOR, now=NOON)
    runs.take_up(run)
    enforce_batch(run.number, now=NOON)
    event(container)

    run_inline(job, now=NOON)

    run.refresh_from_db()
    assert (run.state, run.removed, run.error_code) == (RunState.CANCELLED, 2, cause)
    assert log.latest("governance", 1)[0].action == "run.cancelled"
    assert_store_agrees()


def test_a_run_of_nothing_finishes():
    run = carry_out(preview(governed(KEEP_THREE)))

    assert (run.state, run.planned) == (RunState.FINISHED, 0)


def test_the_database_allows_one_live_run_for_each_container():
    container = governed(KEEP_THREE)
    runs.start(preview(container), actor=ACTOR, now=NOON)

    with pytest.raises(runs.OtherRunLive):
        runs.start(preview(container), actor=ACTOR, now=NOON)
    assert Run.objects.live().of_container(container).count() == 1
    assert Container.objects.count() == 1


def test_a_batch_without_copies_is_as_large_as_the_database_takes_well(monkeypatch):
    monkeypatch.setattr(enforcement, "AT_ONCE" if connection.vendor == "postgresql" else "AT_ONCE_ON_SQLITE", 2)
    container = governed(a_policy(relevance={"max_records": 1}), archive_days=None)
    fill(container, 6)
    runs.start_reserved(preview(container), actor=ACTOR, now=NOON)
    Run.objects.update(state=RunState.RUNNING)

    cursors = []
    while not enforce_batch(Run.objects.get().number, now=NOON).is_last:
        cursors.append(Run.objects.get().cursor)

    assert cursors == [2, 4]
    assert LongTermMemory.objects.count() == 1
