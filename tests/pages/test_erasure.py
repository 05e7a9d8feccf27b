"""The pages of compliance, from taking a request in to the second person's approval."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.erasure.models import ErasureRequest, Line, Manifest, Status
from memadmin.erasure.models.manifests import LocationAnswer
from memadmin.store import locations
from memadmin.store.models import LongTermMemory, Session
from tests.erasure.on_pages import DETAILS, do, look, signed_in, taken_in
from tests.erasure.workflow import opened
from tests.factories import a_memory, a_message, a_session, make_container, store, subject_of
from tests.people import HTMX, PASSWORD, a_browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def test_a_request_goes_from_the_form_to_a_second_persons_approval(cora: Client):
    store(make_container(), a_memory(), now=timezone.now())
    request = taken_in(cora)
    look(cora, request)
    assert "What was found" in cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()
    do(cora, "submit", request)

    carl = signed_in("carl", Role.COMPLIANCE)
    page = carl.get(reverse("pages:erasure-approval", args=[request.uid])).content.decode()
    answer = do(carl, "approve", request, digest=request.manifest_digest, number=request.number)

    assert request.manifest_digest in page
    assert (answer.status_code, request.state) == (302, Status.APPROVED)


@pytest.mark.parametrize("again", ["cora@x.org", "rita@x.org", "cora+two@x.org", "rita+b@x.org"])
def test_47_requester_and_reviewer_are_told_no_under_another_account_too_and_nothing_changes(again: str):
    store(make_container(), a_memory(), now=timezone.now())
    cora, rita = signed_in("cora@x.org", Role.COMPLIANCE), signed_in("rita@x.org", Role.COMPLIANCE)
    request = taken_in(cora)
    look(cora, request)
    do(rita, "submit", request)
    known = {"cora@x.org": cora, "rita@x.org": rita}
    browser = known[again] if again in known else signed_in(again, Role.COMPLIANCE)

    answer = do(browser, "approve", request, digest=request.manifest_digest, number=request.number)

    assert (answer.status_code, request.state) == (403, Status.AWAITING_APPROVAL)
    assert "Somebody else approves it" in answer.content.decode()


def test_51_a_double_click_approves_once(cora: Client):
    store(make_container(), a_memory(), now=timezone.now())
    request = taken_in(cora)
    look(cora, request)
    do(cora, "submit", request)
    carl, body = signed_in("carl", Role.COMPLIANCE), {"digest": request.manifest_digest, "number": request.number}

    assert [do(carl, "approve", request, **body).status_code for _ in range(2)] == [302, 409]


def test_an_approver_who_signed_in_long_ago_gives_the_password_again(cora: Client):
    store(make_container(), a_memory(), now=timezone.now())
    request = taken_in(cora)
    look(cora, request)
    do(cora, "submit", request)
    carl = a_browser_of(Role.COMPLIANCE, login="carl")
    body = {"digest": request.manifest_digest, "number": request.number}

    assert do(carl, "approve", request, **body).status_code == 403
    assert do(carl, "approve", request, **body, password="wrong").status_code == 422
    assert do(carl, "approve", request, **body, password=PASSWORD).status_code == 302


def test_54_verbs_take_no_get_and_no_foreign_form(cora: Client):
    store(make_container(), a_memory())
    request = opened()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(Person.objects.get(login="cora"))
    for name in ("approve", "discover", "submit", "cancel", "refuse", "decide", "tick"):
        address = reverse(f"pages:erasure-{name}", args=[request.uid])
        assert cora.get(address).status_code == 405
        assert strict.post(address).status_code == 403
    request.refresh_from_db()
    assert request.state == Status.RECEIVED


def test_55_who_sees_other_containers_does_not_know_of_the_request():
    shop, other = make_container("shop"), make_container("other")
    store(shop, a_memory())
    request = opened()
    stranger = a_browser_of(Role.COMPLIANCE, login="otto", containers=[other])

    assert stranger.get(reverse("pages:erasure-detail", args=[request.uid])).status_code == 404
    assert do(stranger, "cancel", request).status_code == 404
    assert f"Request {request.number}" not in stranger.get(reverse("pages:erasure-list")).content.decode()


def test_55_an_auditor_reads_and_changes_nothing():
    store(make_container(), a_memory())
    request = opened()
    ada = a_browser_of(Role.AUDITOR, login="ada")

    assert ada.get(reverse("pages:erasure-detail", args=[request.uid])).status_code == 200
    for name in ("approve", "discover", "submit", "cancel", "refuse", "decide", "tick", "note"):
        assert do(ada, name, request).status_code == 403


def test_an_administrator_approves_by_numbers_and_sees_no_id(cora: Client):
    store(make_container(), a_memory(user_id="annika-77"))
    request = opened("annika-77")
    ali = a_browser_of(Role.ADMINISTRATOR, login="ali")

    assert "annika-77" not in ali.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()


def test_F93_look_alikes_are_shown_before_anything_is_taken_in(cora: Client):
    store(make_container(), a_memory(user_id="Alice"), a_memory(user_id="alice"), a_memory(user_id="alıce"), a_memory(user_id="bob"))

    page = cora.post(reverse("pages:erasure-find"), {"user_id": "alice"}, follow=True).content.decode()

    assert page.count("looks like it") == 2
    assert page.count(" checked>") == 1
    assert "bob" not in page


@pytest.mark.parametrize("user_id", ["a  b", "b ", "a\u200bb", "../admin", "a?b#c", '"><script>alert(1)</script>', "{{ 7*7 }}", "100%"])
def test_C02_F97_59_any_id_can_be_taken_in(cora: Client, user_id: str):
    store(make_container(), a_memory(user_id=user_id))

    request = taken_in(cora, user_id)
    page = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    assert request.subjects.get().user_id == user_id
    assert "<script>alert" not in page


@pytest.mark.parametrize("user_id", ["*", "%", "   "])
def test_F03_a_wildcard_is_refused_in_words(cora: Client, user_id: str):
    answer = cora.post(reverse("pages:erasure-find"), {"user_id": user_id})

    assert answer.status_code == 422
    assert "no wildcards" in answer.content.decode()


def test_nobody_ticked_is_refused_beside_the_form(cora: Client):
    store(make_container(), a_memory())
    subject = subject_of(LongTermMemory.objects.get().container)

    answer = cora.post(reverse("pages:erasure-open"), {**DETAILS, "user_id": "ann", "shown": str(subject.uid)})

    assert answer.status_code == 422
    assert not ErasureRequest.objects.exists()


def test_one_memory_is_taken_in_by_its_name(cora: Client):
    store(make_container(), a_memory())
    name = f"long-term/{LongTermMemory.objects.get().uid}"

    answer = cora.post(reverse("pages:erasure-open"), {**DETAILS, "kind": "erase_memory", "item": name})
    wrong = cora.post(reverse("pages:erasure-open"), {**DETAILS, "kind": "erase_session", "item": name})

    assert (answer.status_code, wrong.status_code) == (302, 422)
    assert cora.get(reverse("pages:erasure-new"), {"item": name}).status_code == 200


def test_the_inbox_shows_what_is_late_first_and_its_part_to_htmx(cora: Client):
    store(make_container(), a_memory(), a_memory(user_id="bob"))
    opened(), opened("bob", now=timezone.now())

    page = cora.get(reverse("pages:erasure-list")).content.decode()
    part = cora.get(reverse("pages:erasure-list"), {"show": "late"}, headers=HTMX).content.decode()

    assert "past its date" in page
    assert page.index("Request 1") < page.index("Request 2")
    assert "Request 1" in part
    assert "Request 2" not in part
    assert "<html" not in part


def test_a_person_with_very_much_opens_with_at_most_12_queries(cora: Client, django_assert_max_num_queries: Any):
    store(make_container(), a_memory())
    request = opened()
    ErasureRequest.objects.filter(pk=request.pk).update(state="review", manifest_number=1)
    manifest = Manifest.objects.create(
        request=request, number=1, digest="open", cutoff_at=timezone.now(), completed_at=timezone.now(), items_total=600_000
    )
    LocationAnswer.objects.bulk_create(LocationAnswer(manifest=manifest, location=name, answer="found") for name in locations.LOCATIONS)
    Line.objects.create(manifest=manifest, location="store.history", item_class="A", act="delete", items=500_000, size=1)

    with django_assert_max_num_queries(12):
        page = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    assert "500,000" in page


def test_an_id_that_is_looked_for_stands_in_no_address(cora: Client):
    store(make_container(), a_memory(user_id="annika-77"))
    subject = subject_of(LongTermMemory.objects.get().container, "annika-77")

    found = cora.post(reverse("pages:erasure-find"), {"user_id": "annika-77"}, follow=True).content.decode()
    linked = cora.get(reverse("pages:erasure-new"), {"user": str(subject.uid)}).content.decode()

    assert "exactly this id" in found
    assert "exactly this id" in linked
    assert cora.get(reverse("pages:erasure-find")).status_code == 405


def test_pages_lead_to_the_intake_only_who_has_the_right(cora: Client):
    container = make_container()
    store(container, a_memory(), a_session(), a_message())
    memory, session, subject = LongTermMemory.objects.get(), Session.objects.get(), subject_of(container)
    pages = [
        reverse("pages:memory-detail", args=[memory.uid]),
        reverse("pages:session-detail", args=[session.uid]),
        reverse("pages:user-memories", args=[subject.uid]),
    ]
    sam = a_browser_of(Role.SUPPORT)

    assert [cora.get(page).content.decode().count("Erase on request") > 0 for page in pages] == [True] * 3
    assert [sam.get(page).content.decode().count("Erase on request") for page in pages] == [0] * 3


def test_an_item_that_has_gone_is_told_in_words(cora: Client):
    make_container()
    name = "sessions/00000000-0000-0000-0000-000000000000"

    answer = cora.get(reverse("pages:erasure-new"), {"item": name})

    assert answer.status_code == 422
    assert "There is no session" in answer.content.decode()


def test_the_users_can_be_restricted_on_receipt(cora: Client):
    store(make_container(), a_memory())

    taken_in(cora, freeze="on")

    assert LongTermMemory.objects.get().restricted
