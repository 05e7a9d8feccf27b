"""The question before something large: a page of its own, that can be loaded again and gone back to, and is answered once."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlparse

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client
from django.urls import reverse

from memadmin.access.locations import decoded
from memadmin.access.models import ApiToken, Person
from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.erasure.models import ErasureRequest
from memadmin.pages.kept import FOR, MOST
from memadmin.store.models import LongTermMemory
from tests.erasure.on_pages import DETAILS
from tests.erasure.workflow import discovered, opened
from tests.factories import NOON, a_memory, make_container, make_memory, store, subject_of
from tests.people import a_browser_of, make_person
from tests.tokens import make_token

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock(time_machine: Any) -> Any:
    time_machine.move_to(NOON, tick=False)
    return time_machine


@pytest.fixture
def boss() -> Client:
    return a_browser_of(Role.ADMINISTRATOR, login="boss")


def a_question(browser: Client) -> tuple[str, str]:
    """Ask to revoke a token, and return the address of the verb and that of its question."""
    token, _ = make_token()
    address = reverse("pages:token-revoke", args=[token.uid])
    asked = browser.post(address)
    assert asked.status_code == 302
    return address, asked["Location"]


def fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page))


def test_a_question_can_be_loaded_again_and_does_nothing(boss: Client):
    _, question = a_question(boss)

    pages = [boss.get(question) for _ in range(3)]

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert "is refused from the next request on" in pages[2].content.decode()
    assert ApiToken.objects.get().revoked_at is None


def test_its_form_does_what_it_says_once_and_a_second_answer_is_asked_anew(boss: Client):
    person = make_person(Role.SUPPORT, login="sam")
    address = reverse("pages:person-reset-password", args=[person.uid])
    question = boss.post(address)["Location"]
    answer = fields(boss.get(question).content.decode())

    first = boss.post(address, answer)
    password = Person.objects.get(pk=person.pk).password
    second = boss.post(address, answer)

    assert (first.status_code, "The password is reset" in boss.get(first["Location"]).content.decode()) == (302, True)
    assert (second.status_code, second["Location"] != question) == (302, True)
    assert Person.objects.get(pk=person.pk).password == password


def test_an_answered_question_is_not_open_any_more(boss: Client):
    address, question = a_question(boss)
    boss.post(address, fields(boss.get(question).content.decode()))

    again = boss.get(question, follow=True)

    assert ApiToken.objects.get().revoked_at is not None
    assert "not open any more" in again.content.decode()


def test_the_form_of_a_question_has_the_token_of_who_looks(boss: Client):
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = boss.cookies
    _, question = a_question(boss)
    page = careful.get(question).content.decode()
    address, sent = urlparse(re.findall(r'action="([^"]*revoke[^"]*)"', page)[0]).path, fields(page)

    assert careful.post(address, {**sent, "csrfmiddlewaretoken": "x" * 64}).status_code == 403
    assert careful.post(address, sent).status_code == 302
    assert ApiToken.objects.get().revoked_at is not None


def test_a_question_is_of_the_browser_that_was_asked_and_of_who_has_the_right_still(boss: Client):
    _, question = a_question(boss)
    other = a_browser_of(Role.ADMINISTRATOR, login="bea")

    assert "not open any more" in other.get(question, follow=True).content.decode()
    person = Person.objects.get(login="boss")
    person.roles = [Role.SUPPORT]
    person.save()

    assert boss.get(question).status_code == 403
    assert Client().get(question).status_code == 302


def test_a_question_stands_for_a_while_and_a_browser_has_some_of_them(boss: Client, clock: Any):
    questions = [a_question(boss)[1] for _ in range(MOST + 1)]

    assert boss.get(questions[0]).status_code == 302
    assert boss.get(questions[-1]).status_code == 200
    clock.move_to(NOON + FOR + timedelta(seconds=1), tick=False)
    assert boss.get(questions[-1]).status_code == 302


def test_the_navigation_says_where_the_question_belongs(boss: Client):
    page = boss.get(a_question(boss)[1]).content.decode()

    assert re.search(r'aria-current="page"[^>]*>\s*(?:<svg.*?</svg>)?\s*API tokens', page, re.DOTALL)


def test_an_item_is_asked_about_at_an_address_of_its_own(boss: Client):
    memory = make_memory(make_container(), "likes mate")
    support = a_browser_of(Role.SUPPORT, login="sam")
    verb, question = (reverse(f"pages:memory-{name}", args=[memory.uid]) for name in ("delete", "deletion"))

    assert support.post(verb)["Location"] == question
    assert "likes mate" in support.get(question).content.decode()
    assert LongTermMemory.objects.exists()
    assert "likes mate" not in "".join(decoded(row.session_data) for row in BrowserSession.objects.all())


class TestLookingForSomebody:
    def looked(self, browser: Client, user_id: str = "annika-77") -> str:
        answer = browser.post(reverse("pages:erasure-find"), {"user_id": user_id})
        assert answer.status_code == 302
        return str(answer["Location"])

    def test_what_was_looked_for_is_loaded_again_and_stands_in_no_address(self):
        store(make_container(), a_memory(user_id="annika-77"))
        cora = a_browser_of(Role.COMPLIANCE, login="cora")

        address = self.looked(cora)

        assert "annika" not in address
        assert ["annika-77" in cora.get(address).content.decode() for _ in range(2)] == [True, True]
        assert "annika" not in a_browser_of(Role.COMPLIANCE, login="carl").get(address).content.decode()

    def test_it_is_not_kept_once_the_request_is_taken_in(self):
        container = make_container()
        store(container, a_memory(user_id="annika-77"))
        cora = a_browser_of(Role.COMPLIANCE, login="cora")
        address, uid = self.looked(cora), str(subject_of(container, "annika-77").uid)
        sent = fields(cora.get(address).content.decode())

        cora.post(reverse("pages:erasure-open"), {**DETAILS, **sent, "shown": uid, "tick": uid})
        again = cora.get(address)

        assert ErasureRequest.objects.count() == 1
        assert (again.status_code, "Look for it again" in again.content.decode()) == (422, True)
        assert "annika" not in "".join(decoded(row.session_data) for row in BrowserSession.objects.all())

    def test_an_erasure_does_not_sign_out_who_looked_for_the_person(self):
        store(make_container(), a_memory(user_id="annika-77"), now=NOON)
        cora = a_browser_of(Role.COMPLIANCE, login="cora")
        self.looked(cora)

        manifest = discovered(opened("annika-77", now=NOON), now=NOON)

        assert not manifest.items.filter(location="access.browser_sessions").exists()
        assert "annika" not in "".join(decoded(row.session_data) for row in BrowserSession.objects.all())

    def test_a_topic_that_was_found_is_loaded_again_as_the_same_list(self):
        container = make_container()
        store(container, a_memory("likes green tea"))
        cora = a_browser_of(Role.COMPLIANCE, login="cora")
        address = cora.post(reverse("pages:erasure-topic"), {"container": str(container.uid), "words": "tea"})["Location"]
        store(container, a_memory("black tea"))

        page = cora.get(address).content.decode()

        assert ("tea" in address, "likes green tea" in page, "black tea" in page) == (False, True, False)
        assert not AuditEntry.objects.filter(action="erasure.opened").exists()
