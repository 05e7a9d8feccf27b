"""The threshold algorithm gives what the scan gives: the same ids in the same order, whatever weights, ties and missing dates there are."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.store import lowest as lowest_module
from memadmin.store.lowest import Crowd, Lowest, by_scan, by_threshold, has_indexes, lowest, static_sql, table_sql
from memadmin.store.models import LongTermMemory, Subject
from memadmin.store.scoring import microseconds
from retention.records import MemoryFacts
from retention.rules import RelevanceRule
from retention.scoring import Weights, score
from tests.factories import NOON, a_memory, a_pin, days, make_container, store, subject_of

pytestmark = pytest.mark.django_db
RULES = st.builds(
    RelevanceRule,
    half_life_hours=st.sampled_from([720.0, 0.01, 87_600.0]),
    weights=st.sampled_from(
        [
            Weights(),
            Weights(0.0, 0.0, 1.0),
            Weights(0.7, 0.3, 0.0),
            Weights(1.0, 0.0, 0.0),
            Weights(0.1, 0.3, 0.6),
            Weights(0.34, 0.33, 0.33),
        ]
    ),
)
AGES = st.sampled_from([0, 1, 30, 30, 365, 5000, -3]) | st.integers(-2, 40)
TIMES = st.none() | AGES.map(lambda age: NOON - timedelta(days=age)) | AGES.map(lambda age: NOON - timedelta(days=age, microseconds=1))
MEMORIES = st.builds(
    dict,
    user_id=st.sampled_from(["ann", "ann", "ann", "bob", None]),
    created_at=TIMES,
    last_accessed_at=TIMES,
    hits=st.sampled_from([0, 0, 0, 1, 7, 100, 5000]),
    importance=st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.5, 0.8, 1.0]) | st.floats(0, 1),
    pinned=st.sampled_from([False, False, False, True]),
    held=st.sampled_from([False, False, False, True]),
)


@contextmanager
def short_lists():
    """Lists are read two rows at a time, so that a small store needs several rounds, and to their end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lowest_module, "FIRST_READ", 2)
        patch.setattr(lowest_module, "LONGER", 2)
        patch.setattr(Crowd, "size", lambda crowd: 10_000)
        yield


def fill(container, rows):
    details = [{name: value for name, value in row.items() if name not in {"pinned", "held"}} for row in rows]
    store(container, *(a_memory(f"{n}", pin=a_pin() if row["pinned"] else None, **details[n]) for n, row in enumerate(rows)))
    held = [str(n) for n, row in enumerate(rows) if row["held"]]
    LongTermMemory.objects.filter(container=container, text__in=held).update(held=True)


def by_the_rules(crowd: Crowd, rule: RelevanceRule) -> list[Lowest]:
    """What `retention.scoring` says, sorted in Python."""
    rows = LongTermMemory.objects.of_container(crowd.container).exposed()
    rows = rows.of_subject(crowd.subject) if crowd.subject else rows
    return sorted(
        Lowest(score(facts_of(row), weights=rule.weights, half_life=rule.half_life, now=NOON).millionths, access(row, rule), row.pk)
        for row in rows
    )


def facts_of(row) -> MemoryFacts:
    dates = {name: getattr(row, name) for name in ("created_at", "last_updated_at", "last_accessed_at", "hits", "importance")}
    return MemoryFacts(key=row.pk, **dates)


def access(row, rule) -> int:
    counts_from = row.last_accessed_at or (row.created_at and row.created_at - rule.half_life)
    return microseconds(counts_from) if counts_from else lowest_module.NEVER


@given(
    rows=st.lists(MEMORIES, min_size=1, max_size=30), rule=RULES, count=st.sampled_from([1, 2, 5, 40]), place=st.none() | st.integers(0, 29)
)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_lists_the_scan_and_the_rules_agree(db, rows, rule, count, place):
    container = make_container()
    fill(container, rows)

    for crowd in (Crowd(container), *(Crowd(container, subject) for subject in Subject.objects.all())):
        ranked = by_the_rules(crowd, rule)
        start = 0 if place is None else min(place, len(ranked)) + 1
        behind = ranked[start - 1] if 0 < start <= len(ranked) else None
        expected = ranked[start if behind else 0 :][:count]

        assert by_scan(crowd, rule, now=NOON, count=count, behind=behind) == expected
        with short_lists():
            assert by_threshold(crowd, rule, now=NOON, count=count, behind=behind) == expected


