import html
import re

import pytest
from django.urls import reverse

from memadmin.store.models import Session, WorkingMemory
from tests.factories import NOON, a_change, a_memory, a_message, a_session, days, make_container, make_session, store, subject_of
from tests.people import HTMX, editor, support

pytestmark = pytest.mark.django_db
STRANGE_IDS = [
    "a/b",
    "..",
    ".",
    "100%",
    "50%off%2Fvip",
    "john_doe",
    "john-doe",
    "x" * 512,
    "\N{GRINNING FACE}\N{CAT FACE}",
    "new",
    "export",
    " Jason ",
    "first.last+tag@example.com",
    "a?b#c",
    "\"q\" | 'x'",
    "\u202eabc",
    "line\nbreak",
    "\u5f20\u66fc\u5a77",
    '<img src=x onerror=alert(1)>" hx-get="/x',
    "",
]


def text_of(response):
    return html.unescape(response.content.decode())


@pytest.mark.parametrize("user_id", STRANGE_IDS, ids=lambda name: ascii(name)[:24])
def test_any_user_id_has_a_row_a_page_and_its_memories(user_id):
    container = make_container()
    store(
        container,
        a_memory("likes tea", user_id=user_id),
        a_session("s/1 ?", user_id=user_id),
        a_message(user_id=user_id, session_ref="s/1 ?"),
    )
    client, subject = support(), subject_of(container, user_id)

    listed = client.get(reverse("pages:user-list", args=[container.uid]))
    found = client.get(reverse("pages:user-list", args=[container.uid]), {"q": user_id})
    opened = [client.get(reverse(f"pages:user-{tab}", args=[subject.uid])) for tab in ("memories", "sessions", "history", "archive")]
    session = client.get(reverse("pages:session-detail", args=[Session.objects.get().uid]))

    link = reverse("pages:user-memories", args=[subject.uid]).encode()
    assert link in listed.content
    assert link in found.content
    assert [page.status_code for page in [*opened, session]] == [200] * 5
    assert b"likes tea" in opened[0].content
    assert b"<img src=x onerror" not in b"".join(page.content for page in [listed, *opened])


def test_alike_ids_are_listed_apart_and_lead_to_their_own_memories():
    container = make_container()
    store(container, a_memory("of one", user_id="user1"), a_memory("of ten", user_id="user10"), a_memory("upper", user_id="USER1"))
    client = support()

    page = text_of(client.get(reverse("pages:user-list", args=[container.uid]), {"q": "user1"}))

    assert "1–3 of 3 users" in page
    assert "of ten" not in text_of(client.get(reverse("pages:user-memories", args=[subject_of(container, "user1").uid])))


