"""The SQL selects whom `retention.victims` names: the same ids, reasons and scores, on random stores."""

from datetime import timedelta

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.lifecycle.models import ItemKind
from memadmin.lifecycle.selection import COLUMNS, select
from memadmin.store.models import Container, HistoryEntry, LongTermMemory, Session
from retention.records import MemoryFacts
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.scoring import Weights
from retention.victims import AgeFrom, Reason, long_term_victims, retention_victims
from tests.factories import NOON, a_change, a_memory, a_pin, a_session, make_container, store

pytestmark = pytest.mark.django_db
MODELS = {ItemKind.SESSION: Session, ItemKind.LONG_TERM: LongTermMemory, ItemKind.HISTORY: HistoryEntry}
USERS = st.sampled_from(["ann", "bob", None])
AGES = st.sampled_from([0, 1, 29, 30, 30.5, 31, 90, 364, 365, 366, 5000, -3]) | st.integers(-2, 40)
TIMES = st.none() | AGES.map(lambda age: NOON - timedelta(days=age)) | AGES.map(lambda age: NOON - timedelta(days=age, microseconds=1))
LIMITS = st.none() | st.integers(1, 8)
RULES = st.builds(RetentionRule, retention_days=st.none() | st.sampled_from([1, 30, 365]), max_count=LIMITS)
RELEVANCE = st.builds(
    RelevanceRule,
    ttl_days=st.none() | st.sampled_from([30, 365]),
    max_records=LIMITS,
    max_tokens=st.none() | st.sampled_from([1, 9, 10, 25, 60]),
    half_life_hours=st.sampled_from([720.0, 0.01, 87_600.0]),
    weights=st.sampled_from([Weights(), Weights(0.0, 0.0, 1.0), Weights(0.7, 0.3, 0.0)]),
)
MEMORIES = st.builds(
    dict,
    user_id=USERS,
    created_at=TIMES,
    last_updated_at=TIMES,
    last_accessed_at=TIMES,
    hits=st.sampled_from([0, 0, 1, 7, 100, 5000]),
    importance=st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.8, 1.0]),
    tokens=st.sampled_from([0, 3, 5, 10, 11, 100]),
    pinned=st.sampled_from([False, False, False, True]),
    held=st.sampled_from([False, False, False, True]),
)


def facts_of(row, **more) -> MemoryFacts:
    return MemoryFacts(
        key=row.pk,
        subject=row.subject_id,
        created_at=row.created_at,
        last_updated_at=getattr(row, "last_updated_at", None),
        pinned=row.pinned,
        held=getattr(row, "held", False),
        **{name: getattr(row, name) for name in ("last_accessed_at", "hits", "importance", "tokens") if hasattr(row, name)},
    )


def fill(container: Container, rows: list[dict]) -> None:
    details = [{name: value for name, value in row.items() if name not in {"pinned", "held"}} for row in rows]
    store(container, *(a_memory(f"{n}", pin=a_pin() if rows[n]["pinned"] else None, **details[n]) for n in range(len(rows))))
    stored = list(LongTermMemory.objects.of_container(container))
    for memory in stored:
        row = rows[int(memory.text)]
        memory.held, memory.last_updated_at = row["held"], row["last_updated_at"]
    LongTermMemory.objects.bulk_update(stored, ["held", "last_updated_at"])


def selected(container: Container, policy: RetentionPolicy, kind: ItemKind, **options):
    """What the SQL selects of one type: id -> (reasons, score)."""
    found = {}
    for selection in select(container, policy, now=NOON, **options):
        if selection.kind == kind:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT {COLUMNS} FROM ({selection.sql}) v")
                names = [column[0] for column in cursor.description]
                for values in cursor.fetchall():
                    row = dict(zip(names, values, strict=True))
                    assert row["item_id"] not in found, "selected twice"
                    found[row["item_id"]] = (Reason.from_bits(row["reasons"]), row["score"])
    return found


def expected(victims):
    return {victim.key: (victim.reasons, victim.score) for victim in victims}


@given(rows=st.lists(MEMORIES, max_size=25), rule=RULES, relevance=st.none() | RELEVANCE, cap=st.sampled_from([50_000, 3]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_database_names_the_victims_that_the_rules_name(db, rows, rule, relevance, cap):
    container = make_container()
    fill(container, rows)
    policy = RetentionPolicy({MemoryType.LONG_TERM: rule}, relevance)

    facts = [facts_of(row) for row in LongTermMemory.objects.of_container(container)]

    assert selected(container, policy, ItemKind.LONG_TERM, count_cap=cap) == expected(
        long_term_victims(facts, policy, now=NOON, count_cap=cap)
    )


@given(rows=st.lists(st.tuples(USERS, TIMES, st.booleans(), st.booleans()), max_size=15), rule=RULES, cap=st.sampled_from([50_000, 2]))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sessions_are_judged_by_their_last_change(db, rows, rule, cap):
    container = make_container()
    store(container, *(a_session(f"{n}", user_id=rows[n][0], pin=a_pin() if rows[n][2] else None) for n in range(len(rows))))
    stored = list(Session.objects.of_container(container))
    for session in stored:
        _, session.last_updated_at, _, session.held = rows[int(session.external_id)]
    Session.objects.bulk_update(stored, ["last_updated_at", "held"])

    found = selected(container, RetentionPolicy({MemoryType.SESSIONS: rule}), ItemKind.SESSION, count_cap=cap)

    facts = [facts_of(row) for row in Session.objects.of_container(container)]
    assert found == expected(retention_victims(facts, rule, now=NOON, count_cap=cap))


@given(rows=st.lists(st.tuples(TIMES, st.booleans()), max_size=15), most=st.integers(1, 8), cap=st.sampled_from([50_000, 2]))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_history_is_limited_by_number_oldest_first(db, rows, most, cap):
    container = make_container()
    store(container, *(a_change(created_at=created, external_id=f"h-{n}") for n, (created, _) in enumerate(rows)))
    pinned = [f"h-{n}" for n, (_, is_pinned) in enumerate(rows) if is_pinned]
    HistoryEntry.objects.filter(container=container, external_id__in=pinned).update(pinned=True)
    rule = RetentionRule(max_count=most)

    found = selected(container, RetentionPolicy({MemoryType.HISTORY: rule}), ItemKind.HISTORY, count_cap=cap)

    facts = [facts_of(row) for row in HistoryEntry.objects.of_container(container)]
    assert found == expected(retention_victims(facts, rule, now=NOON, count_cap=cap, age_from=AgeFrom.CREATED))
