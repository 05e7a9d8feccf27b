"""What the page of a request says, to whom, and how it follows what goes on."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.erasure import discovery, workflow
from memadmin.erasure.models import ErasureRequest
from memadmin.erasure.models.manifests import LocationAnswer
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store import configuration, locations
from memadmin.store.models import LongTermMemory
from tests.erasure.on_pages import do, look, taken_in
from tests.erasure.workflow import approved, officer, opened, submitted
from tests.factories import ACTOR, a_memory, make_container, store
from tests.people import HTMX, a_browser_of, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def test_a_page_that_waits_for_a_search_is_left_alone_until_it_has_ended(cora: Client):
    store(make_container(), a_memory())
    request = taken_in(cora)
    do(cora, "discover", request)
    page = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()
    address = reverse("pages:erasure-progress", args=[request.uid]) + "?shows=" + page.partition("?shows=")[2].partition('"')[0]

    waiting = cora.get(address, headers=HTMX)
    run_inline(Job.objects.get(kind=discovery.DISCOVER))
    ended = cora.get(address, headers=HTMX)

    assert 'hx-target="body"' not in page
    assert (waiting.status_code, waiting.content) == (204, b"")
    assert ended.headers["HX-Redirect"] == reverse("pages:erasure-detail", args=[request.uid])


def test_a_duplicate_leads_to_the_request_that_it_looks_like(cora: Client):
    store(make_container(), a_memory())
    first, second = taken_in(cora, identity="2"), taken_in(cora)

    page = cora.get(reverse("pages:erasure-detail", args=[second.uid])).content.decode()

    assert f'<a href="{reverse("pages:erasure-detail", args=[first.uid])}">request {first.number}</a>' in page


def test_what_was_done_is_told_in_words_and_leads_to_the_log(cora: Client):
    store(make_container(), a_memory())
    request = taken_in(cora)
    do(cora, "refuse", request, code="unfounded", letter="No.")

    page = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    assert "<code>erasure.opened</code>" not in page
    assert "A request of a person" in page
    assert "Manifestly unfounded" in page
    assert reverse("pages:audit-list") + f"?target=erasure%2F{request.uid}" in page


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.ADMINISTRATOR])
def test_who_cannot_review_is_told_whom_a_request_waits_for_and_is_offered_nothing(cora: Client, role: Role):
    store(make_container(), a_memory())
    request = taken_in(cora, aliases="Rosa Delgado")

    page = a_browser_of(role, login="other").get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    assert "Waits for somebody who reviews requests" in page
    assert 'type="checkbox"' not in page
    assert ("Rosa Delgado" in page) is (role == Role.AUDITOR)


def test_places_that_hold_nothing_are_told_apart_and_none_is_missing(cora: Client):
    store(make_container(), a_memory())
    request = taken_in(cora)
    look(cora, request)

    context = cora.get(reverse("pages:erasure-detail", args=[request.uid])).context

    assert {"store.long_term", "store.subjects"} <= {place["name"] for place in context["places"]}
    assert not any(place["lines"] for place in context["empty_places"])
    assert len(context["places"]) + len(context["empty_places"]) == LocationAnswer.objects.count()


def test_what_is_said_of_places_has_no_marks_of_a_markup_language():
    assert [place.name for place in locations.in_order() if "`" in place.title + place.goes] == []


def test_while_erasures_are_stopped_the_page_of_an_approved_one_and_the_overview_say_so(cora: Client):
    now = timezone.now()
    store(make_container(), a_memory(), now=now)
    request = opened(now=now)
    approved(request, now=now)
    address = reverse("pages:erasure-detail", args=[request.uid])

    before = cora.get(address).content.decode()
    configuration.change("erasure_paused", "on", actor=ACTOR, now=now)
    after = cora.get(address).content.decode()

    assert "within a minute" in before
    assert "All erasures are stopped" not in before
    assert "All erasures are stopped" in after
    assert "within a minute" not in after
    assert "All erasures are stopped" in cora.get("/").content.decode()


def waiting_for_approval() -> ErasureRequest:
    now = timezone.now()
    store(make_container(), a_memory(), now=now)
    request = opened(now=now)  # by cora
    submitted(request, now=now, reviewer=officer("rita"))
    return request


def browser_of(person: Person) -> Client:
    browser = Client()
    browser.force_login(person)
    return browser


@pytest.mark.parametrize("login", ["cora", "rita"])
def test_who_took_a_request_in_or_reviewed_it_is_told_who_may_approve_and_is_not_offered_to(login: str):
    request = waiting_for_approval()
    officer("carl")
    make_person(Role.SUPPORT, login="sam")
    browser = browser_of(officer(login))

    page = browser.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()
    asked = browser.get(reverse("pages:erasure-approval", args=[request.uid]))

    assert "Look at it and approve" not in page
    assert "You took this request in, reviewed it" in page
    assert "Who may: <bdi>carl</bdi>." in page
    assert asked.status_code == 403
    assert 'name="digest"' not in asked.content.decode()


def test_who_has_no_right_to_approve_is_told_who_has(cora: Client):
    request = waiting_for_approval()
    officer("carl")

    page = a_browser_of(Role.AUDITOR, login="ada").get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    assert "Look at it and approve" not in page
    assert "You have no right to approve erasures" in page
    assert "Who may: <bdi>carl</bdi>." in page


def test_another_officer_is_offered_to_approve_and_one_of_other_containers_is_not_named():
    request = waiting_for_approval()
    make_person(Role.COMPLIANCE, login="elsa", containers=[make_container("other")])
    address = reverse("pages:erasure-detail", args=[request.uid])
    before = browser_of(officer("cora")).get(address).content.decode()

    carl = browser_of(officer("carl"))

    assert "Nobody else here may: it takes another person" in before
    assert "Look at it and approve" in carl.get(address).content.decode()
    assert 'name="digest"' in carl.get(reverse("pages:erasure-approval", args=[request.uid])).content.decode()


def test_a_single_operator_is_offered_to_approve(settings: Any):
    settings.ERASURE_SINGLE_OPERATOR = True
    request = waiting_for_approval()

    page = browser_of(officer("cora")).get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    assert "Look at it and approve" in page


@pytest.mark.parametrize("verb", ["refuse", "nothing-held", "answer", "send-back"])
def test_a_letter_to_a_request_that_somebody_else_has_ended_meanwhile_is_still_there_to_copy(cora: Client, verb: str):
    request = waiting_for_approval()
    workflow.cancel(request, actor=ACTOR, now=timezone.now())
    written = {"letter": "Dear <ann>", "reason": "Dear <ann>", "code": "unfounded"}

    answer = cora.post(reverse(f"pages:erasure-{verb}", args=[request.uid]), written)

    assert answer.status_code in {409, 422}
    assert "Dear &lt;ann&gt;" in answer.content.decode()


def test_the_day_of_an_extension_that_was_refused_stays_in_the_form(cora: Client):
    request = waiting_for_approval()

    answer = cora.post(reverse("pages:erasure-extend", args=[request.uid]), {"code": "number", "noticed_on": "2099-01-01"})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'name="noticed_on" value="2099-01-01"' in page
    assert "open><summary>Identity and time" in page


def test_who_corrects_is_told_before_writing_that_it_must_be_known_who_asks(cora: Client):
    store(make_container(), a_memory(), now=timezone.now())
    request = taken_in(cora, kind="rectify", identity="")
    memory = LongTermMemory.objects.get()
    pages = [reverse("pages:erasure-correct", args=[request.uid])]
    pages.append(reverse("pages:erasure-correct-item", args=[request.uid, "long-term", memory.uid]))

    def said() -> list[bool]:
        return ["Note first how it is known" in cora.get(page).content.decode() for page in pages]

    assert said() == [True, True]
    do(cora, "identity", request, level="2")
    assert said() == [False, False]
