import html
import json
import re

import pytest
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.jobs.models import Schedule
from memadmin.store import configuration, pinning, policies
from memadmin.store.identity import item_uid
from memadmin.store.intake import Source
from memadmin.store.models import ItemType, LongTermMemory, Pin
from retention.policy import parse_policy
from tests.factories import (
    ACTOR,
    NOON,
    a_change,
    a_memory,
    a_message,
    a_pin,
    a_session,
    days,
    make_container,
    make_memory,
    store,
    subject_of,
)
from tests.people import HTMX, a_browser_of, auditor, editor, support

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def page_of(client, subject, **query):
    return client.get(reverse("pages:user-memories", args=[subject.uid]), query)


def text_of(response):
    return html.unescape(response.content.decode())


def put_in_force(container, **limits):
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)
    Schedule.objects.update_or_create(kind="nightly", defaults={"cron": "0 3 * * *", "next_run_at": NOON + days(0.625)})
    relevance = {
        "ttl_days": 365,
        "max_records": 500,
        "max_tokens": 40_000,
        "half_life_hours": 720,
        "weights": {"recency": 0.4, "frequency": 0.2, "importance": 0.4},
        **limits,
    }
    policies.publish(container, parse_policy({"retention": {}, "relevance": relevance}), actor=ACTOR, now=NOON, base=None)


def test_the_page_shows_every_memory_with_its_score_lowest_first():
    container = make_container()
    store(container, a_memory("fresh and dear", importance=0.9, tokens=7), a_memory("old", days_old=300, importance=0.1))

    page = text_of(page_of(support(), subject_of(container)))

    assert page.index("old") < page.index("fresh and dear")
    assert "1–2 of 2 memories" in page
    assert [int(number) for number in re.findall(r'score-number">(\d+)<', page)] == [4, 56]


def test_all_memories_of_a_long_list_can_be_reached_and_the_total_is_true():
    container = make_container()
    store(container, *(a_memory(f"fact number {number}.") for number in range(120)))
    client, seen, url = support(), set(), reverse("pages:user-memories", args=[subject_of(container).uid])

    for first in (1, 51, 101):
        page = text_of(client.get(url))
        assert f"{first}–{min(first + 49, 120)} of 120 memories" in page
        seen |= set(re.findall(r"fact number \d+\.", page))
        following = re.search(r'rel="next" href="([^"]+)"', page)
        url = following[1] if following else ""

    assert len(seen) == 120
    assert url == ""


def test_a_filter_stands_in_the_address_and_has_a_true_total():
    container = make_container()
    store(container, a_memory("allergy", pin=a_pin()), a_memory("likes tea"))

    page = text_of(page_of(support(), subject_of(container), state="pinned"))

    assert ">1 memory<" in page
    assert "likes tea" not in page


def test_a_filter_that_leaves_nothing_offers_to_reset_it():
    container = make_container()
    make_memory(container)

    page = text_of(page_of(support(), subject_of(container), q="nowhere"))

    assert 'data-empty="nomatch"' in page
    assert "Reset filters" in page


def test_a_user_without_memories_does_not_look_like_a_failed_search():
    container = make_container()
    store(container, a_session())

    assert 'data-empty="nothing"' in text_of(page_of(support(), subject_of(container)))


@pytest.mark.parametrize(
    "query",
    [
        {"after": "rubbish"},
        {"sort": "x"},
        {"state": "y"},
        {"at": "-5"},
        {"at": "9" * 40},
        {"q": "dog\0name"},
        {"q": "x" * 900},
        {"down": "\ud83d".encode("utf-8", "surrogatepass")},
    ],
    ids=str,
)
def test_an_address_that_was_tampered_with_still_shows_the_list(query):
    container = make_container()
    make_memory(container)

    assert page_of(support(), subject_of(container), **query).status_code == 200


def test_a_wrong_filter_opens_no_pin_form():
    container = make_container()
    make_memory(container)

    page = text_of(page_of(support(), subject_of(container), state="y"))

    assert '<details class="pin-box">' in page


def test_htmx_gets_the_table_alone_and_a_history_restore_the_whole_page():
    container = make_container()
    make_memory(container)
    client, url = support(), reverse("pages:user-memories", args=[subject_of(container).uid])

    part = client.get(url, headers=HTMX)
    restored = client.get(url, headers={**HTMX, "HX-History-Restore-Request": "true"})

    assert part.content.lstrip().startswith(b'<div id="table"')
    assert b"<html" in restored.content
    assert "HX-Request" in part["Vary"]


def test_memory_text_is_shown_as_text():
    container = make_container()
    memory = make_memory(container, '<script>alert(1)</script> {{ 7*7 }} " hx-get="/x')
    client = support()

    for response in (page_of(client, subject_of(container)), client.get(reverse("pages:memory-detail", args=[memory.uid]))):
        assert b"<script>alert" not in response.content
        assert b"&lt;script&gt;alert(1)&lt;/script&gt; {{ 7*7 }} &quot; hx-get=&quot;/x" in response.content


