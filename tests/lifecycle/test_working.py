"""The SQL names the working memories that `retention.orphans` names: the same rows, reasons and backlog, on random stores."""

from datetime import timedelta

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.lifecycle.selection import COLUMNS
from memadmin.lifecycle.working import seed_of, select_lost
from memadmin.store.models import Session, WorkingMemory
from retention.orphans import Terms, WorkingFacts, sweep
from retention.victims import Reason
from tests.factories import NOON, a_message, a_session, make_container, store

pytestmark = pytest.mark.django_db
AGES = st.none() | st.sampled_from([0, 6.9, 7, 8, 29, 30, 30.5, 400, -2])
NAMESPACES = st.sampled_from([{}, {"agent_id": "a"}, {"agent_id": None}, {"session_id": " "}, {"topic": "x"}, {"user_id": "u"}])
MESSAGES = st.builds(
    dict,
    age=AGES,
    session_ref=st.none() | st.sampled_from(["s1", "s2", "S2", "ß", "s 3", "'"]),
    user_id=st.sampled_from(["ann", None, ""]),
    namespace=NAMESPACES,
    session_gone=st.booleans(),
    held=st.sampled_from([False, False, False, True]),
)
DAYS = st.none() | st.sampled_from([7, 30]).map(lambda days: timedelta(days=days))
TERMS = st.builds(
    Terms,
    ttl=DAYS,
    orphan_age=DAYS,
    baseline_at=st.none() | st.sampled_from([NOON, NOON - timedelta(days=7), NOON - timedelta(days=90)]),
    unattributed=st.booleans(),
)


def facts_of(container, row):
    names = [row.namespace.get(name) for name in ("session_id", "user_id", "agent_id")]
    there = Session.objects.filter(container=container, external_id=row.session_ref).exists()
    return WorkingFacts(
        key=row.pk,
        created_at=row.created_at,
        session_ref=row.session_ref,
        held=row.held,
        has_session=row.session_id is not None or there,
        names_somebody=row.subject.user_id is not None or any(name is not None for name in names),
    )


def selected(container, terms, *, cap):
    lost = select_lost(container, terms, now=NOON, cap=cap)
    if lost is None:
        return [], 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {COLUMNS} FROM ({lost.sql}) v")
        rows = cursor.fetchall()
    return sorted((row[0], Reason.from_bits(row[3])) for row in rows), lost.left_for_later


@given(
    messages=st.lists(MESSAGES, max_size=14),
    terms=TERMS,
    cap=st.sampled_from([50_000, 1, 2]),
    sessions=st.sets(st.sampled_from(["s1", "ß"])),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_database_names_the_lost_ones_that_the_rules_name(db, messages, terms, cap, sessions):
    container = make_container()
    store(make_container("other"), a_session("s2"))
    store(container, *(a_session(name, user_id="bob") for name in sorted(sessions)))
    for message in messages:
        age, held = message.pop("age"), message.pop("held")
        store(container, a_message(created_at=None if age is None else NOON - timedelta(days=age), **message))
        WorkingMemory.objects.filter(pk=WorkingMemory.objects.order_by("-pk").values("pk")[:1]).update(held=held)
    facts = [facts_of(container, row) for row in WorkingMemory.objects.of_container(container).select_related("subject")]

    expected = sweep(facts, terms, now=NOON, seed=seed_of(container, NOON), cap=cap)

    if terms.ttl is None or terms.orphan_age is None:  # no container has both
        found, left = selected(container, terms, cap=cap)
        assert found == sorted((victim.key, (victim.reason,)) for victim in expected.victims)
        assert left == expected.left_for_later