def test_the_lists_end_before_all_is_read(monkeypatch):
    monkeypatch.setattr(lowest_module, "FIRST_READ", 4)
    container = make_container()
    store(container, *(a_memory(f"{n}", days_old=n, importance=1 - n / 100) for n in range(100)))
    read = []
    beginnings = lowest_module._beginnings
    monkeypatch.setattr(lowest_module, "_beginnings", lambda *args, **named: read.append(args[2]) or beginnings(*args, **named))

    found = lowest(container, RelevanceRule(), now=NOON, count=1)

    assert LongTermMemory.objects.get(pk=found[0].id).text == "99"
    assert read == [4]


def test_where_it_cannot_win_the_scan_answers(monkeypatch):
    """Old and worthless memories exclude each other here: no beginning says anything about the sum."""
    monkeypatch.setattr(lowest_module, "FIRST_READ", 1)
    container = make_container()
    store(container, *(a_memory(f"{n}", days_old=n, importance=n / 400) for n in range(400)))
    crowd, rule = Crowd(container), RelevanceRule(half_life_hours=2_000)

    assert by_threshold(crowd, rule, now=NOON, count=5) is None
    assert lowest(container, rule, now=NOON, count=5) == by_the_rules(crowd, rule)[:5]


def test_without_its_indexes_the_scan_answers():
    container = make_container()
    store(container, a_memory())
    crowd = Crowd(container, subject_of(container))
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX longterm_subject_unread")

    assert not has_indexes(crowd)
    assert has_indexes(Crowd(container))
    assert by_threshold(crowd, RelevanceRule(), now=NOON, count=1) is None
    assert [row.id for row in lowest(container, RelevanceRule(), now=NOON, count=1, subject=crowd.subject)] == [
        LongTermMemory.objects.get().pk
    ]


@pytest.mark.parametrize("of_user", [False, True])
def test_a37_each_list_is_read_out_of_its_index(of_user):
    container = make_container()
    store(container, *(a_memory(f"{n}", days_old=n, user_id="ann" if n % 20 else f"user-{n}") for n in range(600)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE store_longtermmemory")
    crowd = Crowd(container, subject_of(container, "user-20") if of_user else None)
    lists = [("last_accessed_at IS NOT NULL", "m.last_accessed_at"), (crowd.unread, "m.created_at"), ("1 = 1", static_sql())]

    plans = "\n".join(plan_of(crowd, rows, key) for rows, key in lists)

    expected = crowd.indexes if of_user else [*crowd.indexes, "longterm_by_creation"]
    assert [name for name in expected if name not in plans] == []
    assert [word for word in ("sort", "temp b-tree") if word in plans.lower()] == []


def plan_of(crowd: Crowd, rows: str, key: str) -> str:
    statement = f"SELECT m.id FROM {table_sql(crowd, key)} WHERE {crowd.condition} AND {rows} ORDER BY {crowd.keys}, {key}, m.id LIMIT 2"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for way in ("seqscan", "sort", "bitmapscan", "incremental_sort"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(("EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN ") + statement)
        return "\n".join(str(line[-1]) for line in cursor.fetchall())


def test_an_empty_container_has_no_lowest():
    assert lowest(make_container(), RelevanceRule(), now=NOON, count=5) == []


def test_memories_of_the_future_count_as_of_now():
    container = make_container()
    store(container, a_memory("future", last_accessed_at=NOON + days(9)), a_memory("now", last_accessed_at=NOON))

    found = lowest(container, RelevanceRule(), now=NOON, count=2)

    assert [row.score for row in found] == [found[0].score] * 2
    assert [LongTermMemory.objects.get(pk=row.id).text for row in found] == ["now", "future"]
