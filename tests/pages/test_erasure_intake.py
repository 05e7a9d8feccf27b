"""Taking a request in: whom and what it means, and what stays when it is refused."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.erasure.models import ErasureRequest
from memadmin.pages.erasure.intake import MOST_SHOWN
from memadmin.store.models import LongTermMemory
from tests.erasure.on_pages import DETAILS
from tests.erasure.workflow import opened, opened_for
from tests.factories import a_memory, a_message, a_session, make_container, store, subject_of
from tests.people import a_browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cora() -> Client:
    return a_browser_of(Role.COMPLIANCE, login="cora")


def test_25_the_same_id_in_two_containers_is_told_apart(cora: Client):
    store(make_container("pharmacy"), a_memory(user_id="ann"))
    store(make_container("clinic"), a_memory(user_id="ann"))

    page = cora.post(reverse("pages:erasure-find"), {"user_id": "ann"}, follow=True).content.decode()

    assert "in <bdi>pharmacy</bdi>" in page
    assert "in <bdi>clinic</bdi>" in page


def test_what_was_typed_stays_when_a_request_about_nobody_known_is_refused(cora: Client):
    make_container()
    body = {**DETAILS, "user_id": "gone\u202eman", "aliases": "Old Gone", "note": "by phone"}

    refused = cora.post(reverse("pages:erasure-open"), body)
    page = refused.content.decode()

    assert refused.status_code == 422
    assert "tick at least one of those found" in page
    assert "Old Gone" in page
    assert "by phone" in page
    assert '<bdi class="user-id">gone' in page
    assert '<bdi class="user-id">gone\u202e' not in page
    assert cora.post(reverse("pages:erasure-open"), {**body, "unknown": "yes"}).status_code == 302


def test_who_was_found_exactly_is_still_so_after_a_refusal(cora: Client):
    store(make_container(), a_memory(user_id="ann"))
    shown = str(subject_of(LongTermMemory.objects.get().container).uid)

    page = cora.post(reverse("pages:erasure-open"), {**DETAILS, "user_id": "ann", "shown": shown}).content.decode()

    assert "exactly this id" in page
    assert 'name="user_id" value="ann"' in page


def test_a_topic_is_listed_to_be_ticked_and_what_is_not_ticked_is_not_taken(cora: Client):
    container = make_container()
    store(container, a_memory("likes green tea"), a_memory("hates TEA"), a_memory("drinks mate"))
    green = LongTermMemory.objects.get(text="likes green tea")

    page = cora.post(reverse("pages:erasure-topic"), {"container": str(container.uid), "words": "tea"}, follow=True).content.decode()
    cora.post(reverse("pages:erasure-open"), {**DETAILS, "kind": "erase_topic", "item": f"long-term/{green.uid}"})

    assert page.count('name="item"') == 2
    assert [item.item_uid for item in ErasureRequest.objects.get().items.all()] == [green.uid]


def test_as_many_items_as_are_shown_can_be_sent_at_once(cora: Client):
    store(make_container(), a_memory("likes tea"))
    name = f"long-term/{LongTermMemory.objects.get().uid}"
    others = [f"long-term/{uuid4()}" for _ in range(MOST_SHOWN - 1)]

    answer = cora.post(
        reverse("pages:erasure-open"), {**DETAILS, "kind": "erase_topic", "item": [name, *others], "listed": [name, *others]}
    )

    assert answer.status_code == 422
    assert "Take in a request" in answer.content.decode()


def test_the_inbox_says_about_whom_a_request_is_to_who_may_see_users(cora: Client):
    container = make_container()
    store(container, a_memory(user_id="annika-77"), a_memory("tea", user_id="bob-12"))
    opened("annika-77")
    opened_for(LongTermMemory.objects.get(text="tea"))

    page = cora.get(reverse("pages:erasure-list")).content.decode()
    hidden = a_browser_of(Role.ADMINISTRATOR, login="ali").get(reverse("pages:erasure-list")).content.decode()
    ErasureRequest.objects.get(number=1).subjects.update(user_id=None)
    purged = cora.get(reverse("pages:erasure-list")).content.decode()

    assert '<bdi class="user-id">annika-77</bdi>' in page
    assert "1 item<" in page
    assert ("annika" in hidden, "1 user<" in hidden) == (False, True)
    assert ("annika" in purged, "1 user<" in purged) == (False, True)


def test_a_topic_shows_what_each_item_says_and_of_whom_it_is(cora: Client):
    container = make_container()
    store(
        container,
        a_memory("x" * 300 + " hates TEA from <b>Kiel</b>"),
        a_session(summary="about tea"),
        a_message("Tea, please", user_id="bob"),
    )

    page = cora.post(reverse("pages:erasure-topic"), {"container": str(container.uid), "words": "tea"}, follow=True).content.decode()

    assert "hates TEA from &lt;b&gt;Kiel" in page
    assert "about tea" in page
    assert "Tea, please" in page
    assert '<bdi class="user-id">bob</bdi>' in page
    assert reverse("pages:memory-detail", args=[LongTermMemory.objects.get().uid]) in page
    assert page.count(" checked>") == 1 + 3  # all of them, and each


def test_a_topic_of_which_nothing_is_ticked_is_refused_and_stays_listed(cora: Client):
    store(make_container(), a_memory("likes green tea"))
    name = f"long-term/{LongTermMemory.objects.get().uid}"

    answer = cora.post(reverse("pages:erasure-open"), {**DETAILS, "kind": "erase_topic", "listed": name, "note": "by phone"})

    assert answer.status_code == 422
    assert "Tick at least one" in answer.content.decode()
    assert f'name="item" value="{name}"' in answer.content.decode()
    assert "by phone" in answer.content.decode()
    assert not ErasureRequest.objects.exists()


def test_a_topic_that_nothing_has_or_that_is_too_short_is_told(cora: Client):
    container = make_container()

    answers = [cora.post(reverse("pages:erasure-topic"), {"container": str(container.uid), "words": words}) for words in ("tea", "t", "")]

    assert [answer.status_code for answer in answers] == [422, 422, 422]
    assert "Nothing has these words" in answers[0].content.decode()


@pytest.mark.parametrize("given", [{"user_id": "x" * 513}, {"user_id": "gone", "aliases": f"Rosa\n{'x' * 513}"}])
def test_F97_an_id_that_is_too_long_is_refused_and_not_cut_to_another_one(cora: Client, given: dict[str, str]):
    make_container()

    answer = cora.post(reverse("pages:erasure-open"), {**DETAILS, "unknown": "yes", **given})

    assert answer.status_code == 422
    assert "A part of it would be another one" in answer.content.decode()
    assert not ErasureRequest.objects.exists()
