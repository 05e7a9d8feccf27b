"""Laws that hold for every rule, on random stores."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention.policy import MemoryType, NotGiven, RetentionPolicy
from retention.victims import AgeFrom, Reason, cut_line, long_term_victims, relevance_victims, retention_victims
from tests.retention.facts import NOON, keys
from tests.retention.strategies import newcomers, policies, relevance_rules, retention_rules, stores

CAPS = {Reason.COUNT, Reason.OVERSIZED, Reason.MAX_RECORDS, Reason.MAX_TOKENS}


def by_last_change(memories, rule):
    return retention_victims(memories, rule, now=NOON)


def by_creation(memories, rule):
    return retention_victims(memories, rule, now=NOON, age_from=AgeFrom.CREATED)


def in_small_runs(memories, rule):
    return retention_victims(memories, rule, now=NOON, count_cap=2)


def by_relevance(memories, rule):
    return relevance_victims(memories, rule, now=NOON)


def by_policy(memories, rule):
    return long_term_victims(memories, rule, now=NOON)


every_rule = pytest.mark.parametrize(
    ("judge", "rules"),
    [
        pytest.param(by_last_change, retention_rules, id="retention, by last change"),
        pytest.param(by_creation, retention_rules, id="retention, by creation"),
        pytest.param(in_small_runs, retention_rules, id="retention, two per run"),
        pytest.param(by_relevance, relevance_rules, id="relevance"),
        pytest.param(by_policy, policies, id="both"),
    ],
)


def without(memories, victims):
    gone = set(keys(victims))
    return [m for m in memories if m.key not in gone]


@every_rule
@given(data=st.data(), memories=stores)
def test_exempt_memories_are_never_chosen(judge, rules, data, memories):
    exempt = {m.key for m in memories if m.pinned or m.held}

    assert exempt.isdisjoint(keys(judge(memories, data.draw(rules))))


@every_rule
@given(data=st.data(), memories=stores)
def test_the_result_does_not_depend_on_the_order_of_the_input(judge, rules, data, memories):
    rule = data.draw(rules)

    assert judge(memories, rule) == judge(sorted(memories, key=lambda m: m.key), rule)


@every_rule
@given(data=st.data(), memories=stores)
def test_each_victim_is_named_once_with_its_reasons_in_order_of_precedence(judge, rules, data, memories):
    victims = judge(memories, data.draw(rules))

    assert len(set(keys(victims))) == len(victims)
    assert set(keys(victims)) <= {m.key for m in memories}
    assert all(v.reasons == Reason.from_bits(sum(r.bit for r in v.reasons)) and v.reason is v.reasons[0] for v in victims)


@every_rule
@given(data=st.data(), memories=stores)
def test_judging_the_survivors_at_the_same_time_finds_nobody_more(judge, rules, data, memories):
    rule = data.draw(rules)

    survivors = without(memories, judge(memories, rule))

    again = judge(survivors, rule)
    assert again == [] or judge is in_small_runs  # a capped run leaves the rest to the next one


@every_rule
@given(data=st.data(), memories=stores, newcomer=newcomers)
def test_adding_a_memory_never_saves_one_past_its_age_or_ttl(judge, rules, data, memories, newcomer):
    rule = data.draw(rules)

    def expired(victims):
        return {v.key for v in victims if {Reason.AGE, Reason.TTL} & set(v.reasons)}

    assert expired(judge(memories, rule)) - {99} <= expired(judge([*memories, newcomer], rule))


@every_rule
@given(data=st.data(), memories=stores)
def test_pinning_a_victim_saves_it(judge, rules, data, memories):
    rule = data.draw(rules)

    for victim in judge(memories, rule)[:3]:
        pinned = [replace(m, pinned=True) if m.key == victim.key else m for m in memories]
        assert victim.key not in keys(judge(pinned, rule))


@every_rule
@given(data=st.data(), memories=stores)
def test_an_undated_memory_goes_by_number_only(judge, rules, data, memories):
    undated = [replace(m, created_at=None, last_updated_at=None, last_accessed_at=None) for m in memories]

    assert all(set(v.reasons) <= CAPS for v in judge(undated, data.draw(rules)))


@given(memories=stores, rule=retention_rules)
def test_after_removal_the_count_holds_and_nobody_left_is_past_the_age(memories, rule):
    left = [m for m in without(memories, by_last_change(memories, rule)) if not m.exempt]

    assert rule.count_limit is None or len(left) <= rule.count_limit
    assert rule.age_limit is None or all(m.last_updated_at is None or m.last_updated_at >= NOON - rule.age_limit for m in left)


@given(memories=stores, rule=relevance_rules)
def test_after_removal_both_caps_hold_or_only_exempt_memories_are_left(memories, rule):
    left = without(memories, by_relevance(memories, rule))
    fits = rule.max_records is None or len(left) <= rule.max_records
    fits &= rule.max_tokens is None or sum(m.tokens for m in left) <= rule.max_tokens

    assert fits or all(m.exempt for m in left)


@given(memories=stores, rule=relevance_rules)
def test_nobody_goes_by_number_who_did_not_have_to(memories, rule):
    victims = by_relevance(memories, rule)
    by_number = [v for v in victims if v.reason is not Reason.TTL]
    tokens = {m.key: m.tokens for m in memories}

    for position, victim in enumerate(by_number):
        left = without(memories, victims)
        still_there = keys(by_number[position:])
        too_many = rule.max_records is not None and len(left) + len(still_there) > rule.max_records
        held = sum(m.tokens for m in left) + sum(tokens[key] for key in still_there)
        assert (Reason.MAX_RECORDS in victim.reasons) == too_many
        assert (Reason.MAX_TOKENS in victim.reasons) == (rule.max_tokens is not None and held > rule.max_tokens)


@given(memories=stores, rule=relevance_rules)
def test_whoever_stays_scores_no_lower_than_whoever_went_by_number(memories, rule):
    by_number = [v.score for v in by_relevance(memories, rule) if v.reason in (Reason.MAX_RECORDS, Reason.MAX_TOKENS)]
    line = cut_line(memories, rule, now=NOON)

    assert not by_number or line is None or max(by_number) <= line


@pytest.mark.parametrize("limit", ["retention_days", "max_count"])
@given(data=st.data(), memories=stores, rule=retention_rules)
def test_raising_a_limit_of_retention_adds_no_victims(limit, data, memories, rule):
    value = getattr(rule, limit)
    raised = replace(rule, **{limit: None if value is None or isinstance(value, NotGiven) else value + data.draw(st.integers(0, 9))})

    assert set(keys(by_last_change(memories, raised))) <= set(keys(by_last_change(memories, rule)))


@given(memories=stores, rule=relevance_rules, more=st.none() | st.integers(0, 9))
def test_raising_the_record_cap_adds_no_victims(memories, rule, more):
    raised = replace(rule, max_records=None if more is None or rule.max_records is None else rule.max_records + more)

    assert set(keys(by_relevance(memories, raised))) <= set(keys(by_relevance(memories, rule)))


@given(memories=stores, rule=relevance_rules, more=st.none() | st.integers(0, 900))
def test_raising_the_token_cap_adds_no_victims_as_long_as_the_same_ones_are_oversized(memories, rule, more):
    raised = replace(rule, max_tokens=None if more is None or rule.max_tokens is None else rule.max_tokens + more)
    low, high = (cap if cap is not None else 10**9 for cap in (rule.max_tokens, raised.max_tokens))
    # What is no longer oversized queues by its score again, so that others may have to make room for it.
    memories = [m for m in memories if not low < m.tokens <= high]

    assert set(keys(by_relevance(memories, raised))) <= set(keys(by_relevance(memories, rule)))


@given(memories=stores, rule=relevance_rules, more=st.none() | st.integers(0, 9))
def test_raising_the_ttl_expires_nobody_more(memories, rule, more):
    raised = replace(rule, ttl_days=None if more is None or rule.ttl_days is None else rule.ttl_days + more)

    def expired(by_rule):
        return {v.key for v in by_relevance(memories, by_rule) if v.reason is Reason.TTL}

    assert expired(raised) <= expired(rule)


@given(memories=stores, policy=policies)
def test_the_policy_judges_as_its_rules_judge_one_after_the_other(memories, policy):
    first = by_last_change(memories, policy.rule(MemoryType.LONG_TERM))
    left = without(memories, first)
    subjects = sorted({m.subject for m in left})
    second = [
        v for subject in subjects if policy.relevance for v in by_relevance([m for m in left if m.subject == subject], policy.relevance)
    ]

    both = by_policy(memories, policy)

    assert [(v.key, v.reason) for v in both] == [(v.key, v.reason) for v in [*first, *second]]
    assert both[len(first) :] == second


@given(memories=stores, rule=retention_rules)
def test_a_policy_without_relevance_is_its_retention_rule(memories, rule):
    assert by_policy(memories, RetentionPolicy({MemoryType.LONG_TERM: rule})) == by_last_change(memories, rule)
