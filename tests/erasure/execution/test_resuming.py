"""Ways on for an erasure that stopped. The numbers are those of the list of attacks and faults."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from memadmin.access.actors import actor_of
from memadmin.audit import ledger
from memadmin.audit.models import AuditEntry
from memadmin.erasure import approving, deciding, discovery, workflow
from memadmin.erasure.certificates import checking
from memadmin.erasure.certificates.issuing import file_of
from memadmin.erasure.execution import resuming, steps
from memadmin.erasure.execution.resuming import NotLeft, Stopped
from memadmin.erasure.models import ErasureRequest, Finding, Status
from memadmin.erasure.moves import WrongState
from memadmin.erasure.planting import Planted, plant_person
from memadmin.jobs import reconcile
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import configuration, locations
from memadmin.store.locations import Act
from memadmin.store.models import Archived, Container, LongTermMemory, Subject, Suppression
from tests.erasure.executing import CANARY, execute, go_through, newest, with_a_residue
from tests.erasure.workflow import a_word, approved, officer, opened
from tests.factories import ACTOR, NOON, days, make_container, make_memory, subject_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def container() -> Container:
    return make_container()


@pytest.fixture
def person(container: Container) -> Planted:
    return plant_person(container, CANARY, actor=ACTOR, now=NOON)


def go_on(request: ErasureRequest) -> ErasureRequest:
    resuming.go_on(request, actor=actor_of(officer()), now=NOON)
    return go_through(request)


@pytest.mark.parametrize("killed", ["ledger", "fence"])
def test_1_killed_behind_the_line_of_the_ledger_and_before_the_fence_the_sweep_goes_on_with_it_and_the_line_stands_once(
    container: Container, person: Planted, monkeypatch: Any, killed: str
):
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    job, does = Job.objects.get(kind=steps.EXECUTE), steps._STEPS[killed]

    def dies(*at: Any) -> None:
        if killed == "ledger":
            does(*at)  # the line is on the disk, and nobody has saved that it is
        raise KeyboardInterrupt

    with monkeypatch.context() as killing:
        killing.setitem(steps._STEPS, killed, dies)
        with pytest.raises(KeyboardInterrupt):
            run_inline(job, now=NOON)
    request.refresh_from_db()
    left = (request.state, Suppression.objects.count(), Subject.objects.get(pk=person.subject.pk).suppressed)
    assert (left, [line.kind for line in ledger.lines()]) == ((Status.EXECUTING, 0, ""), ["intent"])

    later = NOON + timedelta(minutes=6)
    reconcile.reconcile(now=later)
    go_through(request, now=later)

    assert request.state == Status.COMPLETED
    assert [line.kind for line in ledger.lines()] == ["intent", "completed"]
    planned = request.manifests.get().items_total
    done = sum(sum(each) for each in request.outcomes.values_list("erased", "redacted", "rederived", "withheld"))
    assert (planned, request.attempt) == (done, 1)


def test_94_what_was_left_is_erased_without_asking_again_and_the_certificate_has_both_looks(
    container: Container, person: Planted, monkeypatch: Any
):
    make_memory(container, "likes tea", user_id="bob")
    request = with_a_residue(monkeypatch)
    assert Archived.objects.exists()

    go_on(request)

    assert request.state == Status.COMPLETED
    assert not Archived.objects.exists()
    assert not Subject.objects.filter(pk=person.subject.pk).exists()
    assert subject_of(container, "bob").long_term == 1
    checked = checking.check(file_of(request.certificates.get()))
    assert checked.faults == []
    assert [look["outcome"] for look in checked.document["verification"]["looks"]] == ["residue", "clean"]
    assert request.manifests.count() == 2
    assert len([line for line in ledger.lines() if line.kind == "intent"]) == 2


def test_what_nobody_approved_sends_the_rest_to_review(container: Container, person: Planted, monkeypatch: Any):
    request = with_a_residue(monkeypatch)
    Archived.objects.update(uid=uuid4())  # under this name nobody has seen it

    go_on(request)

    assert (request.state, request.manifest_digest) == (Status.REVIEW, "")
    assert Archived.objects.exists()
    assert AuditEntry.objects.filter(action="erasure.returned", reason_code="residue_not_approved").exists()


def test_back_in_review_it_is_approved_anew_and_completed(container: Container, person: Planted, monkeypatch: Any):
    request = with_a_residue(monkeypatch)

    resuming.back_to_review(request, actor=actor_of(officer()), now=NOON)
    go_through(request)
    assert request.state == Status.REVIEW
    deciding.submit(request, actor=actor_of(officer()), now=NOON)
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)
    execute(request)

    assert request.state == Status.COMPLETED
    assert [bool(each.used_at) for each in request.approvals.order_by("pk")] == [True, True]
    assert checking.check(file_of(request.certificates.get())).faults == []


def test_after_a_residue_it_is_neither_withdrawn_nor_refused_nor_called_empty(container: Container, person: Planted, monkeypatch: Any):
    request, actor = with_a_residue(monkeypatch), actor_of(officer())
    resuming.back_to_review(request, actor=actor, now=NOON)
    go_through(request)

    for verb in (
        lambda: workflow.cancel(request, actor=actor, now=NOON),
        lambda: workflow.refuse(request, "unfounded", letter="No", actor=actor, now=NOON),
        lambda: workflow.end_as_nothing_held(request, letter="Nothing", actor=actor, now=NOON),
    ):
        with pytest.raises(WrongState, match="has begun"):
            verb()
    request.refresh_from_db()
    assert request.state == Status.REVIEW


def test_what_was_withheld_stays_withheld_and_is_counted_once(container: Container, person: Planted, monkeypatch: Any):
    kept = make_memory(container, "kept for the court", user_id=CANARY)
    request = opened(CANARY)
    approved_but_for(request, kept)
    with monkeypatch.context() as lying:
        sessions = locations.get("store.sessions")
        lying.setitem(locations.LOCATIONS, sessions.name, replace(sessions, delete_listed=lambda listed: listed.length))
        execute(request)
    assert request.state == Status.RESIDUE_FOUND

    go_on(request)

    assert (request.state, request.outcome_code) == (Status.COMPLETED, "partly")
    assert list(LongTermMemory.objects.filter(subject=person.subject)) == [kept]
    assert request.outcomes.get(location="store.long_term").withheld == 1


def approved_but_for(request: ErasureRequest, memory: LongTermMemory) -> None:
    discovery.start(request, actor=actor_of(officer()), now=NOON)
    go_through(request)
    item = newest(request).items.get(location="store.long_term", row_uid=memory.uid)
    verdict = deciding.Verdict(act=Act.WITHHOLD, code="art_17_3_e", review_on=NOON.date() + days(90))
    deciding.decide(request, [item.pk], verdict, actor=actor_of(officer()), now=NOON)
    deciding.submit(request, actor=actor_of(officer()), now=NOON)
    approving.approve(request, a_word(request), actor=actor_of(officer("carl")), now=NOON)


def test_what_was_mended_outside_only_needs_another_look(container: Container, person: Planted, monkeypatch: Any):
    request = with_a_residue(monkeypatch)
    Archived.objects.all()._raw_delete("default")

    resuming.look_again(request, actor=actor_of(officer()), now=NOON)
    assert request.state == Status.VERIFYING
    go_through(request)

    assert request.state == Status.COMPLETED
    assert request.verifications.count() == 2


@pytest.mark.parametrize(("kind", "words"), [("blind", "control was not seen"), ("missing", "has gone")])
def test_nothing_more_is_erased_where_that_would_not_help(container: Container, person: Planted, monkeypatch: Any, kind: str, words: str):
    request = with_a_residue(monkeypatch)
    Finding.objects.update(kind=kind)

    with pytest.raises(NotLeft, match=words):
        resuming.go_on(request, actor=actor_of(officer()), now=NOON)
    assert request.manifests.count() == 1


def test_the_rest_is_looked_for_once_at_a_time_and_a_failed_search_changes_nothing(container: Container, person: Planted, monkeypatch: Any):
    request = with_a_residue(monkeypatch)
    resuming.go_on(request, actor=actor_of(officer()), now=NOON)

    for verb in (resuming.go_on, resuming.look_again, resuming.back_to_review):
        with pytest.raises(WrongState, match="this moment"):
            verb(request, actor=actor_of(officer()), now=NOON)
    with monkeypatch.context() as broken:
        broken.setattr("memadmin.erasure.closure.begin", lambda *_: 1 / 0)
        job = Job.objects.filter(kind="erasure.discover").latest("pk")
        for _ in range(job.max_attempts):
            with pytest.raises(ZeroDivisionError):
                run_inline(job, now=NOON)
    request.refresh_from_db()

    assert (request.state, request.manifests.count()) == (Status.RESIDUE_FOUND, 1)
    assert go_on(request).state == Status.COMPLETED


@pytest.mark.parametrize("phase", ["rows", "look", "close", "end"])
def test_a_stalled_erasure_goes_on_from_where_it_was(container: Container, person: Planted, monkeypatch: Any, phase: str):
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    job = Job.objects.get(kind=steps.EXECUTE)
    with monkeypatch.context() as broken:
        broken.setitem(steps._STEPS, phase, lambda *_: 1 / 0)
        for _ in range(job.max_attempts):
            with pytest.raises(ZeroDivisionError):
                run_inline(job, now=NOON)
    request.refresh_from_db()
    assert (request.state, request.error_code) == (Status.STALLED, "ZeroDivisionError")

    go_on(request)

    assert (request.state, request.error_code) == (Status.COMPLETED, "")
    assert request.certificates.count() == 1
    assert json.loads(request.certificates.get().document)["verification"]["looks"][-1]["outcome"] == "clean"


def test_a_ledger_that_fails_after_the_signature_makes_no_second_certificate(container: Container, person: Planted, monkeypatch: Any):
    request = opened(CANARY)
    approved(request)
    steps.begin_approved(now=NOON)
    job, real = Job.objects.get(kind=steps.EXECUTE), ledger.write
    with monkeypatch.context() as broken:
        broken.setattr(ledger, "write", lambda kind, **facts: real(kind, **facts) if kind == "intent" else 1 / 0)
        for _ in range(job.max_attempts):
            with pytest.raises(ZeroDivisionError):
                run_inline(job, now=NOON)
    request.refresh_from_db()
    assert (request.state, request.certificates.count()) == (Status.STALLED, 1)

    resuming.go_on(request, actor=actor_of(officer()), now=NOON + days(1))
    go_through(request, now=NOON + days(1))

    assert (request.state, request.certificates.count()) == (Status.COMPLETED, 1)


def test_while_all_erasures_are_stopped_none_goes_on(container: Container, person: Planted, monkeypatch: Any):
    request = with_a_residue(monkeypatch)
    configuration.change("erasure_paused", True, actor=ACTOR, now=NOON)

    for verb in (resuming.go_on, resuming.look_again):
        with pytest.raises(Stopped):
            verb(request, actor=actor_of(officer()), now=NOON)
    assert AuditEntry.objects.filter(outcome="refused", reason_code="stopped").count() == 2


def test_an_erasure_that_runs_or_has_ended_has_no_way_on(container: Container, person: Planted):
    request = opened(CANARY)
    for verb in (resuming.go_on, resuming.look_again, resuming.back_to_review):
        with pytest.raises(WrongState):
            verb(request, actor=actor_of(officer()), now=NOON)
    approved(request)
    execute(request)
    for verb in (resuming.go_on, resuming.look_again, resuming.back_to_review):
        with pytest.raises(WrongState):
            verb(request, actor=actor_of(officer()), now=NOON)
    assert request.state == Status.COMPLETED
