"""Each numbered row that retention, erasure and the log have to meet stands in the name, or the parameters, of a test that tries it."""

import ast
import re
from collections import defaultdict
from functools import cache

import pytest

from tests import sources

# The rows of evicting by relevance: its checklist, but not the compatible API's cases of the same letter.
RELEVANCE = "A11 A12 A13 A14 A15 A16 A18 A19 A20 A21 A22 A23 A29 A30 A31 A32 A33 A35 A37 A46 A47 A48 A52 A53 A54 A60 A61"
# What broke others in time, score and policy.
BROKE_OTHERS = "F27 F50 F52 F53 F54 F56 F57 F59 F60 F61 F63 F64 F66 F67 F68 C08 C09 C10 S01 S03"
# What broke others in deleting and erasing (A), in what comes back and is exported (B), in the log and rights (H).
BROKE_OTHERS_ERASING = """
F01 F03 F04 F05 F07 F08 F09 F11 F12 F13 F15 F16 F17 F19 F20 F21 F23 F24 F25
F82 F84 F86
F80 F83 F87 F88 F89
"""
# OpenSearch: policies and their merging (E), settings (F), the job (G), orphans (H), dry run and execution (I).
OPENSEARCH = """
E1 E3 E4 E5 E6 E8 E9 E10 E11 E13 E14 E15 E16 E18 E19 E20 E21 E23 E24 E25 E26
F2 F3 F4 F5
G1 G2 G3 G4 G6 G7 G8 G9 G11 G12 G13 G14 G16 G17 G18 G19 G21 G22 G23 G24 G26 G27 G28 G29 G31 G32 G33 G34 G36 G37 G38 G39
H2 H3 H4 H5 H7 H8 H9 H10 H12 H13 H14 H15
I1 I2 I3 I4 I6 I7 I8 I9 I11 I12 I13 I14 I16 I17 I18
"""
# The list of attacks and faults of erasure and the log: its numbers have no letter.
ATTACKS = """
1 2 3 5 6 7 9 10 11 13 14 15 17 18 19 21 22 23 25 26 27 29 30 31 33 34 35 37 38 39 41 42 43 45 46 47 49 50 51 53 54 55 57 58 59 61 62 63
65 66 67 69 70 71 73 74 75 77 78 79 81 82 83 85 86 87 89 90 91 93 94 95 97 98
"""
NUMBER = re.compile(r"(?<![a-z0-9])[a-z][0-9]{1,2}(?![a-z0-9])")
ATTACK = re.compile(r"test_((?:[a-z]?[0-9]{1,2}_)+)")


@cache
def tried() -> dict[str, set[str]]:
    """Return the files in which a test bears a number."""
    found = defaultdict(set)
    for path in sources.test_files():
        for function in sources.functions(sources.tree_of(path)):
            if function.name.startswith("test_"):
                for number in NUMBER.findall(" ".join(names_of(function)).lower().replace("_", " ")):
                    found[number.upper()].add(sources.name_of(path))
    return found


def names_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    nodes = [node for decorator in function.decorator_list for node in ast.walk(decorator)]
    return [function.name, *(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))]


@pytest.mark.parametrize(
    ("numbers", "elsewhere"),
    [
        (RELEVANCE, "tests/api/opensearch/"),
        (BROKE_OTHERS, "tests/api/opensearch/"),
        (BROKE_OTHERS_ERASING, "tests/api/opensearch/"),
        (OPENSEARCH, "tests/cases/"),
    ],
    ids=["relevance", "what broke others", "what broke others in erasing", "OpenSearch"],
)
def test_each_numbered_row_is_tried_by_its_number(numbers, elsewhere):
    files = {number: {name for name in names if not name.startswith(elsewhere)} for number, names in tried().items()}

    assert [number for number in numbers.split() if not files.get(number)] == []


def test_each_attack_on_erasure_and_the_log_is_tried_by_its_number():
    names = [function.name for path in sources.test_files() for function in sources.functions(sources.tree_of(path))]
    found = {number for name in names for begin in ATTACK.findall(name) for number in begin.split("_")}

    assert [number for number in ATTACKS.split() if number not in found] == []


def test_each_test_that_the_table_names_is_there():
    there = [f"/{sources.name_of(path)}" for path in sources.test_files()]
    table = (sources.ROOT / "docs" / "cases.md").read_text("utf8")

    assert [place for place in re.findall(r"`([\w/]+\.py)`", table) if not any(name.endswith(f"/{place}") for name in there)] == []
