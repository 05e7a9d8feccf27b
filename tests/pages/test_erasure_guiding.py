"""The page of a request says what it is about, what comes next and what is missing; what is refused loses nothing that was typed."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.erasure.models import AccessExport, Channel, ErasureRequest, ExportState, Kind, Status
from memadmin.erasure.models.access_exports import LIVE
from memadmin.pages.erasure import guiding
from memadmin.store import configuration
from memadmin.store.models import LongTermMemory
from tests.erasure.on_pages import do, look, signed_in
from tests.erasure.workflow import officer, opened, opened_for, submitted
from tests.factories import ACTOR, a_memory, make_container, store

pytestmark = pytest.mark.django_db
LETTER = "Dear Ann, this is a long letter."


@pytest.fixture
def cora() -> Client:
    return signed_in("cora", Role.COMPLIANCE)


@pytest.fixture
def memory() -> LongTermMemory:
    store(make_container("shop"), a_memory("likes mate"), now=timezone.now())
    return LongTermMemory.objects.get()


def page_of(browser: Client, request: ErasureRequest, name: str = "detail") -> str:
    return browser.get(reverse(f"pages:erasure-{name}", args=[request.uid])).content.decode()


def about(memory: LongTermMemory) -> ErasureRequest:
    return opened_for(memory, now=timezone.now())


def waiting(request: ErasureRequest) -> ErasureRequest:
    submitted(request, now=timezone.now(), reviewer=officer("rita"))
    request.refresh_from_db()
    return request


def test_a_request_about_single_items_says_which(cora: Client, memory: LongTermMemory):
    page = page_of(cora, about(memory))

    assert "What it is about" in page
    assert reverse("pages:memory-detail", args=[memory.uid]) in page
    assert "likes mate" in page


def test_it_says_so_when_none_of_its_items_is_there_any_more(cora: Client, memory: LongTermMemory):
    request = about(memory)
    LongTermMemory.objects.all().delete()

    page = page_of(cora, request)

    assert "1 item in all: long-term memory 1. None of them is there any more" in page


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Kind.SUBJECT, "A second person approves it as it stands"),
        (Kind.RECTIFY, "Correct what is wrong, item by item"),
        (Kind.RESTRICT, "With your answer the users that are ticked are restricted"),
        (Kind.ACCESS, "Make the export, hand out its link"),
    ],
)
def test_each_kind_says_what_comes_next_and_what_is_missing(cora: Client, memory: LongTermMemory, kind: Kind, said: str):
    request = opened(kind=kind, now=timezone.now())
    assert "Looking changes nothing" in page_of(cora, request)
    look(cora, request)
    ErasureRequest.objects.update(identity_level=None)

    page = page_of(cora, request)

    assert said in page
    assert "Note first how it is known that the request comes from the person." in page


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (ExportState.READY, "Make its link and hand it out"),
        (ExportState.HANDED_OUT, "nobody has used it yet"),
        (ExportState.COLLECTED, "The person has taken the export"),
        (ExportState.EXPIRED, "Make the export, hand out its link"),
    ],
)
def test_a_request_for_access_says_what_comes_next_by_how_far_its_export_is(memory: LongTermMemory, state: ExportState, said: str):
    request = opened(kind=Kind.ACCESS, now=timezone.now())
    ErasureRequest.objects.update(state=Status.REVIEW)
    ended = {} if state in LIVE else {"ended_at": timezone.now()}
    code = {"code_digest": "0" * 64} if state == ExportState.HANDED_OUT else {}
    AccessExport.objects.create(
        request=request, manifest_number=1, state=state, started_by=ACTOR, started_at=timezone.now(), **ended, **code
    )
    request.refresh_from_db()

    assert said in guiding.what_comes_next(request)


def test_what_the_clock_asks_for_speaks_of_no_person_who_asks(cora: Client, memory: LongTermMemory):
    request = about(memory)
    look(cora, request)
    ErasureRequest.objects.update(kind=Kind.STORAGE_LIMIT, channel=Channel.NIGHTLY, identity_level=None)

    page = page_of(cora, request)
    waiting(request)
    approval = page_of(signed_in("ali", Role.ADMINISTRATOR), request, "approval")

    assert "Nobody has asked for this but the clock" in page
    assert "Gathered at night by" in page
    for said in ("not verified", "who asks", "Letter to the person", "about this person"):
        assert said not in page
    assert "is young again" in approval
    assert "refused for" not in approval


@pytest.mark.parametrize(
    ("verb", "sent"),
    [
        ("refuse", {"code": "nonsense", "letter": LETTER}),
        ("answer", {"code": "done", "letter": LETTER}),
    ],
)
def test_a_letter_stays_where_what_it_goes_with_is_refused(cora: Client, memory: LongTermMemory, verb: str, sent: dict[str, str]):
    request = opened(kind=Kind.ACCESS, now=timezone.now())
    look(cora, request)

    page = do(cora, verb, request, **sent).content.decode()

    assert request.state == Status.REVIEW
    assert page.count(LETTER) == 1


class TestApproving:
    def test_it_says_about_whom_and_what_follows(self, memory: LongTermMemory):
        request = waiting(opened(now=timezone.now()))
        carl = signed_in("carl", Role.COMPLIANCE)

        page = page_of(carl, request, "approval")
        configuration.change("erasure_paused", True, actor=ACTOR, now=timezone.now())

        assert '<bdi class="user-id">ann</bdi>' in page
        assert "begins by itself within a minute" in page
        assert "All erasures are stopped" in page_of(carl, request, "approval")

    def test_who_may_not_see_users_approves_without_a_name(self, memory: LongTermMemory):
        request = waiting(opened(now=timezone.now()))

        page = page_of(signed_in("ali", Role.ADMINISTRATOR), request, "approval")

        assert ("A user" in page, ">ann<" in page) == (True, False)

    def test_a_single_item_is_named(self, memory: LongTermMemory):
        page = page_of(signed_in("carl", Role.COMPLIANCE), waiting(about(memory)), "approval")

        assert str(memory.uid)[:8] in page

    @pytest.mark.parametrize(("changed", "status"), [({"number": "7"}, 422), ({"digest": "0" * 64}, 422)])
    def test_what_is_refused_shows_the_form_again(self, memory: LongTermMemory, changed: dict[str, Any], status: int):
        request = waiting(opened(now=timezone.now()))
        carl = signed_in("carl", Role.COMPLIANCE)

        refused = do(carl, "approve", request, **{"number": "1", "digest": request.manifest_digest, **changed})

        assert (refused.status_code, request.state) == (status, Status.AWAITING_APPROVAL)
        assert 'id="id_number"' in refused.content.decode()
        assert do(carl, "approve", request, number="1", digest=request.manifest_digest).status_code == 302


def test_looking_for_nobody_says_what_to_type(cora: Client):
    page = cora.post(reverse("pages:erasure-find"), {"user_id": ""})

    assert (page.status_code, "Type the id by which the agent knows the person" in page.content.decode()) == (422, True)
