"""The list of a user's sessions: by day, and by what was said."""

from datetime import UTC, datetime

import pytest

from memadmin.store import said
from memadmin.store.models import Session
from tests.cases.seen import look
from tests.factories import NOON, a_memory, a_message, a_session, days, make_container, store, subject_of
from tests.people import HTMX, auditor, support

pytestmark = pytest.mark.django_db
MIDNIGHT = datetime(2026, 2, 20, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def ann(db):
    container = make_container()
    store(
        container,
        a_session("long", created_at=MIDNIGHT - days(10), last_updated_at=MIDNIGHT + days(1)),
        a_session("on the day", created_at=MIDNIGHT, last_updated_at=MIDNIGHT + days(0.999), summary="about Tea"),
        a_session("before", created_at=MIDNIGHT - days(3), last_updated_at=MIDNIGHT - days(0.001)),
        a_session("undated", created_at=None),
        a_message("the canary sings", session_ref="before", created_at=MIDNIGHT - days(2)),
        a_message("and the canary <b>flies</b>", session_ref="long", created_at=MIDNIGHT - days(5)),
    )
    Session.objects.filter(external_id="before").update(last_updated_at=MIDNIGHT - days(0.001))
    return subject_of(container)


def listed(page):
    return [
        name for name in ("long", "on the day", "before", "undated") if any(words.startswith(name) for words in page.words_in(tag="td"))
    ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"from": "2026-02-20", "to": "2026-02-20"}, ["long", "on the day"]),
        ({"from": "2026-02-20"}, ["long", "on the day"]),
        ({"to": "2026-02-19"}, ["long", "before"]),
        ({"from": "2026-02-22"}, []),
        ({"from": "0001-01-01", "to": "9999-12-31"}, ["long", "on the day", "before"]),
        ({}, ["long", "on the day", "before", "undated"]),
    ],
)
def test_a_session_is_of_every_day_from_its_start_to_its_last_change(ann, query, names):
    page = look(support(), "user-sessions", ann.uid, **query)

    assert listed(page) == names
    assert f"of {len(names)} sessions" in page.flat or not names


@pytest.mark.parametrize(
    ("text", "names"),
    [("CANARY", ["long", "before"]), ("tea", ["on the day"]), ("on the", ["on the day"]), ("<b>flies", ["long"]), ("zebra", [])],
)
def test_a_text_finds_sessions_by_what_was_said_summed_up_or_by_their_id(ann, text, names):
    page = look(support(), "user-sessions", ann.uid, q=text)

    assert listed(page) == names
    assert page.foreign() == []


def test_a_hit_leads_to_the_entry_that_says_it(ann):
    client = support()

    (link,) = [href for href in look(client, "user-sessions", ann.uid, q="flies").links() if "entry=" in href]

    assert f'id="{link.partition("#")[2]}"' in client.get(link).content.decode()


def test_a_search_that_did_not_reach_everything_says_so_and_days_take_it_further(ann, monkeypatch):
    monkeypatch.setattr(said, "MOST_ENTRIES", 1)
    client = support()

    page = look(client, "user-sessions", ann.uid, q="flies")
    further = look(client, "user-sessions", ann.uid, q="flies", to="2026-02-16")

    assert listed(page) == []
    assert "Looked through the newest 1 of this user's 2 entries, back to 2026-02-18 00:00:00 UTC." in page.flat
    assert listed(further) == ["long"]
    assert "What was said before was not searched" not in further.flat


def test_who_may_not_read_texts_cannot_search_them(ann):
    page = look(auditor(), "user-sessions", ann.uid, q="zebra")

    assert listed(page) == ["long", "on the day", "before", "undated"]
    assert "Said, summed up" not in page.words


@pytest.mark.parametrize("view", ["user-sessions", "user-memories"])
@pytest.mark.parametrize("query", [{"from": "2026-02-30"}, {"from": "2026-02-21", "to": "2026-02-20"}, {"to": "<script>"}])
def test_wrong_days_list_nothing_and_say_what_to_do(ann, view, query):
    store(ann.container, a_memory("likes tea"))

    page = look(support(), view, ann.uid, htmx=True, **query)

    assert "These days cannot be looked up" in page.words
    assert "Change one of them." in page.words or "Write a day of the calendar like 2026-03-01." in page.words
    assert listed(page) == page.foreign() == page.words_in("excerpt") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"from": "2026-02-20", "to": "2026-02-20"}, ["first moment", "last moment"]),
        ({"from": "2026-02-21"}, ["next day"]),
        ({"to": "2026-02-19"}, []),
        ({"from": "0001-01-01", "to": "9999-12-31"}, ["first moment", "last moment", "next day"]),
        ({}, ["first moment", "last moment", "next day", "undated"]),
    ],
)
def test_memories_are_narrowed_by_the_day_of_their_creation(ann, query, found):
    times = {"first moment": MIDNIGHT, "last moment": MIDNIGHT + days(1) - days(1e-11), "next day": MIDNIGHT + days(1), "undated": None}
    store(ann.container, *(a_memory(text, created_at=at) for text, at in times.items()))

    page = look(support(), "user-memories", ann.uid, sort="created", **query)

    assert page.words_in("excerpt") == found
    assert f"{len(found)} memor" in page.flat or not found


def test_filters_stand_in_the_links_of_the_pages(ann):
    store(ann.container, *(a_session(f"s-{number}", created_at=MIDNIGHT, last_updated_at=MIDNIGHT) for number in range(60)))

    (following,) = look(support(), "user-sessions", ann.uid, q="s-", **{"from": "2026-02-20"}).links(rel="next")

    assert "from=2026-02-20" in following
    assert "q=s-" in following


def test_a_filter_by_htmx_answers_with_the_list_alone(ann):
    answer = support().get(f"/users/{ann.uid}/sessions/", {"q": "canary"}, headers=HTMX).content.decode()

    assert answer.lstrip().startswith('<div id="table"')
