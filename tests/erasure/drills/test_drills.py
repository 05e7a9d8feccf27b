"""Drills: a made-up person goes through the whole real workflow, and nobody else is touched."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import IntegrityError, connection

from memadmin.access.actors import actor_of as person_actor
from memadmin.audit.models import AuditEntry
from memadmin.audit.verification import verify
from memadmin.erasure import approving, deciding, intake
from memadmin.erasure.approving import SamePerson, Word
from memadmin.erasure.certificates import checking
from memadmin.erasure.certificates.issuing import file_of
from memadmin.erasure.drills import guarding, names, running, tidying
from memadmin.erasure.drills.guarding import NotADrill
from memadmin.erasure.drills.planting import CONTROLS_ONLY
from memadmin.erasure.drills.reporting import lines_of, report_of
from memadmin.erasure.drills.running import CannotDrill
from memadmin.erasure.intake import Opening
from memadmin.erasure.look_alikes import candidate_of
from memadmin.erasure.models import (
    Channel,
    Drill,
    DrillState,
    ErasureRequest,
    Ground,
    IdentityLevel,
    Kind,
    Level,
    Origin,
    Status,
)
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import configuration, locations
from memadmin.store.models import Container, LongTermMemory, Subject, Suppression
from tests.erasure.workflow import officer, opened, submitted
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store, subject_of

pytestmark = pytest.mark.django_db(transaction=True)


def drilled() -> Drill:
    """Run a drill to its end."""
    drill = running.start(actor=ACTOR, now=NOON)
    run_inline(Job.objects.get(kind=running.DRILL, target=tidying.target_of_drill(drill)), now=NOON)
    drill.refresh_from_db()
    return drill


def planted() -> tuple[Drill, ErasureRequest]:
    """Begin a drill, and stop before its search."""
    drill = running.start(actor=ACTOR, now=NOON)
    running._plant(drill, now=NOON)
    return drill, ErasureRequest.objects.get(drill=drill)


def test_a_drill_plants_everywhere_erases_everything_and_leaves_nothing_but_its_report():
    shop = make_container()
    store(shop, a_memory("real words", user_id="ann"), now=NOON - days(1))
    before = (LongTermMemory.objects.values().get(), Subject.objects.values().get(user_id="ann"))

    drill = drilled()

    report = report_of(drill)
    assert (report["failures"], drill.state) == ([], DrillState.PASSED)
    known = {place.name for place in locations.in_order() if place.table and place.app != "erasure"}
    assert {place["place"] for place in report["places"]} == known - set(CONTROLS_ONLY)
    assert all(0 < place["planted"] <= place["found"] <= place["erased"] and place["left"] == 0 for place in report["places"])
    assert (report["neighbour_same"], report["traces_after"], report["tidied"]) == (True, 0, True)
    assert report["traces_before"] > 20
    assert (LongTermMemory.objects.values().get(), Subject.objects.values().get(user_id="ann")) == before
    assert Container.objects.get() == shop
    assert not Suppression.objects.exists()
    assert verify(connection).exit_code == 0
    assert "Drill passed" in lines_of(report)[-1]


def test_its_certificate_says_that_it_is_of_a_drill_and_its_log_who_acted():
    drill = drilled()

    request = ErasureRequest.objects.get(drill=drill)
    certificate = request.certificates.get()
    document = checking.check(file_of(certificate)).document
    assert (certificate.level, document["level"], document["request"]["channel"]) == (Level.DRILL, "drill", "drill")
    approved_by = AuditEntry.objects.get(action="erasure.approved").actor
    assert (request.reviewed_by, approved_by) == (names.actor_of(drill, "reviewer"), names.actor_of(drill, "approver"))
    said = "".join(AuditEntry.objects.values_list("leaf", flat=True))
    assert names.person_of(drill) not in said
    assert {"erasure.drill_started", "erasure.drill_ended", "erasure.drill_tidied"} <= set(
        AuditEntry.objects.values_list("action", flat=True)
    )


def test_a_place_that_does_not_erase_fails_the_drill_by_name_and_nothing_stays(monkeypatch: Any):
    place = locations.get("store.archive")
    monkeypatch.setitem(locations.LOCATIONS, "store.archive", replace(place, find=lambda scope, after, limit: locations.Page([])))

    drill = drilled()

    assert drill.state == DrillState.FAILED
    assert "not_found.store.archive" in drill.failures
    assert drill.tidied
    assert not Container.objects.exists()
    assert not Subject.objects.exists()
    assert ErasureRequest.objects.get(drill=drill).state == Status.CANCELLED
    assert not ErasureRequest.objects.open().exists()


def test_one_drill_at_a_time_and_none_while_all_erasures_are_stopped():
    running.start(actor=ACTOR, now=NOON)
    with pytest.raises(CannotDrill, match="under way"):
        running.start(actor=ACTOR, now=NOON)
    Drill.objects.update(state="failed", ended_at=NOON)
    configuration.change("erasure_paused", True, actor=ACTOR, now=NOON)

    with pytest.raises(CannotDrill, match="stopped"):
        running.start(actor=ACTOR, now=NOON)


def test_a_request_of_a_drill_cannot_name_a_real_user():
    store(make_container(), a_memory(), now=NOON - days(1))
    drill, request = planted()
    ann = subject_of(Container.objects.get(name="pharmacy"), "ann")
    request.subjects.update(container=ann.container, subject_id=ann.pk, subject_uid=ann.uid, user_id="ann")

    with pytest.raises(NotADrill):
        guarding.check_only_planted(request)
    submitted_by_drill(drill, request)
    with pytest.raises(NotADrill):
        approve_as_drill(drill, request)
    request.refresh_from_db()
    assert request.state == Status.AWAITING_APPROVAL
    assert AuditEntry.objects.filter(outcome="refused", reason_code="not_a_drill").exists()


def submitted_by_drill(drill: Drill, request: ErasureRequest) -> None:
    reviewer = names.actor_of(drill, "reviewer")
    ErasureRequest.objects.filter(pk=request.pk).update(state=Status.RECEIVED)
    request.refresh_from_db()
    submitted(request)
    assert reviewer


def approve_as_drill(drill: Drill, request: ErasureRequest) -> None:
    word = Word(digest=request.manifest_digest, number=str(request.number), proved_at=NOON, method="drill")
    approving.approve(request, word, actor=names.actor_of(drill, "approver"), now=NOON)


def test_the_made_up_approver_approves_no_real_request_and_no_person_a_drill():
    store(make_container(), a_memory(), now=NOON - days(1))
    request = opened()
    submitted(request)
    drill, of_drill = planted()
    with pytest.raises((NotADrill, SamePerson)):
        approve_as_drill(drill, request)

    submitted(of_drill)
    word = Word(digest=of_drill.manifest_digest, number=str(of_drill.number), proved_at=NOON)
    with pytest.raises(NotADrill):
        approving.approve(of_drill, word, actor=person_actor(officer("carl")), now=NOON)
    request.refresh_from_db()
    assert request.state == Status.AWAITING_APPROVAL
    assert deciding.current(request).items_total


def test_what_a_person_writes_into_the_container_of_a_drill_ends_it_untouched():
    drill, _ = planted()
    store(Container.objects.get(), a_memory("a real one", user_id="ann"), now=NOON)

    run_inline(Job.objects.get(kind=running.DRILL), now=NOON)
    drill.refresh_from_db()

    assert drill.state == DrillState.FAILED
    assert LongTermMemory.objects.filter(text="a real one").exists()
    assert "leftovers" in drill.failures


def test_a_request_says_that_it_is_of_a_drill_or_is_none():
    store(make_container(), a_memory(), now=NOON - days(1))
    person = candidate_of(subject_of(Container.objects.get(), "ann"), Origin.GIVEN)
    opening = Opening(kind=Kind.SUBJECT, ground=Ground.OTHER, channel=Channel.DRILL, identity=IdentityLevel.TOKEN, ticked=[person])

    with pytest.raises(IntegrityError):
        intake.open_request(opening, actor=ACTOR, now=NOON)
