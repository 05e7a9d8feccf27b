import html

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit import log
from memadmin.store import suppression
from memadmin.store.models import LongTermMemory, Mode, Returned, Suppression
from memadmin.store.suppression import Terms
from tests.erasure.workflow import opened
from tests.factories import ACTOR, NOON, a_memory, make_container, store, subject_of
from tests.people import a_browser_of, auditor, support
from tests.tokens import api_of

pytestmark = pytest.mark.django_db


def officer(**details):
    return a_browser_of(Role.COMPLIANCE, login="cora", **details)


def text_of(response):
    return " ".join(html.unescape(response.content.decode()).split())


def erase(mode, container=None):
    terms = Terms(mode=mode)
    return suppression.suppress_users(["ann"], container=container, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)[0]


def set_aside(container, text="likes tea"):
    erase(Mode.QUARANTINE)
    store(container, a_memory(text))
    return Returned.objects.get()


def test_what_is_suppressed_is_listed_without_a_word_of_whom():
    terms = Terms(mode=Mode.BLOCK)
    suppression.suppress_users(["canary-4711"], container=None, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)

    page = text_of(officer().get(reverse("pages:suppression-list")))

    assert "A user id" in page
    assert "everywhere" in page
    assert "canary" not in page


def test_a_suppression_leads_to_its_request_for_who_sees_that():
    container, hidden = make_container("shop"), make_container("hidden")
    store(container, a_memory())
    store(hidden, a_memory())
    seen, unseen = (opened(containers=[each]) for each in (container, hidden))
    for request in (seen, unseen):
        terms, ref = Terms(mode=Mode.BLOCK, block_until=NOON), f"erasure/{request.uid}"
        suppression.suppress_users([f"ann-{request.number}"], container=None, terms=terms, request_ref=ref, actor=ACTOR, now=NOON)
    links = [f'href="{reverse("pages:erasure-detail", args=[each.uid])}">Request {each.number}<' for each in (seen, unseen)]

    whole = text_of(a_browser_of(Role.COMPLIANCE, login="una").get(reverse("pages:suppression-list")))
    part = text_of(a_browser_of(Role.COMPLIANCE, login="eve", containers=[container]).get(reverse("pages:suppression-list")))

    assert [link in whole for link in links] == [True, True]
    assert [link in part for link in links] == [True, False]
    assert "then it is let in and marked" in whole


def test_a_suppression_is_lifted_with_a_reason_alone():
    placed, browser = erase(Mode.BLOCK), officer()
    url = reverse("pages:suppression-lift", args=[placed.uid])

    assert "Say why this may come back" in text_of(browser.post(url, {"reason": " "}, follow=True))
    assert "Lifted: it may come back" in text_of(browser.post(url, {"reason": "new contract"}, follow=True))
    assert "lifted already" in text_of(browser.post(url, {"reason": "again"}, follow=True))
    store(make_container(), a_memory())


def test_what_is_set_aside_is_shown_and_let_in_with_a_reason():
    browser, container = officer(), make_container()
    returned = set_aside(container)
    url = reverse("pages:returned-release", args=[returned.pk])

    assert "likes tea" in text_of(browser.get(reverse("pages:returned-list")))
    assert "Say why this may come back" in text_of(browser.post(url, follow=True))
    assert "It was let in." in text_of(browser.post(url, {"reason": "she agreed"}, follow=True))
    assert LongTermMemory.objects.get().text == "likes tea"
    assert browser.post(url, {"reason": "she agreed"}).status_code == 404


def test_what_is_set_aside_can_be_dropped():
    returned, browser = set_aside(make_container()), officer()

    browser.post(reverse("pages:returned-drop", args=[returned.pk]))

    assert not Returned.objects.exists()
    assert not LongTermMemory.objects.exists()


def test_f82_the_page_of_a_new_person_under_an_erased_id_says_that_there_is_a_tombstone():
    container = make_container()
    erase(Mode.FLAG)
    store(container, a_memory("new here"))

    page = text_of(officer().get(reverse("pages:user-memories", args=[subject_of(container).uid])))

    assert "Somebody of this id was erased before. What is here came afterwards." in page
    assert "new here" in page


def test_f88_lifting_and_releasing_are_closed_to_others_and_texts_to_those_who_may_not_read():
    container = make_container()
    returned = set_aside(container, "canary-4711")
    placed = Suppression.objects.get()
    urls = [
        reverse("pages:suppression-lift", args=[placed.uid]),
        reverse("pages:returned-release", args=[returned.pk]),
        reverse("pages:returned-drop", args=[returned.pk]),
    ]
    watcher = auditor()

    for browser in (watcher, support(), a_browser_of(Role.POLICY_EDITOR, login="pia")):
        assert {browser.post(url, {"reason": "x"}).status_code for url in urls} == {403}
    assert "canary-4711" not in text_of(watcher.get(reverse("pages:returned-list")))
    allowed = officer()
    assert {allowed.get(url).status_code for url in urls} == {405}


def test_55_another_containers_arrivals_and_suppressions_are_not_there():
    mine, other = make_container("mine"), make_container("other")
    placed = erase(Mode.QUARANTINE, other)
    store(other, a_memory())
    browser = officer(containers=[mine])

    assert browser.post(reverse("pages:suppression-lift", args=[placed.uid]), {"reason": "x"}).status_code == 404
    assert browser.post(reverse("pages:returned-drop", args=[Returned.objects.get().pk])).status_code == 404
    assert "other" not in text_of(browser.get(reverse("pages:returned-list")))


def test_what_is_set_aside_needs_a_person_on_the_overview_of_who_sees_its_container():
    mine, other = make_container("mine"), make_container("other")
    set_aside(mine)

    assert "Set aside, since it was erased and came again: 1." in text_of(officer().get("/"))
    assert "Set aside" not in text_of(a_browser_of(Role.COMPLIANCE, login="eve", containers=[other]).get("/"))
    assert "Set aside" not in text_of(support().get("/"))


@pytest.mark.parametrize("page", ["suppression-list", "returned-list"])
def test_lists_of_more_than_a_page_turn(page):
    container, browser = make_container(), officer()
    users, terms = [f"ann-{number}" for number in range(51)], Terms(mode=Mode.QUARANTINE)
    suppression.suppress_users(users, container=None, terms=terms, request_ref="erasure/7f0c", actor=ACTOR, now=NOON)
    store(container, *(a_memory(user_id=user) for user in users))

    first = browser.get(reverse(f"pages:{page}"))
    second = browser.get(first.context["paging"].next)

    assert (first.context["paging"].last, second.context["paging"].first, second.context["paging"].last) == (50, 51, 51)


def test_the_inbox_of_requests_leads_to_what_must_not_come_back():
    assert reverse("pages:suppression-list") in text_of(officer().get(reverse("pages:erasure-list")))


def test_an_officer_of_one_container_sees_what_was_refused_over_the_api_there_and_nowhere_else():
    mine, other = make_container("mine", owner={"name": "ana"}), make_container("other")
    erase(Mode.BLOCK)
    assert api_of().post(f"/api/v1/containers/{mine.uid}/memories", {"user_id": "ann", "text": "x"}).status_code == 409
    log.seal(actor=ACTOR, now=NOON)

    officers = [officer(containers=[mine]), a_browser_of(Role.COMPLIANCE, login="eve", containers=[other])]
    pages = [text_of(each.get(reverse("pages:returned-list"))) for each in officers]

    assert ["over the API" in page for page in pages] == [True, False]
