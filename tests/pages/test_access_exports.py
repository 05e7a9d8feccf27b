"""The pages of exports for people: for the officer who makes one, and for the person who takes it."""

import io
import re
import zipfile
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.erasure import discovery
from memadmin.erasure.models import AccessExport, ErasureRequest, ExportState, Kind, Manifest, Status
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.logs import logged_path
from memadmin.store import configuration
from tests.erasure.workflow import opened
from tests.factories import ACTOR, a_memory, a_message, a_session, days, make_container, store
from tests.people import PASSWORD, a_browser_of, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def in_review(browser: Client, kind: Kind = Kind.ACCESS) -> ErasureRequest:
    now = timezone.now()
    store(make_container(), a_session(), a_message("hello"), a_memory("canary likes tea"), now=now)
    request = opened(kind=kind, now=now)
    assert browser.post(reverse("pages:erasure-discover", args=[request.uid])).status_code == 302
    run_inline(Job.objects.get(target=discovery.job_target(Manifest.objects.latest("pk"))))
    request.refresh_from_db()
    return request


def do(browser: Client, name: str, request: ErasureRequest, **body: Any) -> Any:
    return browser.post(reverse(f"pages:erasure-{name}", args=[request.uid]), body)


def link_for(browser: Client, request: ErasureRequest) -> Any:
    """Make the link, and return the page that shows it once."""
    return browser.post(reverse("pages:erasure-export-link", args=[request.uid]), follow=True)


def code_on(page: Any) -> str:
    return re.findall(r'data-copy="((?:[A-Z2-7]{4}-){7}[A-Z2-7]{4})"', page.content.decode())[0]


def make(browser: Client, request: ErasureRequest) -> AccessExport:
    assert do(browser, "export-make", request).status_code == 302
    export = AccessExport.objects.latest("pk")
    run_inline(Job.objects.get(target=str(export)))
    export.refresh_from_db()
    return export


def words(browser: Client, request: ErasureRequest) -> str:
    return browser.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()


def linked(browser: Client, request: ErasureRequest) -> tuple[AccessExport, str]:
    export = make(browser, request)
    answer = link_for(browser, request)
    assert answer.status_code == 200
    return export, code_on(answer)


def take(export: AccessExport, code: str, *, client: Client | None = None) -> Any:
    return (client or Client()).post(reverse("pages:access-export-collect", args=[export.uid]), {"code": code})


def test_an_officer_makes_an_export_hands_out_its_link_and_answers(cora: Client):
    request = in_review(cora)
    assert "Make the export" in words(cora, request)
    make(cora, request)
    page = words(cora, request)
    assert "Make the link and show it once" in page
    assert "Long-term memories" in page

    link = link_for(cora, request)
    shown = link.content.decode()
    answer = do(cora, "answer", request, code="done", letter="Your link came by mail.")

    assert f"#{code_on(link)}" in shown
    assert link.headers["Cache-Control"] == "private, no-store"
    assert code_on(link) not in words(cora, request)
    request.refresh_from_db()
    assert (answer.status_code, request.state) == (302, Status.COMPLETED)


def test_an_access_request_is_not_done_before_an_export_was_handed_out(cora: Client):
    request = in_review(cora)

    answer = do(cora, "answer", request, code="done", letter="Here.")

    assert answer.status_code == 422
    assert "hand out its link first" in answer.content.decode()


def test_a_link_that_was_made_is_not_made_again(cora: Client):
    request = in_review(cora)
    linked(cora, request)

    answer = link_for(cora, request)

    assert answer.status_code == 409
    assert "make the export again" in answer.content.decode()


def test_before_an_erasure_the_person_can_be_given_a_copy(cora: Client):
    request = in_review(cora, Kind.SUBJECT)
    assert "a copy before everything is erased" in words(cora, request)

    export, code = linked(cora, request)

    assert take(export, code).status_code == 200


def test_calling_it_off_closes_the_link(cora: Client):
    request = in_review(cora)
    export, code = linked(cora, request)

    assert do(cora, "export-withdraw", request).status_code == 302

    assert take(export, code).status_code == 410
    assert "withdrawn" in words(cora, request)


