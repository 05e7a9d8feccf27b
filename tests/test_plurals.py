import re

import pytest

from memadmin.plurals import counted
from tests import sources

BY_HAND = re.compile(r"== 1 else ['\"](?:s|ies)['\"]")


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (counted(0, "item"), "0 items"),
        (counted(1, "item"), "1 item"),
        (counted(1_000, "item"), "1,000 items"),
        (counted(1, "memory", "memories"), "1 memory"),
        (counted(2, "memory", "memories"), "2 memories"),
    ],
)
def test_a_number_stands_before_its_noun_in_the_right_form(said, wanted):
    assert said == wanted


def test_no_sentence_makes_its_plural_by_hand():
    found = [path.name for path in sources.product_files() if BY_HAND.search(path.read_text())]

    assert found == ["wording.py"]  # half-lives, which are no whole numbers
