"""Batches of places that delete by list: what the list spares is asked for in transactions of their own."""

import json
from dataclasses import replace
from typing import Any

import pytest

from memadmin.audit.actions import Action
from memadmin.audit.models import AuditPending
from memadmin.erasure import asking
from memadmin.erasure.execution import batches, steps
from memadmin.erasure.models import ErasureRequest, Manifest, ManifestItem, PlaceOutcome, Status
from memadmin.jobs import lease
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import locations
from memadmin.store.check import check
from memadmin.store.models import LongTermMemory
from tests.erasure.workflow import approved, discovered, opened
from tests.factories import NOON, days, make_container, make_memory
from tests.holds import hold, restrict

pytestmark = pytest.mark.django_db(transaction=True)
PLACE = "store.long_term"


@pytest.fixture
def memories(monkeypatch: Any) -> list[LongTermMemory]:
    monkeypatch.setattr(batches, "AT_ONCE", 2)
    container = make_container()
    return [make_memory(container, f"number {number}", user_id="ann") for number in range(7)]


def begun() -> ErasureRequest:
    """Return a claimed request about the person, whose execution waits."""
    request = opened("ann")
    approved(request)
    steps.begin_approved(now=NOON)
    return request


def run(request: ErasureRequest) -> ErasureRequest:
    for attempt in range(20):
        try:
            run_inline(Job.objects.get(kind=steps.EXECUTE), now=NOON + days(attempt / 24))
        except KeyboardInterrupt:
            continue
        break
    request.refresh_from_db()
    return request


def of_each_batch() -> list[int]:
    """Return how many memories each batch was done with, as the log says."""
    facts = [json.loads(row.facts) for row in AuditPending.objects.order_by("pk")]
    return [each["counts"]["items"] for each in facts if (each["action"], each["reason_code"]) == (Action.ERASURE_BATCH, PLACE)]


def outcome(request: ErasureRequest) -> tuple[int, int, int]:
    found = PlaceOutcome.objects.get(request=request, location=PLACE)
    return found.erased, found.withheld, found.absent


@pytest.mark.parametrize(("held", "expected"), [(1, [7]), (2, [7]), (3, [6, 1]), (4, [5, 2]), (5, [4, 2, 1]), (7, [2, 2, 2, 1])])
def test_a_stretch_of_what_is_held_by_now_is_asked_for_some_at_a_time(memories: list[LongTermMemory], held: int, expected: list[int]):
    request = begun()
    for memory in memories[7 - held :]:
        hold(memory)

    run(request)

    assert (request.state, of_each_batch()) == (Status.COMPLETED, expected)
    assert outcome(request) == (7 - held, held, 0)
    assert list(LongTermMemory.objects.order_by("pk")) == memories[7 - held :]
    assert list(check()) == []


def test_what_is_only_restricted_goes_some_at_a_time(memories: list[LongTermMemory]):
    restrict(memories[0].subject)

    request = run(begun())

    assert (request.state, of_each_batch()) == (Status.COMPLETED, [2, 2, 2, 1])
    assert (outcome(request), LongTermMemory.objects.count()) == ((7, 0, 0), 0)


def test_a_row_that_goes_between_two_batches_is_absent(memories: list[LongTermMemory], monkeypatch: Any):
    restrict(memories[0].subject)
    request, real = begun(), steps.spared

    def loses_one(*arguments: Any, **details: Any) -> Any:
        LongTermMemory.objects.filter(pk=memories[-1].pk)._raw_delete("default")
        return real(*arguments, **details)

    monkeypatch.setattr(steps, "spared", loses_one)

    run(request)

    assert of_each_batch() == [2, 2, 2, 1]
    assert outcome(request) == (6, 0, 1)