def test_the_person_takes_the_file_once_without_an_account(cora: Client):
    export, code = linked(cora, in_review(cora))
    address = reverse("pages:access-export", args=[export.uid])
    for _ in range(3):  # programs that look at links in mails
        assert Client().get(address).status_code == 200
        assert Client().head(address).status_code == 200

    answer = take(export, code)

    archive = b"".join(answer.streaming_content)
    with zipfile.ZipFile(io.BytesIO(archive)) as opened_archive:
        assert b"canary likes tea" in opened_archive.read("data.json")
    assert answer.headers["Content-Type"] == "application/zip"
    again = take(export, code)
    assert (again.status_code, Client().get(address).status_code) == (410, 410)
    assert "they can make it again" in again.content.decode()


def test_the_answers_of_the_link_stay_nowhere(cora: Client):
    export, code = linked(cora, in_review(cora))

    for answer in (Client().get(reverse("pages:access-export", args=[export.uid])), take(export, "WRONG"), take(export, code)):
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert answer.headers["X-Robots-Tag"] == "noindex"


def test_a_wrong_code_is_told_so_and_a_row_of_them_has_to_wait(cora: Client):
    export, code = linked(cora, in_review(cora))

    answers = [take(export, "WRONG").status_code for _ in range(11)]

    assert answers == [422] * 10 + [429]
    assert take(export, code).headers["Retry-After"] == "900"
    export.refresh_from_db()
    assert export.state == ExportState.HANDED_OUT


def test_a_link_of_nothing_answers_as_one_that_is_over(cora: Client):
    unknown = AccessExport().uid

    assert Client().get(reverse("pages:access-export", args=[unknown])).status_code == 410
    assert Client().post(reverse("pages:access-export-collect", args=[unknown]), {"code": "x"}).status_code == 422


def test_the_link_is_of_the_address_by_which_others_reach_this_installation(cora: Client, settings: Any):
    request = in_review(cora)
    make(cora, request)
    settings.PUBLIC_URL = "https://memory.example.org"

    page = link_for(cora, request).content.decode()

    assert f"https://memory.example.org{reverse('pages:access-export', args=[AccessExport.objects.get().uid])}#" in page
    assert "http://testserver" not in page


def test_the_code_is_in_no_address(cora: Client):
    export, code = linked(cora, in_review(cora))
    answer = take(export, code)

    assert code not in answer.request["PATH_INFO"] + answer.request["QUERY_STRING"]
    assert code not in logged_path(answer.request["PATH_INFO"])


def test_54_55_who_may_not_review_makes_and_sees_no_link(cora: Client):
    request = in_review(cora)
    names = ("export-make", "export-link", "export-withdraw")
    auditor, elsewhere = Client(), Client()
    auditor.force_login(make_person(Role.AUDITOR, login="ada"))
    elsewhere.force_login(make_person(Role.COMPLIANCE, login="else", containers=[make_container("other")]))
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(Person.objects.get(login="cora"))

    assert [do(auditor, name, request).status_code for name in names] == [403] * 3
    assert [do(elsewhere, name, request).status_code for name in names] == [404] * 3
    assert [do(strict, name, request).status_code for name in names] == [403] * 3
    assert [cora.get(reverse(f"pages:erasure-{name}", args=[request.uid])).status_code for name in names] == [405] * 3
    assert not AccessExport.objects.exists()


def test_an_expired_link_says_what_to_do(cora: Client, monkeypatch: pytest.MonkeyPatch):
    configuration.change("access_export_days", 1, actor=ACTOR, now=timezone.now())
    export, code = linked(cora, in_review(cora))
    AccessExport.objects.filter(pk=export.pk).update(expires_at=timezone.now() - days(1))

    answer = take(export, code)

    assert answer.status_code == 410
    assert "Ask those who sent you the link" in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_link_fills_in_its_code_and_leaves_the_address(page: Page, cora: Client):
    export, code = linked(cora, in_review(cora))

    page.goto(f"{reverse('pages:access-export', args=[export.uid])}#{code}")

    assert page.input_value("[name=code]") == code
    assert code not in page.url
    with page.expect_download() as download:
        page.click("text=Take the export")
    assert download.value.suggested_filename.endswith(".zip")
    assert PASSWORD not in page.content()


@pytest.mark.django_db(transaction=True)
def test_who_has_taken_the_file_is_told_so_and_a_double_click_takes_it_once(page: Page, cora: Client):
    export, code = linked(cora, in_review(cora))
    page.goto(f"{reverse('pages:access-export', args=[export.uid])}#{code}")

    with page.expect_download() as download:
        page.get_by_role("button", name="Take the export").dblclick()

    assert download.value.path().stat().st_size > 1_000
    expect(page.get_by_text("The download has begun")).to_be_visible()
    expect(page.get_by_role("button", name="Take the export")).to_be_disabled()
