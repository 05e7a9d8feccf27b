import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memadmin.access.roles import Role
from memadmin.audit.models import AuditEntry
from memadmin.store import pinning
from memadmin.store.hard_limits import set_limit
from memadmin.store.models import LongTermMemory, Pin, Session
from tests.factories import ACTOR, NOON, a_memory, a_pin, make_container, make_session, store, subject_of
from tests.people import HTMX, a_browser_of, auditor, editor, support
from tests.runs import a_policy, assert_store_agrees, governed, publish

pytestmark = pytest.mark.django_db
LIST, REVIEW = "/pins/", "/pins/review/"


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def container(db):
    made = governed(a_policy(sessions={"retention_days": 90}, relevance={"ttl_days": 365, "max_records": 500, "max_tokens": 40_000}))
    store(
        made,
        a_memory("old and pinned", days_old=400, tokens=80, pin=a_pin("the canary is allergic")),
        a_memory("new and pinned", days_old=2, tokens=20, pin=a_pin("pinned at the source")),
        a_memory("of ben", user_id="ben", tokens=7, pin=a_pin("asked for")),
    )
    pinning.pin(make_session(made), reason="a complaint", actor=ACTOR, now=NOON, review_on=(NOON - timedelta(days=3)).date())
    return made


def page(client, **query):
    return text_of(client.get(LIST, query))


def text_of(response):
    assert response.status_code in {200, 422}, response.status_code
    return html.unescape(response.content.decode())


def ticks(client, **query):
    return re.findall(r'name="pin" value="([^"]+)"', page(client, **query))


def chips(text):
    return dict(re.findall(r'<a class="chip"[^>]*>([^<]+) <span class="count">([\d,]+)</span>', text))


def post(client, query="", **data):
    return client.post(f"{REVIEW}{query}", data, follow=True)


def test_the_register_says_who_why_what_it_costs_and_what_it_is_past(container):
    text = page(support())

    assert "1–4 of 4 pins" in text
    assert "“the canary is allergic”" in text
    assert "1 slot, 80 tokens (0.2 %)" in text
    assert "All pins of this user: 2 of 500 slots (0.4 %), 100 of 40,000 tokens (0.2 %)" in text
    assert "3 long-term memories of 107 tokens together and 1 session, of 2 users" in text
    assert "Past its time to live" in text
    assert "overdue" in text


def test_each_narrowing_counts_exactly_what_it_shows(container):
    client = support()

    counts = chips(page(client))

    assert counts == {
        "All pins": "4",
        "Past a limit": "1",
        "Without a real reason": "1",
        "Review due": "1",
        "Review within 30 days": "0",
        "Without a day of review": "3",
    }
    for state, number in (("past-limit", 1), ("unreasoned", 1), ("due", 1), ("no-review", 3)):
        assert len(ticks(client, state=state)) == number
    assert "No pin is left by these filters" in page(client, state="soon")


def test_what_is_past_a_hard_limit_is_counted_and_shown_since_no_pin_saves_it(container):
    set_limit(container, 100, actor=ACTOR, now=NOON)
    old = make_session(container, "old", days_old=101)
    pinning.pin(old, reason="a complaint", actor=ACTOR, now=NOON)
    other = make_container("other", hard_limit_days=2)
    store(other, a_memory("older", days_old=3, pin=a_pin()), a_memory("not pinned", days_old=3), a_memory("new", days_old=1, pin=a_pin()))
    client = support()

    assert chips(page(client))["Past a hard limit"] == "3"
    narrowed = page(client, state="past-hard-limit")
    assert len(ticks(client, state="past-hard-limit")) == 3
    assert narrowed.count("Past the hard limit of 100 days</div>") == 2
    assert narrowed.count("Past the hard limit of 2 days</div>") == 1


def test_filters_and_orders_can_be_combined_and_nonsense_in_the_address_is_left_out(container):
    client = support()
    ben = subject_of(container, "ben")

    assert len(ticks(client, type="sessions")) == 1
    assert len(ticks(client, user=ben.uid)) == 1
    assert len(ticks(client, q="canary")) == 1
    assert len(ticks(client, by=ACTOR, type="long-term")) == 3
    for sort in ("newest", "oldest", "review", "tokens"):
        assert len(ticks(client, sort=sort)) == 4
    assert len(ticks(client, sort="x", state="y", user="z", container="0", type="history")) == 4


def test_pages_turn_by_key_in_every_order(container):
    store(container, *(a_memory(f"p{n}", user_id=f"u{n}", pin=a_pin(f"reason {n}")) for n in range(60)))
    client = support()

    for sort in ("newest", "oldest", "review", "tokens"):
        first = page(client, sort=sort)
        after = re.search(r'rel="next" href="([^"]+)"', first)[1]
        second = text_of(client.get(after))
        keys = re.findall(r'name="pin" value="([^"]+)"', first + second)
        assert (len(keys), len(set(keys))) == (64, 64)
        assert "51–64 of 64 pins" in second


def test_who_may_not_read_memories_sees_pins_without_reasons_and_texts(container):
    text = page(auditor(), q="canary")

    assert "canary is allergic" not in text
    assert "old and pinned" not in text
    assert "1–4 of 4 pins" in text
    assert 'name="pin"' not in text


def test_pins_of_containers_that_a_person_does_not_see_are_not_there(container):
    other = make_container("other")
    store(other, a_memory("secret", user_id="eve", pin=a_pin("secret reason")))
    eves = Pin.objects.get(container=other)
    client = a_browser_of(Role.SUPPORT, containers=[container])

    assert "1–4 of 4 pins" in page(client)
    assert len(ticks(client, container=other.uid)) == 4  # the address names nothing that exists for them
    answer = post(client, action="unpin", pins=f"{eves.pk}:1", sure="yes", reason="try")

    assert Pin.objects.filter(pk=eves.pk).exists()
    assert "Nothing is done: what you ticked was unpinned meanwhile, or has gone." in text_of(answer)


