"""Each numbered row that the retention engine has to meet stands in the name, or the parameters, of a test that tries it."""

import ast
import re
from collections import defaultdict

import pytest

from tests import sources

# The rows of evicting by relevance: its checklist, but not the compatible API's cases of the same letter.
RELEVANCE = "A11 A12 A13 A14 A15 A16 A18 A19 A20 A21 A22 A23 A29 A30 A31 A32 A33 A35 A37 A46 A47 A48 A52 A53 A54 A60 A61"
# What broke others in time, score and policy.
BROKE_OTHERS = "F27 F50 F52 F53 F54 F56 F57 F59 F60 F61 F63 F64 F66 F67 F68 C08 C09 C10 S01 S03"
# OpenSearch: policies and their merging (E), settings (F), the job (G), orphans (H), dry run and execution (I).
OPENSEARCH = """
E1 E3 E4 E5 E6 E8 E9 E10 E11 E13 E14 E15 E16 E18 E19 E20 E21 E23 E24 E25 E26
F2 F3 F4 F5
G1 G2 G3 G4 G6 G7 G8 G9 G11 G12 G13 G14 G16 G17 G18 G19 G21 G22 G23 G24 G26 G27 G28 G29 G31 G32 G33 G34 G36 G37 G38 G39
H2 H3 H4 H5 H7 H8 H9 H10 H12 H13 H14 H15
I1 I2 I3 I4 I6 I7 I8 I9 I11 I12 I13 I14 I16 I17 I18
"""
NUMBER = re.compile(r"(?<![a-z0-9])[a-z][0-9]{1,2}(?![a-z0-9])")


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
    [(RELEVANCE, "tests/api/opensearch/"), (BROKE_OTHERS, "tests/api/opensearch/"), (OPENSEARCH, "tests/cases/")],
    ids=["relevance", "what broke others", "OpenSearch"],
)
def test_each_numbered_row_of_retention_is_tried_by_its_number(numbers, elsewhere):
    files = {number: {name for name in names if not name.startswith(elsewhere)} for number, names in tried().items()}

    assert [number for number in numbers.split() if not files.get(number)] == []
