"""The table of docs/cases.md and the tests name the same cases."""

import re
from pathlib import Path

from tests import sources

HERE = Path(__file__).parent


def numbers_of_tests():
    names = " ".join(re.findall(r"def test_((?:[fcs]\d\d_)+)", "".join(path.read_text("utf8") for path in HERE.glob("test_fault_*.py"))))
    return {number.upper() for number in re.findall(r"[fcs]\d\d", names)}


def rows():
    for line in (sources.ROOT / "docs" / "cases.md").read_text("utf8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for number in re.findall(r"[FCS]\d\d", cells[0]) if line.startswith("|") else ():
            yield number, cells


def test_every_case_that_is_tried_stands_in_the_table():
    assert numbers_of_tests() - {number for number, _ in rows()} == set()


def test_every_row_that_names_a_test_of_these_has_one():
    named = {number for number, cells in rows() if re.match(r"lists|texts|rules|people", cells[-1])}

    assert named - numbers_of_tests() == set()


def test_a_row_without_a_test_says_what_it_waits_for():
    assert [number for number, cells in rows() if not cells[-1] and "waits for" not in cells[2]] == []