def test_without_the_right_to_read_texts_no_text_and_no_search_is_there():
    container = make_container()
    memory = make_memory(container, "the canaryword", metadata={"note": "the canaryword"})
    store(container, a_change("the canaryword", memory_uid=memory.uid))
    client, subject = editor(), subject_of(container)

    pages = [
        page_of(client, subject),
        page_of(client, subject, q="canaryword"),
        client.get(reverse("pages:memory-detail", args=[memory.uid])),
        client.get(reverse("pages:user-history", args=[subject.uid])),
        client.get(reverse("pages:user-archive", args=[subject.uid])),
        client.get(reverse("pages:user-sessions", args=[subject.uid])),
    ]

    assert all(page.status_code == 200 for page in pages)
    assert not any(b"the canaryword" in page.content for page in pages)
    assert ">1 memory<" in text_of(page_of(client, subject, q="nothing like it"))


def test_the_panel_explains_the_score_by_three_terms_that_add_up():
    container = make_container()
    put_in_force(container)
    memory = make_memory(container, "opening hours", days_old=300, last_accessed_at=NOON - days(243), hits=1, importance=0.1)

    page = text_of(support().get(reverse("pages:memory-detail", args=[memory.uid])))

    points = [float(value) for value in re.findall(r'<td class="number">([\d.]+)</td></tr>\s*(?=<tr><th|</tbody)', page)]
    total = float(re.search(r"<strong>([\d.]+)</strong></td></tr></tfoot>", page)[1])
    assert len(points) == 3
    assert round(sum(points), 1) == total == 7.1
    assert "recalled once" in page
    assert "low importance" in page


def test_the_panel_says_when_a_memory_goes_and_that_reading_it_changed_nothing():
    container = make_container()
    put_in_force(container)
    memory = make_memory(container, days_old=100)
    before = LongTermMemory.objects.values().get()

    page = text_of(support().get(reverse("pages:memory-detail", args=[memory.uid])))

    assert "It reaches its time to live on 21 Nov 2026." in page
    assert LongTermMemory.objects.values().get() == before


def test_provenance_leads_to_the_message_and_names_what_has_gone():
    container = make_container()
    store(container, a_session(), a_message(external_id="m-1"))
    said = item_uid(container.uid, ItemType.WORKING, "ann", "m-1")
    gone = item_uid(container.uid, ItemType.SESSION, "ann", "gone")
    memory = make_memory(container, sources=(Source(item_type=ItemType.WORKING, uid=said), Source(item_type=ItemType.SESSION, uid=gone)))

    page = text_of(support().get(reverse("pages:memory-detail", args=[memory.uid])))

    assert f"#entry-{said}" in page
    assert "gone meanwhile" in page


def test_pinning_says_so_offers_undo_and_refreshes_the_row():
    memory = make_memory(make_container())

    response = support().post(reverse("pages:memory-pin", args=[memory.uid]), {"reason": "allergy", "part": "row"}, headers=HTMX)

    events = json.loads(response["HX-Trigger"])
    assert response.status_code == 200
    assert response.content.lstrip().startswith(f'<tr id="memory-{memory.uid}"'.encode())
    assert events["memadmin:toast"]["undo"] == reverse("pages:memory-unpin", args=[memory.uid]) + "?part=row"
    assert {"memory-changed", f"panel-{memory.uid}"} <= set(events)
    assert Pin.objects.get().reason == "allergy"


def test_pinning_works_without_javascript():
    memory = make_memory(make_container())

    response = support().post(reverse("pages:memory-pin", args=[memory.uid]), {"reason": "allergy"}, follow=True)

    assert response.redirect_chain == [(reverse("pages:memory-detail", args=[memory.uid]), 302)]
    assert "Pinned. No run evicts this memory" in text_of(response)


def test_a_pin_without_a_reason_comes_back_with_what_to_do():
    memory = make_memory(make_container())

    response = support().post(reverse("pages:memory-pin", args=[memory.uid]), {"reason": " "}, headers=HTMX)

    assert response.status_code == 422
    assert "Say why this is to be kept" in text_of(response)


def test_unpinning_says_when_the_memory_will_go():
    container = make_container()
    put_in_force(container)
    memory = make_memory(container, days_old=400, pin=a_pin())

    response = support().post(reverse("pages:memory-unpin", args=[memory.uid]), headers=HTMX)

    toast = json.loads(response["HX-Trigger"])["memadmin:toast"]
    assert toast["text"].startswith("Unpinned. It")
    assert not LongTermMemory.objects.get().pinned


