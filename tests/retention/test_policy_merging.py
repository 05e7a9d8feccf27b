import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention.policy import InvalidPolicy, RelevanceRule, canonical, digest, merge_policy, parse_patch, parse_policy, to_document
from retention.scoring import Weights
from tests.retention.documents import sessions


def merged(stored, patch):
    return to_document(merge_policy(parse_policy(stored), parse_patch(patch)))["retention"]


def test_a_null_in_a_patch_removes_the_limit_and_stays_as_null():
    assert merged(sessions(retention_days=90, max_count=5_000), sessions(retention_days=None)) == {
        "sessions": {"retention_days": None, "max_count": 5_000}
    }


def test_a_value_in_a_patch_replaces_one_limit_and_leaves_the_other():
    assert merged(sessions(retention_days=90, max_count=5_000), sessions(max_count=10)) == {
        "sessions": {"retention_days": 90, "max_count": 10}
    }


def test_a_patch_adds_a_type_and_leaves_the_others():
    assert merged(sessions(max_count=9), {"retention": {"long-term": {"max_count": 5}}}) == {
        "sessions": {"max_count": 9},
        "long-term": {"max_count": 5},
    }


@pytest.mark.parametrize("patch", [{"retention": {"sessions": {}}}, {"retention": {}}, {}])
def test_a_patch_that_gives_nothing_changes_nothing(patch):
    assert merged(sessions(max_count=9), patch) == {"sessions": {"max_count": 9}}


@pytest.mark.parametrize("patch", [{}, {"retention": {}}])
def test_an_empty_patch_leaves_a_container_without_a_policy_without_one(patch):
    assert merge_policy(None, parse_patch(patch)) is None


def test_a_concrete_patch_gives_a_policy_to_a_container_that_had_none():
    assert merge_policy(None, parse_patch(sessions(max_count=3))) == parse_policy(sessions(max_count=3))


def test_a_patch_of_one_relevance_limit_leaves_the_other_limits_and_weights():
    stored = parse_policy({"relevance": {"ttl_days": 30, "weights": {"recency": 1, "frequency": 0, "importance": 0}}})

    changed = merge_policy(stored, parse_patch({"relevance": {"max_records": 9}}))

    assert changed.relevance == RelevanceRule(ttl_days=30, max_records=9, weights=Weights(1, 0, 0))


def test_a_patch_without_relevance_keeps_it_and_null_removes_it():
    stored = parse_policy({"relevance": {"ttl_days": 30}})

    assert merge_policy(stored, parse_patch(sessions(max_count=3))).relevance == stored.relevance
    assert merge_policy(stored, parse_patch({"relevance": None})).relevance is None


def test_a_bad_value_in_a_patch_is_refused():
    with pytest.raises(InvalidPolicy, match="max_count"):
        parse_patch(sessions(max_count=0))


# --- writing


def test_the_canonical_text_is_sorted_compact_and_keeps_nulls():
    policy = parse_policy(
        {
            "retention": {"sessions": {"retention_days": 90, "max_count": None}, "history": {"max_count": 5000}},
            "relevance": {"max_tokens": 40000, "half_life_hours": 720.0},
        }
    )

    assert canonical(policy) == (
        '{"relevance":{"half_life_hours":720,"max_records":500,"max_tokens":40000,"ttl_days":365,'
        '"weights":{"frequency":0.2,"importance":0.4,"recency":0.4}},'
        '"retention":{"history":{"max_count":5000},"sessions":{"max_count":null,"retention_days":90}}}'
    )


def test_the_digest_of_a_known_policy_never_changes():
    assert digest(parse_policy(sessions(retention_days=90))) == "13ac24787e5225ba88ef123653cd861499a194fa44d188fb362cafc619e6215e"


def test_an_explicit_null_and_an_omitted_limit_are_two_versions():
    assert digest(parse_policy(sessions(retention_days=9))) != digest(parse_policy(sessions(retention_days=9, max_count=None)))


def test_one_policy_written_in_different_ways_has_one_digest():
    one = {"retention": {"SESSIONS": {"max_count": "5", "retention_days": 9}}, "relevance": {"half_life_hours": 720}}
    other = {"relevance": {"half_life_hours": 720.0, "ttl_days": 365}, "retention": {"sessions": {"retention_days": 9.0, "max_count": 5}}}

    assert digest(parse_policy(one)) == digest(parse_policy(other))


limits = st.none() | st.integers(1, 3_650)
documents = st.fixed_dictionaries(
    {},
    optional={
        "retention": st.fixed_dictionaries(
            {},
            optional={
                "sessions": st.fixed_dictionaries({}, optional={"retention_days": limits, "max_count": limits}),
                "long-term": st.fixed_dictionaries({}, optional={"retention_days": limits, "max_count": limits}),
                "history": st.fixed_dictionaries({}, optional={"retention_days": st.none(), "max_count": limits}),
            },
        ),
        "relevance": st.none()
        | st.fixed_dictionaries(
            {}, optional={"ttl_days": limits, "max_records": limits, "max_tokens": limits, "half_life_hours": st.floats(0.01, 87_600)}
        ),
    },
)


@given(documents)
def test_every_policy_survives_the_way_through_its_canonical_text(given_document):
    policy = parse_policy(given_document)

    stored = parse_policy(json.loads(canonical(policy)))

    assert (stored, digest(stored)) == (policy, digest(policy))


@given(documents, documents)
def test_a_patch_applied_twice_is_the_patch_applied_once(stored, patch):
    once = merge_policy(parse_policy(stored), parse_patch(patch))

    assert merge_policy(once, parse_patch(patch)) == once


@given(documents, documents)
def test_a_merge_changes_only_what_the_patch_gives(stored, patch):
    before = to_document(parse_policy(stored))["retention"]
    after = merged(stored, patch)
    given_rules = patch.get("retention", {})

    assert after == {
        memory_type: before.get(memory_type, {}) | given_rules.get(memory_type, {}) for memory_type in before.keys() | given_rules.keys()
    }
