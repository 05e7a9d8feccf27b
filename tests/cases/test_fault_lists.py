"""Faults of lists, counts and pages that others had: numbers as in docs/cases.md."""

import re

import pytest
from django.db import OperationalError

from memadmin.store.models import ItemType, LongTermMemory
from memadmin.store.removal import remove_by_hand
from tests.cases.governing import address, under, words
from tests.cases.seen import look
from tests.factories import NOON, a_memory, a_message, a_session, days, make_container, make_memory, store, subject_of
from tests.people import HTMX
from tests.runs import carry_out, fill, preview

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def walk(client, url, *, between=lambda number: None):
    """Turn all pages of a list, and return what its excerpts say, page by page."""
    seen, number = [], 0
    while url:
        answer = client.get(url)
        page = answer.content.decode()
        seen += re.findall(r"fact \d+\.", page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        url = following[1].replace("&amp;", "&") if following else ""
        between(number := number + 1)
    return seen


def facts(number, **details):
    return [a_memory(f"fact {each}.", created_at=NOON - days(1), **details) for each in range(number)]


def test_f31_the_large_numbers_are_those_of_the_store(reader):
    container = make_container()
    store(container, *facts(610), *facts(7, user_id="ben"), a_session(), a_message())

    pages = [
        look(reader, view, *arguments) for view, arguments in (("overview", []), ("container-list", []), ("user-list", [container.uid]))
    ]
    of_ann = look(reader, "user-memories", subject_of(container).uid)

    assert all(page.says(617) for page in pages[:2])
    assert pages[2].says(610)
    assert "of 610 memories" in of_ann.flat


@pytest.mark.parametrize("sort", ["score", "created", "tokens"])
def test_f32_f33_every_row_of_a_long_list_is_reached_once(reader, sort):
    container = make_container()
    store(container, *facts(313, tokens=3))

    seen = walk(reader, f"{address('user-memories', subject_of(container).uid)}?sort={sort}")

    assert len(seen) == len(set(seen)) == 313


@pytest.mark.parametrize("after", ["1000", "-1", "x", "e30", "W10", "WzEsMiwzXQ", "\u0663", "A" * 5_000, "WzFlOTk5LDEsMCwxXQ"])
def test_f32_a_place_that_no_page_named_is_told_and_the_list_begins_anew(reader, after):
    container = make_container()
    store(container, *facts(60))

    page = look(reader, "user-memories", subject_of(container).uid, after=after)

    assert "This address names no place in the list. This is its beginning." in page.flat
    assert "1\u201350 of 60 memories" in page.flat


@pytest.mark.parametrize(
    "query",
    [{"sort": "x"}, {"state": "x"}, {"at": "-1"}, {"at": "9" * 30}, {"at": "1"}, {"down": "x"}, {"limit": "5000"}, {"strategy": "x" * 65}],
)
def test_f32_a_value_that_a_list_does_not_know_breaks_nothing(reader, query):
    container = make_container()
    store(container, *facts(3))

    page = look(reader, "user-memories", subject_of(container).uid, **query)

    assert page.status == 200
    assert "of 3 memories" in page.flat or page.words_in("field-error")


@pytest.mark.parametrize("sort", ["score", "created", "accessed", "tokens", "hits"])
def test_f36_no_row_of_equals_is_shown_twice_or_left_out_while_others_go(reader, sort):
    container = make_container()
    store(container, *facts(120))
    url = address("user-memories", subject_of(container).uid)

    def remove_the_fifth(number):
        if number == 1:
            remove_by_hand(ItemType.LONG_TERM, [LongTermMemory.objects.order_by("id")[4].pk])

    seen = walk(reader, f"{url}?sort={sort}", between=remove_the_fifth)

    assert len(seen) == len(set(seen)) == 120


def test_f35_a_filter_that_loses_its_last_row_offers_the_way_back(reader):
    container = make_container()
    memory = make_memory(container, strategy_type="PROJECT")
    make_memory(container, "likes tea")
    remove_by_hand(ItemType.LONG_TERM, [memory.pk])

    page = look(reader, "user-memories", subject_of(container).uid, htmx=True, strategy="PROJECT")

    (way_back,) = [
        each.attributes["href"] for each in page.all if each.words.strip() == "Show all" or "Reset filters" in each.words if each.tag == "a"
    ]
    assert "likes tea" in words(reader.get(way_back))


def test_f37_after_something_went_every_number_is_the_new_one(reader):
    container = under(ttl_days=10)
    fill(container, 12)
    subject = subject_of(container)

    run = carry_out(preview(container))

    pages = [look(reader, view, subject.uid) for view in ("user-memories", "user-header", "user-sessions")]
    assert run.removed == 2
    assert "1\u201310 of 10 memories" in pages[0].flat
    assert all("Memories 10" in page.flat and "Archive 2" in page.flat for page in pages)
    assert all(look(reader, view, *arguments).says(10) for view, arguments in (("overview", []), ("user-list", [container.uid])))


def test_f37_a_change_of_one_row_has_the_header_fetch_itself_anew(reader):
    memory = make_memory(make_container())

    answer = reader.post(f"{address('memory-pin', memory.uid)}?part=row", {"reason": "allergy", "part": "row"}, headers=HTMX)
    header = look(reader, "user-header", memory.subject.uid, htmx=True)

    assert "memory-changed" in answer.headers["HX-Trigger"]
    assert "memory-changed from:body" in [each.attributes.get("hx-trigger") for each in header.all]
    assert "Pinned1" in header.flat


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "part"])
@pytest.mark.parametrize(
    ("view", "breaks"), [("user-memories", "memadmin.pages.memories.memories_of"), ("user-sessions", "memadmin.pages.sessions.in_order")]
)
def test_c03_f42_a_list_that_cannot_be_read_says_so_and_never_that_there_is_nothing(reader, monkeypatch, headers, view, breaks):
    subject = make_memory(make_container()).subject

    def fail(*args, **kwargs):
        raise OperationalError("the database went away")

    monkeypatch.setattr(breaks, fail)
    reader.raise_request_exception = False
    answer = reader.get(address(view, subject.uid), headers=headers)

    assert answer.status_code == 500
    assert "could not be loaded" in words(answer)
    assert not re.search(r"No .* yet|\b0 (memories|sessions)", words(answer))


def test_c04_counts_of_each_user_and_risks_of_a_policy_are_of_all_rows(reader, boss):
    container = under(ttl_days=10, max_records=10_000)
    store(container, *facts(10_001), *facts(3, user_id="zoe"), a_memory("old", user_id="zoe", days_old=20))

    listed = look(reader, "user-list", container.uid)
    run = preview(container)

    assert listed.says(10_001)
    assert listed.says(4)
    assert run.planned == 2
    assert "Names 2 items of 2 users" in look(boss, "run-detail", run.number).flat
