import pytest
from hypothesis import given

from retention.differing import Change, Effect, changes, merge_changes, values_of
from retention.policy import parse_policy
from retention.rules import MemoryType
from tests.retention.strategies import policies


def policy(relevance=None, **rules):
    retention = {name.replace("_", "-"): rule for name, rule in rules.items()}
    return parse_policy({"retention": retention, "relevance": relevance})


def test_a_lower_limit_takes_more_and_a_removed_one_less():
    old = policy({"max_records": 500}, sessions={"retention_days": 90})
    new = policy({"max_records": 400}, sessions={"retention_days": None})

    found = changes(old, new)

    assert found == (Change("retention.sessions.retention_days", 90, None), Change("relevance.max_records", 500, 400))
    assert [change.effect for change in found] == [Effect.LESS, Effect.MORE]


def test_a_limit_that_is_left_out_and_one_that_is_null_do_not_differ():
    assert changes(policy(sessions={}), policy(sessions={"retention_days": None})) == ()


def test_a_relevance_rule_that_comes_or_goes_is_one_change():
    assert changes(policy(), policy({})) == (Change("relevance", None, 1),)
    assert changes(policy({}), policy()) == (Change("relevance", 1, None),)
    assert changes(policy({}), policy())[0].effect is Effect.LESS


def test_changes_of_different_limits_come_together():
    base = policy({"max_records": 500, "ttl_days": 365}, sessions={"retention_days": 90})
    mine = policy({"max_records": 400, "ttl_days": 365}, sessions={"retention_days": 90})
    theirs = policy({"max_records": 500, "ttl_days": 100}, sessions={"retention_days": 30})

    merged = merge_changes(base, mine, theirs)

    assert merged.policy == policy({"max_records": 400, "ttl_days": 100}, sessions={"retention_days": 30})
    assert merged.contested == ()


def test_where_both_changed_one_limit_mine_stands_and_it_is_told():
    base, mine, theirs = (policy(history={"max_count": number}) for number in (10, 20, 30))

    merged = merge_changes(base, mine, theirs)

    assert merged.policy.rule(MemoryType.HISTORY).count_limit == 20
    assert merged.contested == ("retention.history.max_count",)


def test_the_weights_are_one_value():
    def weighted(*values):
        return policy({"weights": dict(zip(("recency", "frequency", "importance"), values, strict=True))})

    merged = merge_changes(weighted(0.4, 0.2, 0.4), weighted(0.5, 0.1, 0.4), weighted(0.2, 0.4, 0.4))

    assert (merged.policy, merged.contested) == (weighted(0.5, 0.1, 0.4), ("relevance.weights",))


@pytest.mark.parametrize("missing", ["mine", "theirs"])
def test_a_rule_that_one_took_away_and_the_other_changed_is_contested(missing):
    rules = {"mine": policy({"max_records": 3}), "theirs": policy({"max_records": 4}), missing: policy()}

    merged = merge_changes(policy({"max_records": 5}), rules["mine"], rules["theirs"])

    assert (merged.policy, merged.contested) == (rules["mine"], ("relevance",))


@given(policies, policies)
def test_nothing_differs_exactly_when_all_values_are_the_same(old, new):
    assert (changes(old, new) == ()) == (values_of(old) == values_of(new))


@given(policies, policies)
def test_without_a_change_of_mine_theirs_stands_and_the_other_way_round(base, other):
    assert values_of(merge_changes(base, base, other).policy) == values_of(other)
    assert values_of(merge_changes(base, other, base).policy) == values_of(other)
    assert merge_changes(base, base, other).contested == merge_changes(base, other, base).contested == ()
