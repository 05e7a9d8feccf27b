import pytest

from memadmin.store import measures
from memadmin.store.measures import measure
from tests.factories import NOON, a_memory, a_message, days, make_container, make_session, store

pytestmark = pytest.mark.django_db


def test_a56_records_and_tokens_per_user_are_spread_by_nearest_rank():
    container = make_container()
    for number in range(1, 11):
        store(container, *(a_memory(f"m{at}", user_id=f"u{number}", tokens=10) for at in range(number)))
    store(container, a_memory(user_id=None))

    found = measure(container, now=NOON)

    assert found.memories.by_share == [(50, 5), (90, 9), (99, 10), (100, 10)]
    assert found.tokens.by_share == [(50, 50), (90, 90), (99, 100), (100, 100)]
    assert found.memories.of == 10


def test_a56_growth_is_counted_by_week_and_ends_with_this_one():
    container = make_container()
    store(container, a_memory(days_old=0), a_memory("b", days_old=8), a_memory("c", days_old=8), a_memory("old", days_old=400))
    store(container, a_memory("ahead", created_at=NOON + days(3)), a_memory("undated", created_at=None))

    weeks = measure(container, now=NOON, weeks=3).weeks

    assert [(week.begin.isoformat(), week.created) for week in weeks] == [("2026-02-09", 0), ("2026-02-16", 2), ("2026-02-23", 1)]


def test_a56_session_events_are_counted_empty_sessions_too(monkeypatch):
    monkeypatch.setattr(measures, "SESSIONS", 3)
    container = make_container()
    for number, messages in enumerate((0, 4, 2)):
        make_session(container, f"s-{number}", messages=messages)
    make_session(container, "s-old", days_old=90, messages=9)
    store(container, a_message("lost", session_ref=None))

    found = measure(container, now=NOON)

    assert found.events.by_share == [(50, 2), (90, 4), (99, 4), (100, 4)]
    assert found.sessions_left_out == 1


def test_an_empty_container_has_nothing_to_measure():
    found = measure(make_container(), now=NOON)

    assert (found.memories.of, found.events.of, found.sessions_left_out) == (0, 0, 0)
    assert sum(week.created for week in found.weeks) == 0
