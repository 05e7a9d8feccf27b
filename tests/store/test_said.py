import pytest

from memadmin.store import said
from memadmin.store.models import Session, WorkingMemory
from tests.factories import NOON, a_message, a_session, days, make_container, store, subject_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann(db):
    container = make_container()
    store(
        container,
        *(a_session(name, days_old=9) for name in ("tea", "coffee")),
        a_message("I like green TEA, really", session_ref="tea", created_at=NOON - days(3)),
        a_message("more tea", session_ref="tea", created_at=NOON - days(2)),
        a_message("coffee at noon", session_ref="coffee", created_at=NOON - days(1)),
        a_message("a cup of tea", session_ref="tea", user_id="ben"),
    )
    return subject_of(container)


def looked_for(text, subject):
    return said.look_for(text, subject, Session.objects.of_subject(subject))


def names(looked):
    return set(Session.objects.filter(pk__in=looked.found).values_list("external_id", flat=True))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tea", {"tea"}),
        ("green tea,", {"tea"}),
        ("NOON", {"coffee"}),
        ("e", {"tea", "coffee"}),
        ("user", set()),
        ("content", set()),
        ("%", set()),
    ],
)
def test_a_text_is_found_in_what_was_said_whatever_its_case_and_nowhere_else(ann, text, found):
    assert names(looked_for(text, ann)) == found


def test_the_newest_entry_that_says_it_is_named(ann):
    (uid,) = looked_for("tea", ann).found.values()

    assert WorkingMemory.objects.get(uid=uid).messages[0]["content"] == "more tea"


def test_another_persons_words_are_not_looked_at(ann):
    assert looked_for("cup", ann).found == {}
    assert looked_for("cup", ann).entries == 3


def test_only_the_given_sessions_are_looked_through(ann):
    looked = said.look_for("e", ann, Session.objects.filter(external_id="coffee"))

    assert (names(looked), looked.entries) == ({"coffee"}, 1)


@pytest.mark.parametrize(("limit", "value"), [("MOST_ENTRIES", 2), ("MOST_CHARACTERS", 15)])
def test_it_stops_at_its_limit_and_tells_how_far_it_came(ann, monkeypatch, limit, value):
    monkeypatch.setattr(said, limit, value)

    looked = looked_for("green", ann)

    assert (looked.found, looked.entries, looked.complete, looked.back_to) == ({}, 2, False, NOON - days(2))


def test_a_look_through_everything_says_so(ann, monkeypatch):
    monkeypatch.setattr(said, "MOST_ENTRIES", 3)

    assert looked_for("green", ann).complete


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        ([{"role": "user", "content": "hi"}], ["hi"]),
        ([{"role": "user", "content_text": "hi"}], ["hi"]),
        ([{"content": [{"type": "text", "text": "a"}, "b", {"type": "image_url", "image_url": {"url": "c"}}]}], ["a", "b"]),
        ([{"content": {"text": "a"}}], ["a"]),
        ([{"content": None, "tool_calls": [{"name": "x"}]}, {"content": 7}, "loose", None, 3], []),
        ({"content": "one"}, ["one"]),
        ([], []),
        (None, []),
    ],
)
def test_what_was_said_is_the_content_of_messages_in_whatever_form(messages, texts):
    assert list(said.texts_of(messages)) == texts
