"""What a verb answers with has a page of its own: a secret once, all else for a while, and no POST is answered with a page to reload."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from memadmin.access.locations import decoded
from memadmin.access.models import ApiToken, Person
from memadmin.access.roles import Role
from memadmin.access.tokens import MARK
from memadmin.pages.kept import FOR
from tests.factories import NOON
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db
TOKEN = {"label": "bot", "owner_name": "ana", "scopes": ["memory.read"], "reach": "all"}


@pytest.fixture(autouse=True)
def clock(time_machine: Any) -> Any:
    time_machine.move_to(NOON, tick=False)
    return time_machine


@pytest.fixture
def boss() -> Client:
    return a_browser_of(Role.ADMINISTRATOR, login="boss")


def make_a_token(browser: Client) -> str:
    """Make a token and return the address to which its maker is led."""
    answer = browser.post(reverse("pages:token-create"), TOKEN)
    assert answer.status_code == 302
    return str(answer["Location"])


def kept_in_the_database() -> str:
    return "".join(decoded(row.session_data) + row.session_data for row in BrowserSession.objects.all())


def import_a_file(browser: Client) -> Any:
    file = SimpleUploadedFile("m.jsonl", b'{"user_id": "annika-77", "text": "likes mate"}\n{"user_id": 1}\n')
    return browser.post(reverse("pages:import-run"), {"file": file, "format": "jsonl", "container": "c1"})


def test_a_secret_is_shown_once_and_loading_its_page_again_makes_none(boss: Client):
    address = make_a_token(boss)

    first, again = boss.get(address), boss.get(address, follow=True)

    assert re.search(rf"{MARK}[\w-]+", first.content.decode())
    assert first["Cache-Control"] == "private, no-store"
    assert not re.search(rf"{MARK}[\w-]+", again.content.decode())
    assert "a secret is shown once" in again.content.decode()
    assert ApiToken.objects.count() == 1


def test_who_only_asks_whether_the_page_is_there_does_not_take_the_secret(boss: Client):
    address = make_a_token(boss)

    boss.head(address)

    assert re.search(rf"{MARK}[\w-]+", boss.get(address).content.decode())


def test_a_secret_that_waits_to_be_shown_can_be_read_in_no_database(boss: Client):
    address = make_a_token(boss)
    waiting = kept_in_the_database()
    secret = re.findall(rf"{MARK}[\w-]+", boss.get(address).content.decode())[0]

    assert secret not in waiting
    assert "API token made" not in waiting
    assert "sealed" not in kept_in_the_database()


def test_a_secret_is_for_the_browser_that_made_it_and_for_who_has_the_right_still(boss: Client):
    address = make_a_token(boss)
    other = a_browser_of(Role.ADMINISTRATOR, login="bea")
    person = Person.objects.get(login="boss")
    person.roles = [Role.SUPPORT]
    person.save()

    assert "not kept any more" in other.get(address, follow=True).content.decode()
    assert boss.get(address).status_code == 403
    assert Client().get(address).status_code == 302


def test_a_session_that_was_stolen_without_the_other_cookie_opens_nothing(boss: Client):
    address = make_a_token(boss)
    del boss.cookies["csrftoken"]

    assert boss.get(address).status_code == 302


def test_what_an_import_did_can_be_loaded_again_for_a_while_and_imports_nothing(boss: Client, clock: Any):
    answer = import_a_file(boss)
    pages = [boss.get(answer["Location"]) for _ in range(2)]

    assert answer.status_code == 302
    assert [("2 records read" in page.content.decode(), page.status_code) for page in pages] == [(True, 200)] * 2
    assert "annika" not in kept_in_the_database()
    clock.move_to(NOON + FOR + timedelta(seconds=1), tick=False)
    assert boss.get(answer["Location"]).status_code == 302
