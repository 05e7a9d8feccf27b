"""The pages of compliance in every state that they can be in, by axe: in light and dark, on a desk and on a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page

from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome as Answered
from memadmin.erasure import backups, disclosures, recipients
from memadmin.erasure.backups import BackupSpec
from memadmin.erasure.drills import running, tidying
from memadmin.erasure.models import BackupKind, ErasureRequest, FindingKind, Kind, Outcome, RecipientKind, Status, Verification
from memadmin.erasure.recipients import RecipientSpec
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.models import LongTermMemory, Session
from tests.erasure.access_exports.making import asked, handed_out, made
from tests.erasure.executing import execute
from tests.erasure.workflow import approved, discovered, opened, opened_for, submitted
from tests.factories import ACTOR, a_memory, a_message, a_session, days, make_container, store, subject_of
from tests.holds import hold
from tests.pages.test_accessibility_in_browser import ELEMENTS, become, findings, open_everything

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="what a page looks like does not depend on the database: looked at on SQLite"),
]
LONG = "w" * 200 + "@\u202eexample.org"
NOW = timezone.now


@pytest.fixture
def container(db: None) -> Any:
    made_now = make_container("pharmacy" + "-" * 60)
    people = [LONG, "erased-77", "access-77", "wrong-77", "bob"]
    store(made_now, *(a_session(user_id=each) for each in people), *(a_message(f"I am {each}", user_id=each) for each in people), now=NOW())
    store(made_now, *(a_memory(f"{each} likes tea", user_id=each) for each in people), a_memory(f"knows {LONG}", user_id="bob"), now=NOW())
    return made_now


def address(name: str, *named: Any, **query: str) -> str:
    return reverse(f"pages:{name}", args=named) + "".join(f"?{key}={value}" for key, value in query.items())


def look_at(page: Page, live_server: Any, pages: list[str], *roles: Role) -> None:
    faults, seen = {}, set()
    page.emulate_media(reduced_motion="reduce")
    for role in roles:
        become(page, live_server, role)
        for number, each in enumerate(pages):
            answer = page.goto(each)
            assert role != Role.COMPLIANCE or answer is None or answer.status in (200, 410, 422), each
            open_everything(page)
            look = each, page.evaluate(ELEMENTS)
            part = "main" if number else "html"  # what stands around the page is the same on all of a role
            if look not in seen and (found := findings(page, part="html", further=part)):
                faults[f"{role} {each}"] = found
            seen.add(look)

    assert not faults, "\n".join(f"{each}: {fault}" for each, found in faults.items() for fault in found)


def of_request(found: ErasureRequest) -> list[str]:
    return [address("erasure-detail", found.uid), address("erasure-items", found.uid), address("notice-list", found.uid)]


def test_requests_from_the_intake_to_the_second_person(page: Page, live_server: Any, container: Any):
    memory, session = LongTermMemory.objects.filter(subject__user_id="bob")[0], Session.objects.filter(subject__user_id="bob")[0]
    undecided = opened(LONG, now=NOW(), aliases=("Rosa Delgado", "<b>"))
    review = opened(LONG, now=NOW())
    discovered(review, now=NOW())
    waiting = opened("erased-77", now=NOW())
    submitted(waiting, now=NOW())
    item = opened_for(memory, now=NOW())
    discovered(item, now=NOW())
    pages = ["/erasure/", "/erasure/?show=all", "/erasure/new/", address("erasure-new", item=f"sessions/{session.uid}")]
    pages += [address("erasure-new", user=str(subject_of(container, LONG).uid)), address("erasure-new", item="sessions/none")]
    pages += [each for found in (undecided, review, waiting, item) for each in of_request(found)]

    look_at(page, live_server, [*pages, address("erasure-approval", waiting.uid)], Role.COMPLIANCE)
    look_at(page, live_server, of_request(review)[:2], Role.ADMINISTRATOR, Role.AUDITOR)


def test_requests_that_are_carried_out_and_have_ended(page: Page, live_server: Any, container: Any, settings: Any, tmp_path: Any):
    settings.ERASURE_LEDGERS = [str(tmp_path / "ledger.jsonl")]
    spec = BackupSpec(kind=BackupKind.PG_DUMP, label="s3://" + "b" * 190, started_at=NOW() - days(1), expires_at=NOW() + days(30))
    backups.record(spec, actor=ACTOR, now=NOW())
    done = opened("erased-77", now=NOW())
    approved(done, now=NOW())
    execute(done, now=NOW())
    assert done.state == Status.COMPLETED
    certificate = done.certificates.get()
    ended = []
    for state in (Status.APPROVED, Status.EXECUTING, Status.STALLED, Status.RESIDUE_FOUND, Status.REFUSED):
        request = opened("wrong-77", now=NOW())
        approved(request, now=NOW())
        look = Verification.objects.create(
            request=request, manifest=request.manifests.get(), number=1, started_at=NOW(), ended_at=NOW(), outcome=Outcome.RESIDUE
        )
        look.findings.create(kind=FindingKind.RESIDUE, table="store_archived", column="payload", rows=7, sample="12345")
        ErasureRequest.objects.filter(pk=request.pk).update(state=state, error_code="LedgerUnusable", outcome_code="unfounded")
        ended.append(address("erasure-detail", request.uid))
    pages = [*of_request(done), address("certificate-detail", certificate.serial), *ended]
    pages += ["/backups/", "/suppressions/", "/returned/", "/erasure/found-again/", "/erasure/stores/"]

    look_at(page, live_server, pages, Role.COMPLIANCE)


def test_requests_that_erase_nothing_and_exports_for_people(page: Page, live_server: Any, container: Any):
    ready = asked("access-77", now=NOW())
    made(ready, now=NOW())
    given = asked("access-77", now=NOW())
    export, _ = handed_out(given, now=NOW())
    wrong = opened("wrong-77", kind=Kind.RECTIFY, now=NOW())
    discovered(wrong, now=NOW())
    restricted = opened("wrong-77", kind=Kind.RESTRICT, now=NOW())
    discovered(restricted, now=NOW())
    memory = LongTermMemory.objects.get(subject__user_id="wrong-77")
    pages = [each for found in (ready, given, wrong, restricted) for each in of_request(found)[:2]]
    pages += [address("erasure-correct", wrong.uid), address("erasure-correct-item", wrong.uid, "long-term", memory.uid)]
    pages += [address("access-export", export.uid), address("access-export", ready.uid)]

    look_at(page, live_server, pages, Role.COMPLIANCE)


SHOWN_ONCE: dict[str, Callable[[Page], None]] = {
    "receipt": lambda page: page.get_by_role("button", name="Make a receipt").click(),
    "link": lambda page: page.get_by_role("button", name="Make the link").click(),
    "found": lambda page: page.get_by_role("button", name="Look for it").click(),
    "topic": lambda page: page.get_by_role("button", name="Look for them").click(),
}


@pytest.mark.parametrize("what", SHOWN_ONCE)
def test_what_is_shown_as_an_answer_alone(page: Page, live_server: Any, container: Any, what: str):
    request = opened("erased-77", now=NOW()) if what == "receipt" else asked("access-77", now=NOW())
    if what == "link":
        made(request, now=NOW())
    become(page, live_server, Role.COMPLIANCE)
    page.emulate_media(reduced_motion="reduce")
    page.goto(address("erasure-new") if what in ("found", "topic") else address("erasure-detail", request.uid))
    open_everything(page)
    if what in ("found", "topic"):
        page.fill("#id_user_id", LONG)
        page.fill("#id_words", "tea")
    with page.expect_navigation():
        SHOWN_ONCE[what](page)

    assert findings(page, part="html") == []


def test_drills_holds_recipients_and_the_audit_log(page: Page, live_server: Any, container: Any, settings: Any, tmp_path: Any):
    settings.ERASURE_LEDGERS = [str(tmp_path / "ledger.jsonl")]
    drill = running.start(actor=ACTOR, now=NOW())
    run_inline(Job.objects.get(kind=running.DRILL, target=tidying.target_of_drill(drill)), now=NOW())
    under_way = running.start(actor=ACTOR, now=NOW())
    subject = subject_of(container, LONG)
    hold(subject)
    told, _ = recipients.register(
        RecipientSpec(name="r" * 100, kind=RecipientKind.MANUAL, contact="by mail", given="exports", containers=None),
        actor=ACTOR,
        now=NOW(),
    )
    disclosures.record(told, subject, own_id="crm-77", at=NOW(), actor=ACTOR, now=NOW())
    about = opened(LONG, now=NOW())
    with transaction.atomic():
        log.append(
            Action.ERASURE_APPROVED, actor="system/" + "l" * 80, target="audit/activity/" + "0f" * 32, at=NOW(), outcome=Answered.REFUSED
        )
    pages = ["/erasure/drills/", address("erasure-drill", drill.uid), address("erasure-drill", under_way.uid), "/holds/", "/audit/"]
    pages += [
        address("hold-new", "subjects", subject.uid),
        "/recipients/",
        "/recipients/new/",
        address("recipient-detail", told.uid),
        address("notice-list", about.uid),
        "/audit/?stream=activity",
        "/audit/?actor=nobody",
    ]
    pages += [address("container-hard-limit", container.uid), "/my-export/00000000-0000-4000-8000-000000000000/"]

    look_at(page, live_server, pages, Role.COMPLIANCE, Role.ADMINISTRATOR)
