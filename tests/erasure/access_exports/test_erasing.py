"""An export is a copy like any other: an erasure ends it, and the verification looks for it."""

from typing import Any

import pytest
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.erasure import approving, workflow
from memadmin.erasure.access_exports import collecting
from memadmin.erasure.access_exports.collecting import TooLate
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest, ExportPart, ExportState, ExportSubject, Finding, Kind, Status
from memadmin.erasure.verification.controls import blind_places
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.models import Subject
from tests.erasure.access_exports.making import STRANGER, asked, collected, handed_out, made
from tests.erasure.workflow import a_word, approved, discovered, found, officer, opened, opened_for, submitted
from tests.factories import NOON, a_memory, make_container, make_memory, store, subject_of

LOOK_ALIKE = "\u0430nn"  # its first letter is Cyrillic
pytestmark = pytest.mark.django_db(transaction=True)


def carried_out(request: ErasureRequest) -> ErasureRequest:
    steps.begin_approved(now=NOON)
    run_inline(Job.objects.get(kind=steps.EXECUTE, target__endswith=str(request.uid)), now=NOON)
    request.refresh_from_db()
    return request


def erased(request: ErasureRequest) -> ErasureRequest:
    approved(request)
    return carried_out(request)


def findings(request: ErasureRequest) -> list[Any]:
    return list(Finding.objects.filter(verification__request=request).values_list("kind", "table", "column"))


def test_the_search_finds_an_export_and_the_erasure_ends_it():
    store(make_container(), a_memory("likes tea"), a_memory("likes coffee", user_id="bob"))
    export, code = handed_out(asked())
    request = opened()

    manifest = discovered(request)
    assert found(manifest)["access_exports.copies", "E", "delete"] == 1
    erased(request)

    export.refresh_from_db()
    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    assert (export.state, export.wrapped_key) == (ExportState.ERASED, None)
    assert not ExportPart.objects.exists()
    assert not ExportSubject.objects.exists()
    with pytest.raises(TooLate):
        collecting.collect(export.uid, code, actor=STRANGER, now=NOON)


def test_a_copy_that_was_asked_for_first_does_not_send_the_approval_back_and_ends_with_the_person():
    store(make_container(), a_memory("likes tea"))
    request = opened(kind=Kind.SUBJECT)
    submitted(request)
    export, _ = handed_out(request)  # made after the list was frozen
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)

    carried_out(request)

    export.refresh_from_db()
    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    assert export.state == ExportState.ERASED
    assert not Subject.objects.exists()


def test_the_export_of_somebody_else_stays_and_is_no_residue_even_of_a_short_id():
    shop = make_container()
    store(shop, a_memory("likes tea"), *(a_memory(f"fact {number} " * 50, user_id="bob") for number in range(40)))
    export, code = handed_out(asked("bob"))

    request = erased(opened())

    assert (request.state, findings(request)) == (Status.COMPLETED, [])
    assert b"fact 39" in collected(export, code)["data.json"]


def test_an_export_of_somebody_whose_item_loses_the_persons_words_ends_too():
    shop = make_container()
    store(shop, a_memory("likes tea"), a_memory("saw ann yesterday", user_id="bob"))
    export, _ = handed_out(asked("bob"))

    erased(opened())

    export.refresh_from_db()
    assert export.state == ExportState.ERASED


def test_where_one_memory_is_erased_the_export_that_has_it_ends_whole():
    shop = make_container()
    memory = make_memory(shop)
    store(shop, a_memory("likes coffee"))
    export = made(asked())

    request = erased(opened_for(memory))

    export.refresh_from_db()
    assert (request.state, export.state) == (Status.COMPLETED, ExportState.ERASED)
    assert subject_of(shop).long_term == 1


def test_an_export_that_an_erasure_has_left_is_a_residue(monkeypatch: pytest.MonkeyPatch):
    store(make_container(), a_memory("likes tea"))
    request = opened()
    submitted(request)
    made(request)
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)
    monkeypatch.setattr(steps.ending, "erase_with", lambda *_, **__: 0)

    carried_out(request)

    assert request.state == Status.RESIDUE_FOUND
    assert ("residue", "access_exports_subject", "subject_id") in findings(request)


def test_a_control_in_an_export_is_seen():
    assert [name for name in blind_places(now=timezone.now()) if name.startswith("access_exports")] == []


def test_the_papers_of_other_requests_of_an_erased_person_name_them_no_more():
    store(make_container(), a_memory("likes tea"), a_memory(user_id=LOOK_ALIKE))
    earlier = asked(note="ann called us")
    handed_out(earlier)
    workflow.answer(earlier, "done", letter="Dear ann, here it is.", actor=actor_of(officer()), now=NOON)
    of_a_look_alike = asked(LOOK_ALIKE)

    request = opened()
    request.subjects.filter(ticked=None).update(ticked=False)
    erased(request)

    earlier.refresh_from_db()
    assert (request.state, request.error_code) == (Status.COMPLETED, "")
    assert (earlier.notes.count(), earlier.purged_at) == (0, NOON)
    assert set(earlier.subjects.values_list("user_id", "ticked")) == {(None, True), (LOOK_ALIKE, False)}
    assert set(of_a_look_alike.subjects.values_list("user_id", "ticked")) == {(LOOK_ALIKE, True), (None, False)}
