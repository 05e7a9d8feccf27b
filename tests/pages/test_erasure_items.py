"""What was found, one by one: filters, what it says, and decisions."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.erasure.models import Manifest
from memadmin.store import archive
from memadmin.store.archive import ArchiveNote
from memadmin.store.models import Archived, ItemType, LongTermMemory
from tests.erasure.on_pages import do, look, taken_in
from tests.factories import a_change, a_memory, a_pin, a_session, make_container, store, subject_of
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def test_items_are_decided_one_by_one(cora: Client):
    store(make_container(), a_memory(user_id="annika-77"), a_memory("about annika-77", user_id="bob"), now=timezone.now())
    request = taken_in(cora, "annika-77")
    look(cora, request)
    item = Manifest.objects.get().items.get(item_class="D")

    refused = do(cora, "decide", request, item=item.pk, act="keep")
    done = do(cora, "decide", request, item=item.pk, act="keep", code="others_rights")

    assert (refused.status_code, done.status_code) == (422, 302)
    page = cora.get(reverse("pages:erasure-items", args=[request.uid])).content.decode()
    assert '<td data-label="Why">it belongs to somebody else, whose rights weigh more</td>' in page


def test_34_what_a_mention_says_and_of_whom_is_shown_to_the_reviewer_and_to_nobody_who_may_not_read(cora: Client):
    store(make_container(), a_memory(user_id="annika-77"), a_memory("x" * 300 + " lent annika-77 a <b>bike</b>", user_id="bob"))
    request = taken_in(cora, "annika-77")
    look(cora, request)
    address = reverse("pages:erasure-items", args=[request.uid]) + "?item_class=D"

    assert "lost to them too" in cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()

    seen, closed = cora.get(address).content.decode(), a_browser_of(Role.ADMINISTRATOR, login="adam").get(address).content.decode()

    assert "lent annika-77 a &lt;b&gt;bike" in seen
    assert '<bdi class="user-id">bob</bdi>' in seen
    assert reverse("pages:memory-detail", args=[LongTermMemory.objects.get(text__contains="bike").uid]) in seen
    assert "bike" not in closed
    assert "bob" not in closed


def test_a_change_in_history_and_a_copy_in_the_archive_show_what_they_say_under_the_same_right(cora: Client):
    container = make_container()
    store(
        container,
        a_change("rides a bike", user_id="annika-77", action="UPDATE", before={"memory": "rides a <b>horse</b>"}),
        a_memory("sails a boat", user_id="annika-77"),
        now=timezone.now(),
    )
    boat = LongTermMemory.objects.filter(text="sails a boat").values().get()
    note = ArchiveNote(run_number=1, expires_at=None, now=timezone.now())
    Archived.objects.create(**archive.copies([boat], ItemType.LONG_TERM, reasons={boat["id"]: "age"}, note=note)[0])
    LongTermMemory.objects.update(text="sails")
    request = taken_in(cora, "annika-77")
    look(cora, request)
    address = reverse("pages:erasure-items", args=[request.uid])

    seen, closed = cora.get(address).content.decode(), a_browser_of(Role.ADMINISTRATOR, login="adam").get(address).content.decode()

    assert "rides a &lt;b&gt;horse&lt;/b&gt; → rides a bike" in seen
    assert "sails a boat" in seen
    subject = subject_of(container, "annika-77")
    assert reverse("pages:user-history", args=[subject.uid]) in seen
    assert reverse("pages:user-archive", args=[subject.uid]) in seen
    assert ("bike" in closed, "boat" in closed, "annika" in closed) == (False, False, False)


def test_items_are_filtered_by_place_class_and_whether_they_wait(cora: Client):
    store(make_container(), a_session(user_id="annika-77"), a_memory(user_id="annika-77"), a_memory("about annika-77", user_id="bob"))
    request = taken_in(cora, "annika-77")
    look(cora, request)

    def listed(**given: str) -> set[tuple[str, str]]:
        page = cora.get(reverse("pages:erasure-items", args=[request.uid]), given)
        return {(item.location, item.item_class) for item, _, _ in page.context["items"]}

    assert {place for place, _ in listed(place="store.long_term")} == {"store.long_term"}
    assert listed(item_class="D") == listed(waiting="on") == {("store.long_term", "D")}
    assert listed(place="nonsense", item_class="A") == {each for each in listed() if each[1] == "A"}
    assert "Sessions, with their state" in cora.get(reverse("pages:erasure-items", args=[request.uid])).content.decode()


@pytest.mark.parametrize(("kind", "code", "other"), [("access", "art_15_4", "art_17_3_b"), ("erase_subject", "art_17_3_b", "art_15_4")])
def test_the_page_offers_the_reasons_that_the_kind_of_request_knows(cora: Client, kind: str, code: str, other: str):
    store(make_container(), a_memory())
    request = taken_in(cora, kind=kind)
    look(cora, request)
    item = Manifest.objects.get().items.get(location="store.long_term")

    page = cora.get(reverse("pages:erasure-items", args=[request.uid])).content.decode()
    done = do(cora, "decide", request, item=item.pk, act="withhold", code=code, review_on="2099-01-01")

    assert f'value="{code}"' in page
    assert f'value="{other}"' not in page
    assert done.status_code == 302


@pytest.mark.parametrize(("kind", "offered"), [("access", {"withhold", "delete"}), ("restrict", None), ("rectify", None)])
def test_a_request_that_erases_nothing_does_not_speak_of_deleting(cora: Client, kind: str, offered: set[str] | None):
    store(make_container(), a_memory())
    request = taken_in(cora, kind=kind)
    look(cora, request)

    shown = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()
    items = cora.get(reverse("pages:erasure-items", args=[request.uid]))
    page = items.content.decode()

    assert "What is done" not in shown + page
    assert "Take the words out of all mentions" not in shown
    assert "answered, not approved" not in shown
    assert ({value for value, _ in items.context["acts"]} or None) == offered
    assert ('name="act"' in page) is bool(offered)


def test_pins_are_told_with_what_they_keep_who_pinned_and_why_to_the_reviewer_and_the_approver(cora: Client):
    store(make_container(), a_memory("x", pin=a_pin("asked by <b>ann</b>")), now=timezone.now())
    request = taken_in(cora)
    look(cora, request)
    memory = LongTermMemory.objects.get()
    register = reverse("pages:erasure-items", args=[request.uid]) + "?place=store.pins"

    asked = cora.get(reverse("pages:erasure-detail", args=[request.uid])).content.decode()
    seen, closed = cora.get(register).content.decode(), a_browser_of(Role.ADMINISTRATOR, login="adam").get(register).content.decode()
    do(cora, "submit", request)
    approver = a_browser_of(Role.COMPLIANCE, login="carl").get(reverse("pages:erasure-approval", args=[request.uid])).content.decode()

    assert f'<a href="{register}">1 pinned</a>' in asked
    assert "asked by &lt;b&gt;ann" in seen
    assert "asked by" not in closed
    for page in (seen, closed):
        assert reverse("pages:memory-detail", args=[memory.uid]) in page
        assert f"Keeps long-term memory {str(memory.uid)[:8]}; pinned by" in page
    assert "1 of these is pinned: somebody wanted it kept." in approver
    assert register in approver


def test_an_approver_of_what_nobody_has_pinned_is_told_nothing_of_pins(cora: Client):
    store(make_container(), a_memory(), now=timezone.now())
    request = taken_in(cora)
    look(cora, request)
    do(cora, "submit", request)

    assert (
        "pinned"
        not in a_browser_of(Role.COMPLIANCE, login="carl").get(reverse("pages:erasure-approval", args=[request.uid])).content.decode()
    )


def test_a_decision_about_all_of_a_class_is_offered_where_something_of_it_waits(cora: Client):
    store(make_container(), a_memory(user_id="annika-77"), a_memory("about annika-77", user_id="bob"), now=timezone.now())
    request = taken_in(cora, "annika-77")
    look(cora, request)
    detail, buttons = reverse("pages:erasure-detail", args=[request.uid]), ["Treat all mixed items", "Take the words out of all other"]

    def offered() -> list[bool]:
        page = cora.get(detail).content.decode()
        return [button in page for button in buttons]

    assert offered() == [False, True]
    request.manifests.get().items.filter(item_class="D").update(item_class="C")
    assert offered() == [True, False]
    do(cora, "accept", request, item_class="C")
    assert offered() == [False, False]
