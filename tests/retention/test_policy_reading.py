import contextlib
import math
import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention.policy import NOT_GIVEN, InvalidPolicy, MemoryType, RelevanceRule, RetentionPolicy, RetentionRule, parse_policy, to_document
from retention.scoring import Weights
from tests.retention.documents import FIELDS, LIMITS, document, sessions


def refusal(policy_document):
    with pytest.raises(InvalidPolicy) as refused:
        parse_policy(policy_document)
    return refused.value


def test_a_policy_is_echoed_as_it_was_given():
    given_rules = {"sessions": {"retention_days": 30, "max_count": 100}, "long-term": {"retention_days": 90}, "history": {"max_count": 50}}

    assert to_document(parse_policy({"retention": given_rules})) == {"retention": given_rules, "relevance": None}


def test_omitted_null_and_value_are_three_things():
    rules = parse_policy({"retention": {"sessions": {}, "long-term": {"max_count": None}, "history": {"max_count": 5}}}).rules

    assert [rule.max_count for rule in rules.values()] == [NOT_GIVEN, None, 5]
    assert [rule.count_limit for rule in rules.values()] == [None, None, 5]


def test_an_empty_document_is_a_policy_without_rules():
    assert parse_policy({}) == RetentionPolicy()


def test_an_empty_rule_is_kept_and_limits_nothing():
    rule = parse_policy({"retention": {"sessions": {}}}).rule(MemoryType.SESSIONS)

    assert (rule.age_limit, rule.count_limit) == (None, None)


def test_a_type_without_a_rule_has_no_limits():
    assert parse_policy({}).rule(MemoryType.HISTORY) == RetentionRule()


def test_a31_relevance_takes_the_documented_defaults_for_what_is_omitted():
    assert parse_policy({"relevance": {}}).relevance == RelevanceRule(365, 500, 40_000, 720.0, Weights(0.4, 0.2, 0.4))


def test_relevance_null_and_omitted_are_no_relevance_rule():
    assert parse_policy({"relevance": None}).relevance is None
    assert parse_policy({}).relevance is None


def test_a_null_limit_of_relevance_is_no_limit_and_not_the_default():
    rule = parse_policy({"relevance": {"ttl_days": None}}).relevance

    assert (rule.ttl, rule.max_records) == (None, 500)


def test_limits_become_durations():
    policy = parse_policy({"retention": {"sessions": {"retention_days": 30}}, "relevance": {"half_life_hours": 0.5}})

    assert policy.rule(MemoryType.SESSIONS).age_limit == timedelta(days=30)
    assert (policy.relevance.ttl, policy.relevance.half_life) == (timedelta(days=365), timedelta(minutes=30))


@pytest.mark.parametrize("name", ["SESSIONS", "Sessions", "sessions"])
def test_memory_types_are_read_in_any_case_and_echoed_in_lower_case(name):
    assert list(to_document(parse_policy({"retention": {name: {"max_count": 3}}}))["retention"]) == ["sessions"]


def test_history_may_say_null_days_beside_its_count():
    rule = parse_policy({"retention": {"history": {"retention_days": None, "max_count": 5}}}).rule(MemoryType.HISTORY)

    assert rule == RetentionRule(None, 5)


@pytest.mark.parametrize("value", ["30", 30.0, 30])
def test_a_plain_number_is_read_in_whatever_form_json_wrote_it(value):
    assert parse_policy(sessions(retention_days=value)) == parse_policy(sessions(retention_days=30))


@pytest.mark.parametrize(("field", "highest"), LIMITS)
def test_the_ends_of_each_range_are_inside(field, highest):
    parse_policy(document(field, 1))
    parse_policy(document(field, highest))


# --- refusing


@pytest.mark.parametrize(("field", "highest"), LIMITS)
def test_one_more_than_the_highest_is_refused_with_the_highest_and_the_unit(field, highest):
    refused = refusal(document(field, highest + 1))

    assert refused.field == field
    assert f"{highest:,} " in refused.message
    assert re.search(r"counted in (days|memories|tokens)", refused.message)


@pytest.mark.parametrize(
    "value",
    [
        *(0, -1, -0.5, "0", "-1", "", "   ", True, False, 0.5, 30.9, 1e9 + 0.5, 10**40, math.nan, math.inf),
        *("٣٠", "30 ", "30.0", "1e3", "for ever", [], [30], {}, {"days": 30}, "9" * 5_000),
    ],
)
def test_what_is_no_whole_number_within_the_range_is_refused_at_its_field_and_says_what_to_do(value):
    refusals = [refusal(document(field, value)) for field in FIELDS]

    assert [refused.field for refused in refusals] == FIELDS
    assert all("Write a whole number from 1 to " in refused.message for refused in refusals)
    assert all('choose "no limit" (null)' in refused.message for refused in refusals)
    assert max(len(refused.message) for refused in refusals) < 260


