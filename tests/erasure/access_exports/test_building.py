"""Making an export in steps: killed, called off, large, and never in a log."""

import contextlib
import json
import logging
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from memadmin.erasure.access_exports import building, chapters, finishing, handing
from memadmin.erasure.access_exports.finishing import NotWhole
from memadmin.erasure.models import AccessExport, ErasureRequest, ExportPart, ExportState
from memadmin.jobs import lease
from memadmin.jobs.lease import LeaseLost
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.models import LongTermMemory
from tests.erasure.access_exports.making import asked, collected, files_of, handed_out, items_of, made, started
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, make_container, store

pytestmark = pytest.mark.django_db


def ready(memories: int = 7) -> ErasureRequest:
    items = [a_memory(f"fact {number}", external_id=f"m-{number}") for number in range(memories)]
    store(make_container(), a_session(), a_message("hello"), a_change(), *items)
    return asked()


def leased(export: AccessExport) -> Any:
    return lease.take(Job.objects.get(target=str(export)).pk, now=NOON)


def contents(export: AccessExport, code: str) -> Any:
    files = collected(export, code)
    return sorted(json.dumps(item, sort_keys=True) for item in items_of(files))


def one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write at least one page in each step, however slow the clock is."""
    monkeypatch.setattr(building, "ENOUGH", 1)
    monkeypatch.setattr(chapters, "THINGS", 2)


def test_a_step_that_is_killed_before_it_is_saved_is_done_again_and_nothing_is_in_twice(monkeypatch: pytest.MonkeyPatch):
    request = ready()
    whole = contents(*handed_out(request))
    one_step(monkeypatch)
    export = started(request)
    job, steps = leased(export), 0
    while True:
        with contextlib.suppress(LeaseLost):  # as killed: all is written, and rolled back at the end
            building.step(replace(job, token="of somebody else"), now=NOON)
        done = building.step(job, now=NOON)
        steps += 1
        if done.finished:
            break
        job = lease.checkpoint(job, done, now=NOON)
    export.refresh_from_db()

    assert steps > 5
    assert export.state == ExportState.READY
    again = contents(*handing.hand_out(request, actor=ACTOR, now=NOON))
    assert [item for item in again if "erase" not in item] == [item for item in whole if "erase" not in item]


def test_an_export_that_is_called_off_while_it_is_made_gets_no_more_parts(monkeypatch: pytest.MonkeyPatch):
    one_step(monkeypatch)
    request = ready()
    first = started(request)
    job = leased(first)
    building.step(job, now=NOON)
    started(request)

    assert building.step(job, now=NOON).finished
    assert not ExportPart.objects.filter(export=first).exists()


def test_an_export_that_cannot_be_made_says_so_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("ann likes tea")

    monkeypatch.setattr(finishing, "circumstances_of", broken)
    request = ready()
    export = started(request)
    job = Job.objects.get(target=str(export))
    Job.objects.filter(pk=job.pk).update(max_attempts=1)

    with pytest.raises(RuntimeError):
        run_inline(Job.objects.get(pk=job.pk), now=NOON)

    export.refresh_from_db()
    assert (export.state, export.error_code, export.wrapped_key) == (ExportState.FAILED, "RuntimeError", None)
    assert not ExportPart.objects.exists()


def test_nothing_is_handed_out_that_is_not_whole(monkeypatch: pytest.MonkeyPatch):
    request = ready()
    export = started(request)
    job = leased(export)
    done = building.step(job, now=NOON)
    while not done.cursor["chapter"] >= len(chapters.chapters_of(chapters.About(request.manifests.get()))):
        job = lease.checkpoint(job, done, now=NOON)
        done = building.step(job, now=NOON)
    done.cursor["included"]["store.long_term"] -= 1

    with pytest.raises(NotWhole):
        building.step(lease.checkpoint(job, done, now=NOON), now=NOON)


def test_memory_does_not_grow_with_the_person(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chapters, "THINGS", 50)
    monkeypatch.setattr(building, "ENOUGH", 100_000)

    assert _peak("few", 200) * 2 > _peak("many", 2_000)


def _peak(user_id: str, memories: int) -> int:
    items = [a_memory(f"fact {number} {'word ' * 100}", user_id=user_id, external_id=f"m-{number}") for number in range(memories)]
    store(make_container(user_id), *items)
    request = asked(user_id)
    tracemalloc.start()
    made(request)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert LongTermMemory.objects.filter(subject__user_id=user_id).count() == memories
    return peak


def test_89_neither_the_person_nor_the_code_is_in_a_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    store(make_container(), a_memory("canary-text", user_id="canary-person"))
    request = asked("canary-person")
    export, code = handed_out(request)
    collected(export, code)

    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("django.db"))
    assert "memadmin.jobs.runner" in {record.name for record in caplog.records}
    assert not any(word in logged for word in ("canary-text", "canary-person", code))


def test_the_same_request_gives_the_same_data_again():
    request = ready()

    first, second = files_of(request), files_of(request)

    assert [item for item in items_of(first) if item["place"] != "erasure.requests"] == [
        item for item in items_of(second) if item["place"] != "erasure.requests"
    ]
    assert ACTOR not in first["data.json"].decode()
