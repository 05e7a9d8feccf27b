"""Every figure of the what-if page against the reference meaning, on random stores."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memadmin.lifecycle import whatif
from memadmin.lifecycle.explain import facts_of
from memadmin.store.models import LongTermMemory, Subject
from retention.rules import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.scoring import Weights, score
from retention.victims import cut_line, long_term_victims, retention_victims
from tests.factories import NOON, a_memory, a_pin, a_session, days, make_container, store
from tests.runs import a_policy

pytestmark = pytest.mark.django_db
quick = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])

drawn = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cid"]),
        st.sampled_from([None, 1, 30, 100, 364.99, 365, 400]),
        st.sampled_from([None, None, 2, 50]),
        st.sampled_from([0.0, 0.1, 0.5, 1.0]),
        st.sampled_from([0, 10, 70, 300]),
        st.booleans(),
    ),
    max_size=14,
)
limits = st.sampled_from([None, 1, 2, 5])
policies = st.builds(
    lambda age, count, ttl, records, tokens, weights: RetentionPolicy(
        {MemoryType.LONG_TERM: RetentionRule(age, count)}, RelevanceRule(ttl, records, tokens, 720.0, weights)
    ),
    st.sampled_from([None, 90, 380]),
    st.sampled_from([None, 4, 9]),
    st.sampled_from([None, 60, 365]),
    limits,
    st.sampled_from([None, 100, 500]),
    st.sampled_from([Weights(), Weights(1.0, 0.0, 0.0), Weights(0.0, 0.0, 1.0)]),
)


def filled(rows):
    container = make_container(f"c{LongTermMemory.objects.count()}-{Subject.objects.count()}")
    pins = [a_pin() if pinned and importance == 1.0 else None for *_, importance, _, pinned in rows]
    memories = [
        a_memory(
            f"m{at}",
            user_id=user,
            created_at=None if age is None else NOON - days(age),
            last_accessed_at=None if read is None else NOON - days(read),
            hits=0 if read is None else 3,
            importance=importance,
            tokens=tokens,
            pin=pins[at],
        )
        for at, (user, age, read, importance, tokens, _) in enumerate(rows)
    ]
    store(container, *memories)
    return container, [facts_of(row) for row in LongTermMemory.objects.filter(container=container)]


@quick
@given(rows=drawn, policy=policies, later=st.sampled_from([0, 7, 30, 90]))
def test_what_goes_later_is_what_the_reference_takes_then(db, rows, policy, later):
    container, facts = filled(rows)

    totals = whatif.going(container, policy, now=NOON, days=later)

    expected = long_term_victims(facts, policy, now=NOON + days(later))
    assert totals.of(MemoryType.LONG_TERM).by_reason == dict(Counter(victim.reason for victim in expected))


@quick
@given(rows=drawn, policy=policies)
def test_the_histogram_counts_each_memory_once_and_those_that_go(db, rows, policy):
    container, facts = filled(rows)
    rule = policy.relevance

    found = whatif.scores(container, policy, now=NOON)

    points = {each.key: score(each, weights=rule.weights, half_life=rule.half_life, now=NOON).millionths for each in facts}
    going = {victim.key for victim in long_term_victims(facts, policy, now=NOON)}
    bucket = {key: min(value // whatif.BUCKET, whatif.BUCKETS - 1) for key, value in points.items()}
    kinds = {each.key: "exempt" if each.exempt else "goes" if each.key in going else "stays" for each in facts}
    expected = Counter((bucket[key], kind) for key, kind in kinds.items())
    shown = {(at, kind): getattr(bar, kind) for at, bar in enumerate(found.bars) for kind in ("stays", "goes", "exempt")}
    assert {place: number for place, number in shown.items() if number} == dict(expected)
    assert found.lines == expected_lines(facts, policy)


def expected_lines(facts, policy):
    if policy.relevance.max_records is None and policy.relevance.max_tokens is None:
        return None
    taken = {victim.key for victim in retention_victims(facts, policy.rule(MemoryType.LONG_TERM), now=NOON)}
    rest = [each for each in facts if each.key not in taken]
    users = {each.subject for each in rest}
    found = [cut_line([each for each in rest if each.subject == user], policy.relevance, now=NOON) for user in users]
    lines = sorted(line for line in found if line is not None)
    return whatif.Lines(len(lines), lines[0], lines[len(lines) // 2], lines[-1]) if lines else None


@quick
@given(rows=drawn, policy=policies)
def test_a52_what_stays_at_each_cap_is_what_the_reference_leaves(db, rows, policy):
    container, facts = filled(rows)

    found = whatif.kept_at_caps(container, policy, now=NOON, caps=(1, 2, 4))

    for kept in found:
        left = left_at(facts, policy, kept.cap)
        assert (kept.cap, kept.records, kept.tokens) == (kept.cap, len(left), sum(each.tokens for each in left))
    assert [kept.cap for kept in found] == [1, 2, 4, None]


def left_at(facts, policy, cap):
    rule = policy.relevance
    changed = RelevanceRule(rule.ttl_days, cap, rule.max_tokens, rule.half_life_hours, rule.weights)
    gone = {victim.key for victim in long_term_victims(facts, RetentionPolicy(policy.rules, changed), now=NOON)}
    return [each for each in facts if each.key not in gone]


@quick
@given(rows=drawn, policy=policies)
def test_the_heaviest_losers_are_those_of_whom_most_goes(db, rows, policy):
    container, facts = filled(rows)

    found = whatif.heaviest_losers(container, policy, now=NOON, limit=2)

    lost = Counter(victim.subject for victim in long_term_victims(facts, policy, now=NOON))
    expected = sorted(lost.items(), key=lambda item: (-item[1], item[0]))[:2]
    assert [(loser.subject_id, loser.items) for loser in found] == expected


def test_sessions_count_among_what_users_lose_and_other_containers_do_not():
    container, other = make_container(), make_container("other")
    store(
        container,
        a_session("old", days_old=40),
        a_session("young", days_old=1),
        a_memory(days_old=40),
        a_memory(user_id="bob", days_old=40),
    )
    store(other, a_memory(days_old=40))
    policy = a_policy(sessions={"retention_days": 30}, long_term={"retention_days": 30})

    found = whatif.heaviest_losers(container, policy, now=NOON)

    assert [loser.items for loser in found] == [2, 1]
    assert whatif.going(container, policy, now=NOON, days=90).items == 4


def test_a_policy_without_limits_takes_nothing_at_any_time():
    container = make_container()
    store(container, a_memory(days_old=4000))

    assert whatif.going(container, a_policy(), now=NOON, days=90).items == 0
    assert whatif.heaviest_losers(container, a_policy(), now=NOON) == []
    assert whatif.scores(container, a_policy(), now=NOON).lines is None
    assert whatif.scores(container, a_policy(), now=NOON).total == 1


def test_a_later_run_takes_as_many_as_the_nights_until_then_could(monkeypatch):
    monkeypatch.setattr(whatif, "COUNT_CAP", 1)
    container = make_container()
    store(container, *(a_memory(f"m{number}") for number in range(6)))
    policy = a_policy(long_term={"max_count": 1})

    assert [whatif.going(container, policy, now=NOON, days=days).items for days in (0, 2, 90)] == [1, 3, 5]


def test_an_empty_container_has_figures_of_nothing():
    found = whatif.kept_at_caps(make_container(), a_policy(relevance={"max_records": 5}), now=NOON, caps=(5,))

    assert [(kept.cap, kept.records, kept.tokens, kept.users) for kept in found] == [(5, 0, 0, 0), (None, 0, 0, 0)]