@pytest.mark.parametrize("after", [True, False])
def test_a_kill_between_two_of_these_batches_counts_nothing_twice(memories: list[LongTermMemory], monkeypatch: Any, after: bool):
    request, real, killed = begun(), lease.checkpoint, list[int]()
    for memory in memories[2:]:
        hold(memory)

    def dies(job: Any, step: Any, **details: Any) -> Any:
        dead = bool(step.cursor.get("rest")) and len(killed) < 2
        killed.extend([1] * dead)
        if dead and not after:
            raise KeyboardInterrupt
        done = real(job, step, **details)
        if dead:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(lease, "checkpoint", dies)

    run(request)

    assert len(killed) == 2
    assert (request.state, of_each_batch(), outcome(request)) == (Status.COMPLETED, [4, 2, 1], (2, 5, 0))


def test_what_the_approval_kept_stays_though_its_hold_ends_while_the_rest_goes(memories: list[LongTermMemory]):
    hold(memories[3])
    request = begun()
    LongTermMemory.objects.update(held=False)

    assert run(request).state == Status.COMPLETED
    assert list(LongTermMemory.objects.all()) == [memories[3]]
    assert outcome(request) == (6, 1, 0)


def test_a_row_that_came_into_the_stretch_without_being_approved_is_not_erased_with_it(memories: list[LongTermMemory]):
    came = memories[3]
    LongTermMemory.objects.filter(pk=came.pk).delete()
    request = begun()
    came.save(force_insert=True)
    LongTermMemory.objects.update(stored_at=NOON)

    assert run(request).state == Status.RESIDUE_FOUND
    assert list(LongTermMemory.objects.all()) == [came]


def test_a_manifest_whose_items_lie_between_those_of_another_is_compared_row_by_row(memories: list[LongTermMemory]):
    request = begun()
    manifest = Manifest.objects.get()
    manifest.items.filter(location=PLACE, row_uid=memories[3].uid).delete()
    manifest.lines.filter(location=PLACE).update(items=6)

    assert run(request).state == Status.RESIDUE_FOUND
    assert list(LongTermMemory.objects.all()) == [memories[3]]


@pytest.mark.parametrize(
    ("size", "took", "after"),
    [(200, 0.0, 800), (80_000, 0.0, 100_000), (800, 0.15, 800), (800, 0.6, 400), (300, 0.6, 200), (200, 60.0, 200)],
)
def test_22_a_batch_grows_while_it_is_short_and_shrinks_where_others_would_wait_for_it(size: int, took: float, after: int):
    assert batches.next_size(size, took=took) == after


def test_22_of_a_long_list_no_item_passes_through_the_memory_of_the_worker(memories: list[LongTermMemory], monkeypatch: Any):
    read, real = list[str](), ManifestItem.from_db.__func__

    def noting(cls: type[ManifestItem], *row: Any) -> ManifestItem:
        item: ManifestItem = real(cls, *row)
        read.append(item.location)
        return item

    request = begun()
    hold(memories[3])
    monkeypatch.setattr(ManifestItem, "from_db", classmethod(noting))

    assert run(request).state == Status.COMPLETED
    assert read.count(PLACE) == 1  # the one that the list spared


def test_22_the_search_reads_a_long_place_page_by_page(memories: list[LongTermMemory], monkeypatch: Any):
    monkeypatch.setattr(asking, "PAGE", 3)
    place, pages = locations.get(PLACE), list[int]()

    def finding(scope: Any, after: Any, limit: int) -> Any:
        page = place.find(scope, after, limit)  # type: ignore[misc]
        pages.append(len(page.found))
        return page

    monkeypatch.setitem(locations.LOCATIONS, PLACE, replace(place, find=finding))

    assert discovered(opened("ann")).items.filter(location=PLACE).count() == 7
    assert pages == [3, 3, 1]


def test_one_person_s_rows_are_not_compared_with_the_list_one_by_one_but_for_those_that_stay(
    memories: list[LongTermMemory], monkeypatch: Any
):
    compared = []
    whole = batches._goes_whole
    monkeypatch.setattr(batches, "_goes_whole", lambda *place: compared.append(not whole(*place)) or not compared[-1])
    hold(make_memory(memories[0].container, user_id="bob"))

    assert run(begun()).state == Status.COMPLETED
    assert compared
    assert not any(compared)