def test_ticked_pins_are_asked_about_with_numbers_and_then_unpinned(container):
    client = support()
    old = Pin.objects.get(reason="the canary is allergic")

    asked = text_of(post(client, action="unpin", pin=[f"{old.pk}:1"]))
    assert Pin.objects.count() == 4
    assert "Unpin 1 pin" in asked
    assert "1 is past an age or a time to live and goes at the next run" in asked
    assert "next run of this container a large one" in asked  # one of three memories
    done = text_of(post(client, action="unpin", pins=f"{old.pk}:1", sure="yes", reason="no canary any more"))

    assert "1 pin was taken away" in done
    assert LongTermMemory.objects.filter(pinned=True).count() == 2
    assert_store_agrees()


def test_keeping_several_asks_for_a_later_day_and_a_reason(container):
    client = support()
    given = {"action": "keep", "pins": ",".join(ticks(client)), "sure": "yes"}

    past = client.post(REVIEW, {**given, "reason": "seen", "review_on": "2026-03-01"})
    bare = client.post(REVIEW, {**given, "reason": " "})
    done = text_of(post(client, **given, reason="seen with the doctor", review_on="2026-09-01"))

    assert (past.status_code, bare.status_code) == (422, 422)
    assert "Choose a later day" in text_of(past)
    assert "Say why these stay or go" in text_of(bare)
    assert "4 pins were looked at and kept" in done
    assert set(Pin.objects.values_list("review_on", flat=True).distinct()) == {(NOON + timedelta(days=184)).date()}
    assert AuditEntry.objects.filter(action="pin.reviewed").count() == 4


def test_all_that_match_are_taken_without_ticking_each(container):
    client = support()

    asked = text_of(post(client, "?type=long-term", action="unpin", all="yes"))
    pins = re.search(r'name="pins" value="([^"]+)"', asked)[1]
    post(client, "?type=long-term", action="unpin", pins=pins, sure="yes", reason="spring cleaning")

    assert "Unpin 3 pins" in asked
    assert list(Pin.objects.values_list("target_type", flat=True)) == ["sessions"]


def test_one_step_takes_a_bounded_number_and_says_what_is_left(container, monkeypatch):
    monkeypatch.setattr("memadmin.pages.pin_review.MOST_AT_ONCE", 3)

    asked = text_of(post(support(), action="keep", all="yes"))

    assert "Keep 3 pins" in asked
    assert "One step takes 3: 1 more of this list are left" in asked


def test_what_changed_between_the_tick_and_the_answer_is_left_and_told(container):
    client = support()
    given = ",".join(ticks(client))
    pinning.unpin(LongTermMemory.objects.get(text="of ben"), actor=ACTOR, now=NOON)
    other = Pin.objects.get(reason="the canary is allergic")
    pinning.keep(other, reason="looked", actor=ACTOR, now=NOON, review_on=None)

    done = text_of(post(client, action="unpin", pins=given, sure="yes", reason="over"))

    assert "2 pins were taken away" in done
    assert "2 pins were changed, unpinned or gone meanwhile, and left as they are" in done
    assert list(Pin.objects.all()) == [other]


def test_ticks_that_are_all_gone_are_not_asked_about(container):
    client = support()
    given = ticks(client)
    Pin.objects.all().delete()

    answer = text_of(post(client, action="keep", pin=given))

    assert "Nothing is done: what you ticked was unpinned meanwhile, or has gone." in answer
    assert "Keep 0 pins" not in answer


def test_a_review_posted_twice_does_its_work_once(container):
    client = support()
    given = {"action": "keep", "pins": ",".join(ticks(client)), "sure": "yes", "reason": "seen"}

    post(client, **given)
    post(client, **given)

    assert AuditEntry.objects.filter(action="pin.reviewed").count() == 4


@pytest.mark.parametrize("pins", ["", "x", "1:1:1,-1:1", "9" * 30 + ":1", "١:1", "1:"])
def test_nonsense_in_the_ticks_is_no_pin(container, pins):
    answer = text_of(post(support(), action="unpin", pins=pins, sure="yes", reason="try"))

    assert "Tick at least one pin" in answer
    assert Pin.objects.count() == 4


def test_a_pin_of_something_that_has_gone_is_shown_as_such(container):
    Session.objects.all()._raw_delete("default")

    text = page(support(), type="sessions")

    assert "gone" in text
    assert "1 pins" not in text


def test_htmx_gets_the_table_alone_and_an_empty_store_says_what_a_pin_is(db):
    client = editor()

    part = client.get(LIST, headers=HTMX)

    assert part.content.lstrip().startswith(b'<div id="table"')
    assert "Nothing is pinned" in text_of(part)
    assert client.get(REVIEW).status_code == 405


def test_only_who_may_pin_reviews(container):
    answer = auditor().post(REVIEW, {"action": "unpin", "pins": "1:1", "sure": "yes", "reason": "x y"})

    assert answer.status_code == 403
    assert reverse("pages:pin-list") == LIST


def test_the_register_costs_as_many_queries_for_many_containers_as_for_one(container):
    client = support()
    client.get(LIST)
    with CaptureQueriesContext(connection) as one:
        client.get(LIST)
    for number in range(4):
        publish(make_container(f"more {number}"), a_policy(relevance={"ttl_days": 365}))
    with CaptureQueriesContext(connection) as five:
        client.get(LIST)

    assert len(five) == len(one)
