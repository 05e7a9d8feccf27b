from functools import partial

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F

from memadmin.jobs.models import Job
from memadmin.lifecycle import enforcement, ranges, runs, stepping
from memadmin.lifecycle.enforcement import enforce_batch
from memadmin.lifecycle.models import Run, RunRange, RunState, RunVictim
from memadmin.lifecycle.states import WrongState
from memadmin.lifecycle.stepping import advance, help_along
from memadmin.store.models import LongTermMemory, Session
from tests.factories import ACTOR, NOON, make_container
from tests.jobs.at_once import at_once
from tests.runs import a_policy, assert_store_agrees, fill, governed, make_old_session, memories_of, named_by, preview, publish

pytestmark = pytest.mark.django_db
KEEP_ONE = a_policy(relevance={"max_records": 1})
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time, so a run is one range there")


@pytest.fixture
def small_ranges(monkeypatch):
    monkeypatch.setattr(ranges, "AT_LEAST", 4)


def started(memories: int, policy=KEEP_ONE) -> Run:
    container = governed(policy, archive_days=None)
    fill(container, memories)
    run = preview(container)
    runs.start_within(run, actor=ACTOR, now=NOON)
    return run


def bounds(run: Run) -> list[tuple[int, int]]:
    return list(RunRange.objects.filter(run=run).order_by("first").values_list("first", "last"))


def test_a_small_run_is_one_range_of_each_type():
    container = governed(a_policy(sessions={"retention_days": 50}, relevance={"max_records": 1}))
    fill(container, 5)
    make_old_session(container, "old"), make_old_session(container, "older")
    run = preview(container)

    ranges.divide(run)

    assert bounds(run) == [(1, 2), (3, 6)]


@on_postgresql
def test_ranges_of_a_large_run_cover_every_victim_once(small_ranges):
    run = started(22)

    ranges.divide(run)

    assert [last - first + 1 for first, last in bounds(run)] == [4, 4, 4, 4, 5]
    assert sorted(seq for first, last in bounds(run) for seq in range(first, last + 1)) == list(range(1, 22))


def test_dividing_twice_changes_nothing(small_ranges):
    run = started(22)
    ranges.divide(run)
    before = bounds(run)

    ranges.divide(run)

    assert bounds(run) == before


def test_a_run_that_was_under_way_before_there_were_ranges_goes_on_behind_its_cursor(small_ranges):
    run = started(22)
    dealt_with = RunVictim.objects.of_run(run).filter(seq__lte=6)
    Run.objects.filter(pk=run.pk).update(cursor=6, removed=6)
    run.refresh_from_db()

    ranges.divide(run)

    assert list(RunVictim.objects.of_run(run).dealt_with().in_order()) == list(dealt_with.in_order())
    assert ranges.claim(run, wait=True).cursor == 6


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_while_one_worker_is_in_a_range_another_takes_the_next(small_ranges):
    run = started(22)
    ranges.divide(run)

    with transaction.atomic():
        mine = ranges.claim(run, wait=True)
        [theirs] = at_once(partial(enforce_batch, run.number, now=NOON), times=1)

    assert mine.first == 1
    assert theirs.removed == 4
    assert list(RunRange.objects.filter(run=run, cursor__gte=F("first")).values_list("first", flat=True)) == [5]


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_helper_does_not_wait_for_the_last_range(small_ranges):
    run = started(6)
    ranges.divide(run)

    with transaction.atomic():
        ranges.claim(run, wait=True)
        assert at_once(partial(help_along, run, now=NOON), times=1) == [True]

    assert Run.objects.get().removed == 0


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_two_workers_evict_exactly_what_the_preview_named(small_ranges):
    run = started(60)
    expected = memories_of(run.container) - named_by(run)

    at_once(partial(_to_the_end, run.number))

    run.refresh_from_db()
    assert memories_of(run.container) == expected
    assert (run.state, run.removed, run.kept, run.cursor) == (RunState.RUNNING, 59, 0, 59)
    assert_store_agrees()
    assert advance(run, actor=ACTOR, now=NOON)


def _to_the_end(number: int) -> None:
    while not enforce_batch(number, now=NOON, size=2).is_last:
        pass


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_cut_off_inside_a_batch_leaves_it_to_the_other(small_ranges, monkeypatch):
    run = started(22)
    expected = memories_of(run.container) - named_by(run)
    count, cut_off = enforcement.count, []

    def dying_once(*args, **named):
        if not cut_off:
            cut_off.append(True)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return count(*args, **named)

    monkeypatch.setattr(enforcement, "count", dying_once)

    with pytest.raises(OperationalError):
        at_once(partial(enforce_batch, run.number, now=NOON), times=1)
    assert Run.objects.get().removed == 0
    _to_the_end(run.number)

    assert memories_of(run.container) == expected
    assert_store_agrees()


@pytest.mark.django_db(transaction=True)
def test_a_run_that_is_called_off_during_a_batch_counts_nothing_of_it(monkeypatch):
    run = started(6)
    before = memories_of(run.container)
    count = enforcement.count

    def called_off_first(*args, **named):
        Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
        return count(*args, **named)

    monkeypatch.setattr(enforcement, "count", called_off_first)

    with pytest.raises(WrongState):
        enforce_batch(run.number, now=NOON)

    assert memories_of(run.container) == before


def test_a_run_that_was_called_off_meanwhile_is_at_its_end(monkeypatch):
    run = started(6)

    def called_off(*args, **named):
        Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
        raise WrongState

    monkeypatch.setattr(stepping, "paced_batch", called_off)

    assert advance(run, actor=ACTOR, now=NOON)


def test_types_go_one_after_the_other(small_ranges):
    container = governed(a_policy(sessions={"retention_days": 50}, relevance={"max_records": 1}), archive_days=None)
    fill(container, 5)
    make_old_session(container)
    run = preview(container)
    runs.start_within(run, actor=ACTOR, now=NOON)

    first = enforce_batch(run.number, now=NOON)

    assert (first.removed, Session.objects.count(), LongTermMemory.objects.count()) == (1, 0, 5)


@on_postgresql
def test_only_a_large_run_asks_for_a_second_worker(small_ranges):
    small, large = started(6), None
    advance(small, actor=ACTOR, now=NOON)
    container = make_container("large")
    publish(container, KEEP_ONE)
    fill(container, 12)
    large = preview(container)
    runs.start_within(large, actor=ACTOR, now=NOON)
    for run in (small, large):
        runs.ask_for_help(run, now=NOON)

    assert [job.target for job in Job.objects.filter(kind=runs.BESIDE)] == [runs.target_of(large)]


def test_help_for_a_run_that_has_ended_ends_at_once():
    run = started(6)
    runs.cancel(run, actor=ACTOR, now=NOON)

    assert help_along(run, now=NOON)
