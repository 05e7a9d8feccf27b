"""Which of some memories are alike enough to be told as one. It knows how alike two are, and nothing of what they say."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def clusters(
    keys: Sequence[Key], likeness: Callable[[Key, Key], float], *, threshold: float, at_least: int, at_most: int
) -> list[tuple[Key, ...]]:
    """Return groups of keys that are alike, each key in one of them at most, in the order of their first keys.

    A key joins the first group, not yet of `at_most`, to whose first key its likeness (0..1) is `threshold` or more, else it begins
    one. Groups of fewer than `at_least` keys are none; a group of one never is. The same keys in the same order give the same groups.
    """
    if at_least < 2:
        raise ValueError("A cluster has two members or more.")
    groups: list[list[Key]] = []
    for key in keys:
        home = next((group for group in groups if len(group) < at_most and likeness(group[0], key) >= threshold), None)
        if home is None:
            groups.append([key])
        else:
            home.append(key)
    return [tuple(group) for group in groups if len(group) >= at_least]