def test_undoing_an_unpin_brings_the_reason_back():
    memory = make_memory(make_container(), pin=a_pin("allergy"))
    client = support()
    response = client.post(reverse("pages:memory-unpin", args=[memory.uid]), headers=HTMX)

    client.post(json.loads(response["HX-Trigger"])["memadmin:toast"]["undo"], headers=HTMX)

    assert Pin.objects.get().reason == "allergy"


def test_a_double_click_on_pin_is_one_pin():
    memory = make_memory(make_container())
    client = support()

    first, second = (client.post(reverse("pages:memory-pin", args=[memory.uid]), {"reason": "why"}, headers=HTMX) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 200)
    assert "pinned already" in json.loads(second["HX-Trigger"])["memadmin:toast"]["text"]
    assert Pin.objects.count() == 1


@pytest.mark.parametrize("verb", ["memory-pin", "memory-unpin", "memory-pin-again"])
def test_pins_are_turned_by_post_alone_and_only_with_the_right(verb):
    memory = make_memory(make_container())
    url = reverse(f"pages:{verb}", args=[memory.uid])

    assert support().get(url).status_code == 405
    assert auditor().post(url, {"reason": "why"}).status_code == 403
    assert not LongTermMemory.objects.get().pinned


def test_a_memory_of_a_container_that_the_person_may_not_see_does_not_exist():
    hidden, shown = make_container("hidden-one"), make_container("shown-one")
    memory, subject = make_memory(hidden, "secret"), subject_of(hidden)
    client = a_browser_of(Role.SUPPORT, containers=[shown])

    for view, uid in [
        ("memory-detail", memory.uid),
        ("user-memories", subject.uid),
        ("user-sessions", subject.uid),
        ("user-list", hidden.uid),
    ]:
        assert client.get(reverse(f"pages:{view}", args=[uid])).status_code == 404
    assert client.post(reverse("pages:memory-pin", args=[memory.uid]), {"reason": "x"}).status_code == 404
    listed = text_of(client.get(reverse("pages:container-list")))
    assert shown.name in listed
    assert hidden.name not in listed


def test_an_expired_memory_says_what_it_waits_for():
    container = make_container()
    make_memory(container, days_old=400)
    put_in_force(container)
    configuration.change("retention_enabled", False, actor=ACTOR, now=NOON)

    assert "expired, stays because retention is off" in text_of(page_of(support(), subject_of(container)))


def test_a_pinned_memory_past_its_limit_is_marked_as_such():
    container = make_container()
    put_in_force(container)
    make_memory(container, days_old=400, pin=a_pin())

    assert "past its limit, kept by the pin" in text_of(page_of(support(), subject_of(container)))


def test_the_first_table_costs_few_queries_whatever_its_length(django_assert_max_num_queries):
    container = make_container()
    put_in_force(container)
    store(container, *(a_memory(f"fact {number}", pin=a_pin() if number % 7 == 0 else None) for number in range(60)))
    client, subject = support(), subject_of(container)

    with django_assert_max_num_queries(6):
        page_of(client, subject)


def test_unpin_and_pin_leave_the_same_counts_on_the_header():
    container = make_container()
    memory, subject = make_memory(container), subject_of(container)
    pinning.pin(memory, reason="why", actor=ACTOR, now=NOON)

    header = text_of(support().get(reverse("pages:user-header", args=[subject.uid]), headers=HTMX))

    assert re.search(r'Pinned</span><span class="figure-value">1<', header)


def test_the_list_leads_to_the_session_of_the_message_that_a_memory_came_from():
    container = make_container()
    store(container, a_session("chat-7"), a_message(external_id="m-1", session_ref="chat-7"))
    said = item_uid(container.uid, ItemType.WORKING, "ann", "m-1")
    make_memory(container, sources=(Source(item_type=ItemType.WORKING, uid=said),))

    assert "<bdi>chat-7</bdi></a>" in text_of(page_of(support(), subject_of(container)))


def test_before_a_worker_has_ever_started_the_panel_says_so_instead_of_a_time():
    container = make_container()
    put_in_force(container)
    Schedule.objects.all().delete()
    memory = make_memory(container, days_old=400)

    page = text_of(support().get(reverse("pages:memory-detail", args=[memory.uid])))

    assert "It stays: no run is planned before a worker has started for the first time." in page


def test_a_refused_pin_leaves_the_row_where_it_is():
    memory = make_memory(make_container())

    response = support().post(reverse("pages:memory-pin", args=[memory.uid]), {"reason": " ", "part": "row"}, headers=HTMX)

    assert response.content.lstrip().startswith(f'<tr id="memory-{memory.uid}"'.encode())
    assert "Say why" in json.loads(response["HX-Trigger"])["memadmin:toast"]["text"]


def test_a_moment_that_has_not_come_counts_as_now():
    container = make_container()
    make_memory(container)

    assert page_of(support(), subject_of(container), at="253402300799").status_code == 200
