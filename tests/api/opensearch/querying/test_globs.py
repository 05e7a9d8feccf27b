import time

import pytest

from memadmin.api.opensearch.querying.globs import like_pattern, matches, prefix_glob, wildcard_glob
from memadmin.api.opensearch.querying.queries import QueryRefused


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a*", ["a", "ab", "a\nb"], ["", "ba"]),
        ("?", ["a", "日", "*"], ["", "ab"]),
        ("a\\*", ["a*"], ["ab", "a\\"]),
        ("*b*c", ["bc", "abxc", "bbcc"], ["cb", "bcx"]),
        ("", [""], ["a"]),
        ("50%_", ["50%_"], ["50", "500_"]),
    ],
)
def test_a_pattern_is_matched_from_beginning_to_end(pattern, yes, no):
    glob = wildcard_glob(pattern)

    assert [matches(glob, text) for text in [*yes, *no]] == [True] * len(yes) + [False] * len(no)


def test_what_like_would_read_as_a_sign_is_escaped():
    assert like_pattern(prefix_glob("50%_\\")) == "50\\%\\_\\\\%"


def test_a_pattern_made_to_blow_up_takes_no_time():
    began = time.process_time()  # of our own: others on the machine do not count

    assert not matches(wildcard_glob("*a" * 8 + "b"), "a" * 20_000)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("pattern", ["*a" * 9, "a" * 1_001])
def test_a_pattern_that_is_too_wild_or_too_long_is_refused(pattern):
    with pytest.raises(QueryRefused):
        wildcard_glob(pattern)
