"""The page of a request whose erasure has begun: progress, findings, ways on; and the receipt before it begins."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.erasure.certificates.receipts import is_about
from memadmin.erasure.execution import readers, steps
from memadmin.erasure.models import ErasureRequest, Finding, FindingKind, Outcome, Status, Verification
from memadmin.jobs import runner
from memadmin.jobs.models import Job
from memadmin.store import configuration
from memadmin.store.models import LongTermMemory
from tests.erasure.workflow import approved, discovered, opened
from tests.factories import ACTOR, a_memory, make_container, store
from tests.holds import hold
from tests.people import HTMX, a_browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


@pytest.fixture
def running() -> ErasureRequest:
    now = timezone.now()
    store(make_container(), a_memory("the secret word"), now=now)
    request = opened(now=now)
    approved(request, now=now)
    steps.begin_approved(now=now)
    request.refresh_from_db()
    return request


def page_of(browser: Client, request: ErasureRequest) -> str:
    return str(browser.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode())


def post(browser: Client, name: str, request: ErasureRequest) -> Any:
    answer = browser.post(reverse(f"pages:erasure-{name}", args=[request.uid]), follow=name == "receipt")
    request.refresh_from_db()
    return answer


def with_findings(request: ErasureRequest, kind: FindingKind = FindingKind.RESIDUE) -> None:
    manifest = request.manifests.get()
    now = timezone.now()
    look = Verification.objects.create(request=request, manifest=manifest, number=1, started_at=now, ended_at=now, outcome=Outcome.RESIDUE)
    look.findings.create(kind=kind, table="store_archived", column="payload", rows=7, sample="12345")
    ErasureRequest.objects.filter(pk=request.pk).update(state=Status.RESIDUE_FOUND)
    Job.objects.filter(kind=steps.EXECUTE).update(state="done", finished_at=now)
    request.refresh_from_db()


def test_22_progress_says_the_step_the_place_and_how_much_and_asks_again(cora: Client, running: ErasureRequest):
    places = [place.name for place in steps.places_in_order(list(running.manifests.get().lines.values_list("location", flat=True)))]
    at = {"phase": "rows", "place": places.index("store.long_term"), "item": 0, "look": None, "done": 3}
    Job.objects.filter(kind=steps.EXECUTE).update(cursor=at, done=3)

    page = page_of(cora, running)
    part = cora.get(reverse("pages:erasure-progress", args=[running.uid]), headers=HTMX).content.decode()

    for shown in (page, part):
        assert f"Step 4 of {len(steps.PHASES)}" in shown
        assert "Long-term memories" in shown
        assert 'hx-trigger="every 2s"' in shown
        assert f'data-announce="Step 4 of {len(steps.PHASES)}: rows are erased, place by place."' in shown
    assert "<html" not in part
    assert "the secret word" not in page


def test_it_says_for_whom_the_database_keeps_what_was_erased(cora: Client, running: ErasureRequest, monkeypatch: pytest.MonkeyPatch):
    since = timezone.now().replace(2026, 3, 1, 4, 0)
    monkeypatch.setattr(readers, "readers", lambda before: [readers.Reader(4711, "<b>dump</b>", since), readers.Reader(None, "", None)])
    job = Job.objects.filter(kind=steps.EXECUTE)

    job.update(cursor={"phase": "look", "horizon": None})
    before = page_of(cora, running)
    job.update(cursor={"phase": "forget", "horizon": "1234"})
    waiting = page_of(cora, running)

    assert "has been reading" not in before
    assert "Process 4711 (&lt;b&gt;dump&lt;/b&gt;) has been reading since 2026-03-01 04:00 UTC, and 1 more." in waiting
    assert "the erasure waits, and goes on by itself" in waiting


def test_when_it_has_stopped_or_ended_the_part_sends_to_the_whole_page(cora: Client, running: ErasureRequest):
    ErasureRequest.objects.filter(pk=running.pk).update(state=Status.STALLED, error_code="LedgerUnusable")
    address = reverse("pages:erasure-progress", args=[running.uid])

    assert cora.get(address, headers=HTMX).headers["HX-Redirect"] == reverse("pages:erasure-detail", args=[running.uid])
    assert cora.get(address).status_code == 302


def test_a_stalled_erasure_says_why_and_has_a_button_that_lets_it_go_on(cora: Client, running: ErasureRequest):
    Job.objects.filter(kind=steps.EXECUTE).update(state="failed", finished_at=timezone.now(), error_code="LedgerUnusable")
    ErasureRequest.objects.filter(pk=running.pk).update(state=Status.STALLED, error_code="LedgerUnusable")
    running.refresh_from_db()

    assert "LedgerUnusable" in page_of(cora, running)
    answer = post(cora, "go-on", running)

    assert (answer.status_code, running.state) == (302, Status.EXECUTING)
    assert Job.objects.get(kind=steps.EXECUTE).state == "queued"
    assert post(cora, "go-on", running).status_code == 409


def test_a_stalled_erasure_says_the_cause_in_words(cora: Client, running: ErasureRequest):
    ErasureRequest.objects.filter(pk=running.pk).update(state=Status.STALLED, error_code="LedgerUnusable")

    assert "The ledger cannot be written: its disk is full" in page_of(cora, running)


@pytest.mark.parametrize("new", [False, True])
def test_one_that_did_not_begin_since_something_changed_says_so_until_it_is_searched_again(cora: Client, new: bool):
    now = timezone.now()
    container = make_container()
    store(container, a_memory("the secret word"), now=now)
    request = opened(now=now)
    approved(request, now=now)
    if new:
        store(container, a_memory("another word"), now=now + timedelta(seconds=1))
    else:
        hold(LongTermMemory.objects.get())

    steps.begin_approved(now=now + timedelta(seconds=2))
    request.refresh_from_db()
    page = page_of(cora, request)
    discovered(request, now=now + timedelta(seconds=3))

    assert request.state == Status.REVIEW
    assert ("something was stored after the search" if new else "a hold was placed or released after the search") in page
    assert "The erasure did not begin" not in page_of(cora, request)


def test_findings_are_shown_by_place_column_and_number_without_text(cora: Client, running: ErasureRequest):
    with_findings(running)

    page = page_of(cora, running)

    for shown in ("store_archived", "payload", ">7<", "is still there", "Go on", "Back to review", "Look again"):
        assert shown in page
    assert "12345" not in page


@pytest.mark.parametrize(
    ("verb", "state"), [("look-again", Status.VERIFYING), ("back-to-review", Status.DISCOVERING), ("go-on", Status.RESIDUE_FOUND)]
)
def test_each_way_on_from_a_residue_has_its_button(cora: Client, running: ErasureRequest, verb: str, state: Status):
    with_findings(running)

    assert post(cora, verb, running).status_code == 302
    assert running.state == state
    assert "hx-trigger" in page_of(cora, running)


def test_the_emergency_stop_is_seen_on_the_request_and_keeps_it_from_going_on(cora: Client, running: ErasureRequest):
    with_findings(running)
    configuration.change("erasure_paused", True, actor=ACTOR, now=timezone.now())

    assert "All erasures are stopped" in page_of(cora, running)
    assert post(cora, "look-again", running).status_code == 409
    assert running.state == Status.RESIDUE_FOUND


def test_what_stands_in_a_table_that_nobody_described_says_that_no_erasure_reaches_it(cora: Client, running: ErasureRequest):
    with_findings(running)
    assert "no erasure reaches it" not in page_of(cora, running)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE old_notes (body text)")
    Finding.objects.update(table="old_notes", column="body")

    page = page_of(cora, running)

    assert "<code>old_notes</code> is no table of memadmin's" in page
    assert "then look again" in page


def test_an_erasure_under_way_that_is_stopped_says_when_it_goes_on_and_not_that_it_failed(cora: Client, running: ErasureRequest):
    job = Job.objects.get(kind=steps.EXECUTE)
    configuration.change("erasure_paused", True, actor=ACTOR, now=timezone.now())
    runner.run_stretch(job.pk)

    page = page_of(cora, running)

    assert "it goes on from here by itself, within about a minute" in page
    assert "failed with" not in page


def test_auditors_and_approvers_follow_it_and_change_nothing(running: ErasureRequest):
    with_findings(running)
    for role in (Role.AUDITOR, Role.ADMINISTRATOR):
        browser = a_browser_of(role, login=role.value)
        assert "Back to review</button>" not in page_of(browser, running)
        for verb in ("go-on", "look-again", "back-to-review", "receipt"):
            assert post(browser, verb, running).status_code == 403


def test_a_receipt_is_shown_once_and_proves_whom_the_request_is_about(cora: Client):
    store(make_container(), a_memory(user_id="ann"), now=timezone.now())
    request = opened(now=timezone.now())
    assert "receipt" in page_of(cora, request)

    answer = post(cora, "receipt", request)
    receipt = re.search(r'id="receipt">([0-9a-f]{32})<', answer.content.decode())

    assert answer.headers["Cache-Control"] == "private, no-store"
    assert receipt is not None
    assert is_about(list(request.commitments.values_list("value", flat=True)), receipt[1], "ann")
    assert receipt[1] not in page_of(cora, request)


def test_a_new_receipt_voids_the_one_before_and_after_the_beginning_there_is_none(cora: Client, running: ErasureRequest):
    ErasureRequest.objects.filter(pk=running.pk).update(state=Status.AWAITING_APPROVAL, attempt=0)
    assert post(cora, "receipt", running).status_code == 200
    first = running.commitments.get().value
    assert post(cora, "receipt", running).status_code == 200
    assert running.commitments.get().value != first
    ErasureRequest.objects.filter(pk=running.pk).update(state=Status.EXECUTING, attempt=1)

    answer = post(cora, "receipt", running)

    assert answer.status_code == 409
    assert "before the erasure begins" in answer.content.decode()
