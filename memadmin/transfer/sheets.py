"""Lines of tables for spreadsheets, of which no cell is taken for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

ACTS_AS_FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "'",
)  # at the beginning of a cell; the apostrophe, so that it can be taken off again


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the line of the names, and one for each row."""
    yield line(columns)
    for row in rows:
        yield line(row[name] for name in columns)


def line(cells: Iterable[Any]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow([cell(value) for value in cells])
    return text.getvalue()


def cell(value: Any) -> str:
    """Return a value as a cell that no spreadsheet takes for a formula: one that could be has an apostrophe in front."""
    text = "" if value is None else "; ".join(value) if isinstance(value, list) else plain(value)
    return f"'{text}" if text.lstrip("\ufeff \u00a0").startswith(ACTS_AS_FORMULA) or text.startswith(ACTS_AS_FORMULA) else text


def plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