@pytest.mark.parametrize("sort", ["user_id", "long_term", "tokens", "sessions", "archived", "nonsense"])
def test_every_order_pages_through_all_users(sort):
    container = make_container()
    store(container, *(a_memory(user_id=f"user-{number:03}", tokens=number % 3) for number in range(120)))
    client, url, seen = support(), reverse("pages:user-list", args=[container.uid]) + f"?sort={sort}", []

    while url:
        page = text_of(client.get(url))
        assert "of 120 users" in page
        seen += re.findall(r"user-\d{3}(?=<)", page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        url = following[1] if following else ""

    assert len(seen) == len(set(seen)) == 120


def test_memories_without_a_user_are_shown_apart_and_not_counted_as_one():
    container = make_container()
    store(container, a_memory(user_id=None), a_memory(user_id="ann"))

    page = text_of(support().get(reverse("pages:user-list", args=[container.uid])))

    assert ">1 user<" in page
    assert "name no user" in page


def test_a_search_without_a_hit_offers_all_users():
    container = make_container()
    store(container, a_memory())

    page = text_of(support().get(reverse("pages:user-list", args=[container.uid]), {"q": "zzz"}, headers=HTMX))

    assert 'data-empty="nomatch"' in page


def test_messages_are_shown_in_order_with_their_parts_and_nothing_is_fetched():
    container = make_container()
    said = [
        {"role": "user", "content": "\x1b[31mquestion\x1b[0m"},
        {
            "role": "tool",
            "content": [{"type": "text", "text": "a receipt"}, {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "get_user"}}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "![](https://tracker.example/p.gif) [x](javascript:alert(1))"},
    ]
    store(container, *(a_message(messages=[message], sequence=1, external_id=f"m-{number}") for number, message in enumerate(said)))

    response = support().get(reverse("pages:session-detail", args=[Session.objects.get().uid]))

    page = text_of(response)
    order = [page.index(word) for word in ("question", "a receipt", "get_user", "(empty)", "tracker.example")]
    assert order == sorted(order)
    assert "\x1b" not in page
    assert "None" not in page
    assert not re.search(r'(src|href)="(http|javascript)', page)


def test_a_session_of_one_user_never_shows_the_messages_of_another_with_the_same_id():
    container = make_container()
    store(container, a_message("my pin is 0000", user_id="ann", session_ref="main"), a_message("hello", user_id="bob", session_ref="main"))

    page = text_of(support().get(reverse("pages:session-detail", args=[Session.objects.get(subject__user_id="bob").uid])))

    assert "hello" in page
    assert "my pin is" not in page


def test_a_policy_editor_sees_that_there_are_messages_and_not_what_they_say():
    container = make_container()
    store(container, a_message("canaryword"))

    page = text_of(editor().get(reverse("pages:session-detail", args=[Session.objects.get().uid])))

    assert "canaryword" not in page
    assert "1 message" in page


def test_sessions_can_be_pinned_and_unpinned_with_words_on_what_follows():
    session = make_session(make_container(), messages=1)
    client = support()

    pinned = client.post(reverse("pages:session-pin", args=[session.uid]), {"reason": "dispute"}, follow=True)
    refused = client.post(reverse("pages:session-pin", args=[session.uid]), {"reason": ""})
    unpinned = client.post(reverse("pages:session-unpin", args=[session.uid]), follow=True)

    assert "“" in text_of(pinned)
    assert "dispute" in text_of(pinned)
    assert refused.status_code == 422
    assert "Unpinned. It stays" in text_of(unpinned)


def test_working_memories_without_a_session_are_shown():
    container = make_container()
    store(container, a_message(session_ref=None), a_message(session_ref="gone"))
    WorkingMemory.objects.filter(session_ref="gone").update(session=None)

    page = text_of(support().get(reverse("pages:user-sessions", args=[subject_of(container).uid])))

    assert "Working memories without a session" in page
    assert "gone" in page


def test_the_message_that_a_memory_came_from_is_on_the_page_that_its_link_opens():
    container = make_container()
    store(container, *(a_message(f"said {number}.", sequence=number, external_id=f"m-{number}") for number in range(250)))
    client, url = support(), reverse("pages:session-detail", args=[Session.objects.get().uid])

    for number, shown in ((0, "1\u2013100 of 250"), (99, "1\u2013100 of 250"), (100, "101\u2013200 of 250"), (249, "201\u2013250 of 250")):
        entry = WorkingMemory.objects.get(external_id=f"m-{number}").uid
        page = text_of(client.get(url, {"entry": entry}))
        assert f'id="entry-{entry}"' in page
        assert shown in page
    for nonsense in ("", "x", "00000000-0000-0000-0000-000000000000"):
        assert "1\u2013100 of 250" in text_of(client.get(url, {"entry": nonsense}))


def test_history_is_listed_by_its_own_times_newest_first_whatever_the_order_of_arrival():
    container = make_container()
    for text, age in (("fact-of-300", 300), ("fact-of-1", 1), ("fact-of-40", 40)):
        store(container, a_change(text, created_at=NOON - days(age)))
    store(container, a_change("fact-of-never", created_at=None))

    page = support().get(reverse("pages:user-history", args=[subject_of(container).uid])).content.decode()

    assert re.findall(r"fact-of-(\w+)", page) == ["1", "40", "300", "never"]
