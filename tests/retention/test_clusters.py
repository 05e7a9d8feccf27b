import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention.clusters import clusters


def alike(one, other):
    """Numbers of one ten are alike."""
    return 1.0 if one // 10 == other // 10 else 0.0


def grouped(keys, at_least=2, at_most=5):
    return clusters(keys, alike, threshold=0.5, at_least=at_least, at_most=at_most)


def test_what_is_alike_stands_together_in_the_order_given():
    assert grouped([11, 21, 12, 35, 22, 13]) == [(11, 12, 13), (21, 22)]


def test_a_single_one_is_never_a_cluster():
    assert grouped([1, 11, 21]) == []
    with pytest.raises(ValueError, match="two members"):
        grouped([1, 2], at_least=1)


def test_fewer_than_asked_for_are_none_and_more_than_allowed_begin_another():
    assert grouped([1, 2], at_least=3) == []
    assert grouped([1, 2, 3, 4, 5, 6, 7], at_most=3) == [(1, 2, 3), (4, 5, 6)]


@given(st.lists(st.integers(0, 60), unique=True), st.integers(2, 4), st.integers(4, 6))
def test_nothing_is_in_two_clusters_and_none_is_too_small_or_too_large(keys, at_least, at_most):
    found = grouped(keys, at_least, at_most)

    members = [key for group in found for key in group]
    assert len(members) == len(set(members))
    assert set(members) <= set(keys)
    assert all(at_least <= len(group) <= at_most for group in found)
    assert found == grouped(keys, at_least, at_most)
