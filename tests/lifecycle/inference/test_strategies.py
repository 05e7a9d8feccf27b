import pytest

from memadmin.lifecycle.inference.strategies import StrategyType, most_facts, strategies_for

USER = {"user_id": "ann"}


def configured(**entry: object) -> dict[str, object]:
    return {"strategies": [{"id": "s-1", "type": "SEMANTIC", "namespace": ["user_id"], **entry}]}


def test_a_strategy_speaks_when_all_its_keys_are_in_the_namespace():
    configuration = configured(namespace=["user_id", "agent_id"])

    assert strategies_for(configuration, USER) == []
    assert [each.keys for each in strategies_for(configuration, {**USER, "agent_id": "a"})] == [("user_id", "agent_id")]


def test_its_scope_is_its_own_part_of_the_namespace():
    (strategy,) = strategies_for(configured(), {**USER, "session_id": "s"})

    assert strategy.scope({**USER, "session_id": "s"}) == USER


def test_types_are_read_in_any_case():
    assert strategies_for(configured(type="user_preference"), USER)[0].type is StrategyType.USER_PREFERENCE


@pytest.mark.parametrize(
    "entry", [{"enabled": False}, {"type": "FOO"}, {"type": None}, {"namespace": []}, {"namespace": "user_id"}, {"namespace": [1]}]
)
def test_what_is_disabled_or_not_of_the_documented_shape_is_passed_over(entry: dict[str, object]):
    assert strategies_for(configured(**entry), USER) == []


@pytest.mark.parametrize("configuration", [{}, {"strategies": None}, {"strategies": {"a": 1}}, {"strategies": ["x", None, 7]}])
def test_a_container_without_readable_strategies_has_none(configuration: dict[str, object]):
    assert strategies_for(configuration, USER) == []


@pytest.mark.parametrize(("given", "most"), [(None, 5), (3, 3), (0, 1), (11, 10), (True, 5), ("7", 5)])
def test_the_number_of_facts_stays_within_bounds(given: object, most: int):
    assert most_facts({"max_infer_size": given}) == most