@pytest.mark.parametrize("value", [0, -1, ""])
def test_zero_minus_one_and_empty_are_told_that_they_do_not_mean_for_ever(value):
    assert 'does not mean "for ever"' in refusal(sessions(max_count=value)).message


def test_seconds_in_a_field_of_days_are_refused_with_the_unit():
    assert "It is counted in days." in refusal({"relevance": {"ttl_days": 86_400}}).message


def test_days_for_history_are_refused_and_the_count_is_named():
    refused = refusal({"retention": {"history": {"retention_days": 5}}})

    assert (refused.field, "max_count" in refused.message) == ("retention.history.retention_days", True)


@pytest.mark.parametrize(
    ("bad", "field", "named"),
    [
        ({"retentoin": {}}, "retentoin", '"retentoin"'),
        ({"retention": {"foo": {}}}, "retention.foo", '"foo"'),
        ({"retention": {"sessions": {"days": 3}}}, "retention.sessions.days", '"days"'),
        ({"relevance": {"ttl": 3}}, "relevance.ttl", '"ttl"'),
        ({"relevance": {"weights": {"hits": 1}}}, "relevance.weights.hits", '"hits"'),
        ({"retention": {7: {}}}, "retention.7", "7"),
        ({"retention": {"x" * 10_000: {}}}, "retention." + "x" * 60, "xxx"),
    ],
)
def test_unknown_keys_are_refused_by_name(bad, field, named):
    refused = refusal(bad)

    assert refused.field == field
    assert named in refused.message
    assert len(refused.message) < 200


def test_a_rule_for_working_memories_is_refused_and_points_to_sessions():
    assert "Set the rule for sessions" in refusal({"retention": {"working": {"max_count": 3}}}).message


def test_one_type_written_twice_is_refused():
    assert "given twice" in refusal({"retention": {"sessions": {}, "SESSIONS": {}}}).message


@pytest.mark.parametrize("value", [None, 5, "all", [], True])
@pytest.mark.parametrize("field", ["retention", "retention.sessions", "relevance.weights"])
def test_what_must_be_an_object_is_refused_when_it_is_none(field, value):
    assert refusal(document(field, value)).field == field


def test_a_document_that_is_no_object_is_refused():
    assert refusal([]).field == ""


@pytest.mark.parametrize("value", [0, -1, 1e-9, 87_600.1, None, "720", "", True, math.nan, math.inf, 10**400])
def test_a_half_life_out_of_range_or_no_number_is_refused(value):
    refused = refusal({"relevance": {"half_life_hours": value}})

    assert (refused.field, "number of hours" in refused.message) == ("relevance.half_life_hours", True)


@pytest.mark.parametrize("shares", [(0.5, 0.5, 0.5), (0, 0, 0), (0.4, 0.2, 0.399_998), (0.333, 0.333, 0.333)])
def test_weights_that_do_not_make_one_are_refused_with_their_sum(shares):
    refused = refusal({"relevance": {"weights": dict(zip(("recency", "frequency", "importance"), shares, strict=True))}})

    assert (refused.field, f"{sum(shares):.6g}" in refused.message) == ("relevance.weights", True)


@pytest.mark.parametrize("shares", [(1, 0, 0), (0.1, 0.2, 0.7), (0.333333, 0.333333, 0.333333), (0.333333, 0.333333, 0.333334)])
def test_weights_may_miss_one_by_a_millionth(shares):
    weights = dict(zip(("recency", "frequency", "importance"), shares, strict=True))

    assert parse_policy({"relevance": {"weights": weights}}).relevance.weights == Weights(*shares)


@pytest.mark.parametrize("value", [-0.1, 1.1, None, "0.4", True, math.nan])
def test_a_weight_that_is_no_number_from_zero_to_one_is_refused_at_its_field(value):
    refused = refusal({"relevance": {"weights": {"recency": value, "frequency": 0.2, "importance": 0.4}}})

    assert refused.field == "relevance.weights.recency"


def test_a_missing_weight_is_refused_at_its_field():
    assert refusal({"relevance": {"weights": {"recency": 0.6, "importance": 0.4}}}).field == "relevance.weights.frequency"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([*FIELDS, "relevance.half_life_hours", "relevance.weights", "retention.sessions", "retention", "x"]), json_values)
def test_any_json_at_any_place_is_read_or_refused(field, value):
    with contextlib.suppress(InvalidPolicy):
        policy = parse_policy(document(field, value))
        assert parse_policy(to_document(policy)) == policy
