"""The page of a container's hard limit."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memadmin.access.roles import Role
from memadmin.erasure import gathering
from memadmin.store.intake import IncomingArchived, IncomingMemory
from memadmin.store.models import Archived, Container
from tests.factories import a_memory, a_pin, make_container, make_memory, make_session, store
from tests.people import HTMX, a_browser_of, support

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def address(container: Container, verb: str = "") -> str:
    return reverse(f"pages:container-hard-limit{verb}", args=[container.uid])


def test_a_compliance_officer_sets_and_takes_back_the_limit(cora: Client):
    container = make_container()

    answer = cora.post(address(container, "-set"), {"limit": "days", "days": "400"})

    assert answer.status_code == 302
    assert Container.objects.get().hard_limit_days == 400
    cora.post(address(container, "-set"), {"limit": "none", "days": "400"})
    assert Container.objects.get().hard_limit_days is None


@pytest.mark.parametrize("days", ["", "0", "-1", "1.5", "1e9", "40000", "x"])
def test_what_is_no_number_of_days_is_said_beside_the_field_and_changes_nothing(cora: Client, days: str):
    container = make_container(hard_limit_days=7)

    answer = cora.post(address(container, "-set"), {"limit": "days", "days": days})

    assert answer.status_code == 422
    assert "is-invalid" in answer.content.decode()
    assert Container.objects.get().hard_limit_days == 7


def test_it_shows_what_is_past_the_limit_the_pinned_ones_and_the_request(cora: Client):
    container = make_container(hard_limit_days=30)
    store(container, a_memory("old and pinned", days_old=4_000, pin=a_pin()), a_memory("old", days_old=4_000))
    request = gathering.gather(container, now=timezone.now())

    page = cora.get(address(container)).content.decode()
    pinned = cora.get(address(container), {"type": "long-term", "pinned": "yes"}, headers=HTMX).content.decode()

    assert request is not None
    assert f"Request {request.number}" in page
    assert page.count("pinned</span>") == pinned.count("pinned</span>") == 1
    assert "Gathered tonight" in page


@pytest.mark.parametrize("name", ["memory", "session"])
def test_the_page_of_an_item_says_when_it_passes_the_limit_and_that_a_pin_does_not_save_it(cora: Client, name: str):
    container = make_container(hard_limit_days=30)
    now = timezone.now()
    item = make_memory(container) if name == "memory" else make_session(container)
    address_of_item, pin = reverse(f"pages:{name}-detail", args=[item.uid]), reverse(f"pages:{name}-pin", args=[item.uid])
    type(item).objects.update(created_at=now - timedelta(days=10), last_updated_at=None)

    sam = support()
    young, closed = cora.get(address_of_item).content.decode(), sam.get(address_of_item).content.decode()
    type(item).objects.update(created_at=now - timedelta(days=31))
    pinned = sam.post(pin, {"reason": "a complaint"}, follow=True).content.decode()
    type(item).objects.update(held=True)
    held = cora.get(address_of_item).content.decode()
    Container.objects.update(hard_limit_days=None)
    unlimited = cora.get(address_of_item).content.decode()

    day = now + timedelta(days=20)
    assert f"On {day:%-d %b %Y} it passes the <a" in young
    assert f"On {day:%-d %b %Y} it passes the hard limit of its container, 30 days." in closed
    assert f"since {now - timedelta(days=1):%-d %b %Y}. What is past it is put before people to be erased, pinned or not." in pinned
    assert "It is past the hard limit of 30 days, which a pin does not save it from." in pinned
    assert "pinned or not; a hold keeps it." in held
    assert "hard limit" not in unlimited


def test_who_lacks_the_right_sees_or_sets_nothing():
    container = make_container()
    auditor = a_browser_of(Role.AUDITOR, login="ada")

    assert support().get(address(container)).status_code == 403
    assert auditor.get(address(container)).status_code == 200
    assert auditor.post(address(container, "-set"), {"limit": "days", "days": "1"}).status_code == 403
    assert Container.objects.get().hard_limit_days is None


def test_another_persons_container_is_not_there_and_a_get_sets_nothing(cora: Client):
    ours, theirs = make_container("ours"), make_container("theirs")
    outsider = a_browser_of(Role.COMPLIANCE, login="otto", containers=[ours])

    assert outsider.post(address(theirs, "-set"), {"limit": "days", "days": "1"}).status_code == 404
    assert cora.get(address(ours, "-set")).status_code == 405


def test_copies_in_the_archive_are_counted_and_listed(cora: Client):
    container = make_container(hard_limit_days=30)
    copied = IncomingMemory(text="old", user_id="ann", created_at=timezone.now() - timedelta(days=400))
    store(container, IncomingArchived(user_id="ann", item=copied, reason="ttl", archived_at=timezone.now(), expires_at=None))
    copy = Archived.objects.get()

    page = cora.get(address(container), {"type": "archive"}).content.decode()

    assert str(copy.uid) in page
    assert reverse("pages:user-archive", args=[copy.subject.uid]) in page
    assert "Copies in the archive" in page
