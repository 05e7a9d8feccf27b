import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.transfer import sheets

ODD = [
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@x",
    "\tx",
    "\rx",
    "\nx",
    "'x",
    "\ufeff=1",
    " =1",
    "\u00a0+1",
    'a "b", c; d',
    "one\r\ntwo\nthree",
    "",
    " ",
]


def read_back(line: str) -> list[str]:
    (cells,) = csv.reader(io.StringIO(line, newline=""))
    return [cell[1:] if cell.startswith("'") else cell for cell in cells]


@pytest.mark.parametrize("text", ODD)
def test_f86_a_text_that_a_spreadsheet_would_act_on_is_a_text_and_parses_back(text: str):
    assert not sheets.cell(text).lstrip("\ufeff \u00a0").startswith(("=", "+", "-", "@", "\t", "\r"))
    assert read_back(sheets.line([text, "next"])) == [text, "next"]


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), min_size=1, max_size=4))
def test_f86_any_texts_parse_back(texts: list[str]):
    assert read_back(sheets.line(texts)) == texts
