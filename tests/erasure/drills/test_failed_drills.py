"""A drill that failed leaves nothing either, wherever it stopped: no row, no paper, no word beside the log, no byte."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from memadmin.audit.models import AuditEntry, AuditPayload
from memadmin.audit.verification import verify
from memadmin.erasure import deciding, discovery
from memadmin.erasure.drills import checking, names, running, tidying
from memadmin.erasure.execution import steps
from memadmin.erasure.models import Drill, DrillState, ErasureRequest, Line, ManifestItem, RequestSubject, Status
from memadmin.erasure.verification.schema import tables
from memadmin.jobs.models import Job
from memadmin.store import locations
from memadmin.store.models import Container, Suppression
from tests.erasure.drills.test_drills import drilled, planted
from tests.erasure.execution.test_execution import everything
from tests.factories import NOON

pytestmark = pytest.mark.django_db(transaction=True)


def rows_that_say(*words: str) -> list[str]:
    """Return which tables have one of these words in any column."""
    found = []
    for table in tables():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table.name)}")
            if any(word in repr(row) for row in cursor.fetchall() for word in words):
                found.append(table.name)
    return found


def assert_nothing_is_left(drill: Drill) -> None:
    words = (names.person_of(drill), names.canary_of(drill))
    assert rows_that_say(*words) == []
    assert not any(word.encode() in everything() for word in words)
    assert checking.traces(drill) == 0
    assert (Container.objects.count(), Suppression.objects.count(), drill.tidied) == (0, 0, True)
    assert not ManifestItem.objects.exists()
    assert not Line.objects.exclude(sample=[]).exists()
    assert not RequestSubject.objects.filter(user_id__isnull=False).exists()
    assert verify(connection).exit_code == 0


def a_place_finds_nothing(monkeypatch: Any) -> None:
    place = locations.get("store.archive")
    monkeypatch.setitem(locations.LOCATIONS, place.name, replace(place, find=lambda scope, after, limit: locations.Page([])))


def a_place_lies_once(monkeypatch: Any) -> None:
    place, lies = locations.get("store.archive"), [True]
    monkeypatch.setitem(
        locations.LOCATIONS, place.name, replace(place, delete=lambda keys: len(keys) if lies and lies.pop() else place.delete(keys))
    )


def the_review_is_refused(monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise deciding.NotReady("no")

    monkeypatch.setattr(deciding, "submit", refuse)


def the_search_is_refused(monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise deciding.NotReady("no")

    monkeypatch.setattr(discovery, "start", refuse)


def the_execution_is_refused(monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise deciding.NotReady("no")

    monkeypatch.setattr(steps, "begin", refuse)


@pytest.mark.parametrize(
    "fault", [a_place_finds_nothing, a_place_lies_once, the_search_is_refused, the_review_is_refused, the_execution_is_refused]
)
def test_wherever_it_fails_nothing_of_it_is_left(monkeypatch: Any, fault: Any):
    with monkeypatch.context() as broken:
        fault(broken)
        drill = drilled()

    assert drill.state == DrillState.FAILED
    assert ErasureRequest.objects.get(drill=drill).state == Status.CANCELLED
    assert_nothing_is_left(drill)


def test_where_a_place_never_erases_the_report_says_that_something_was_left(monkeypatch: Any):
    monkeypatch.setitem(locations.LOCATIONS, "store.archive", replace(locations.get("store.archive"), delete=lambda keys: len(keys)))

    drill = drilled()

    assert (drill.state, drill.tidied) == (DrillState.FAILED, False)
    assert "leftovers" in drill.failures


def test_a_drill_whose_job_failed_for_good_leaves_nothing_either():
    drill, _ = planted()
    job = Job.objects.get(kind=running.DRILL, target=tidying.target_of_drill(drill))

    running.failed(job, error_code="OSError", now=NOON)

    drill.refresh_from_db()
    assert (drill.state, drill.failures) == (DrillState.FAILED, ["stopped.oserror"])
    assert_nothing_is_left(drill)


def test_the_word_beside_the_log_is_redacted_and_the_chain_says_so():
    drill, _ = planted()
    word = names.person_of(drill)
    said = AuditPayload.objects.get(body__contains=word)

    tidying.tidy(drill, actor="job/erasure.drill", now=NOON)

    assert not AuditPayload.objects.filter(body__contains=word).exists()
    redacted = AuditEntry.objects.get(action="audit.redacted")
    assert (redacted.reason_code, redacted.target) == ("drill", f"audit/{said.stream}")
    assert verify(connection).exit_code == 0


def test_a_look_for_traces_that_saw_nothing_before_either_fails_the_drill(monkeypatch: Any):
    monkeypatch.setattr(checking, "traces", lambda drill: 0)

    drill = drilled()

    assert (drill.state, drill.failures) == (DrillState.FAILED, ["traces_blind"])
