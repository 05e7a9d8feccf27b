"""Look through one table for what must not be there, some rows at a time.

Texts are asked in the database whether they contain a form of an identifier anywhere; of the rows that do, the words decide here, as a
condition in SQL could not tell `user1` from `user10` in JSON. Packed values have to be unfolded one by one. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection

from memadmin.erasure.verification.keyed import columns_with, rows_with
from memadmin.erasure.verification.needles import any_stands_in
from memadmin.erasure.verification.packed import SHORTEST, unfolded
from memadmin.erasure.verification.plain import Read, reading
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.rows import Hit, Key, Stretch, quoted, rows_in, rows_of
from memadmin.erasure.verification.schema import Holds, Table


def scan(table: Table, probes: Probes, stretch: Stretch, *, keyed: Sequence[str] | None = None) -> Iterator[Hit]:
    """Yield what is found in these rows, a row once for each column that has it.

    `keyed` are the columns that have anything by key, from who has asked for them already. None: it is asked here.
    """
    for column in columns_with({table: stretch}, probes)[table.name] if keyed is None else keyed:
        yield from rows_with(table, column, probes, stretch)
    yield from _by_words(table, probes, stretch)


def _by_words(table: Table, probes: Probes, stretch: Stretch) -> Iterator[Hit]:
    texts, packed = table.holding(Holds.TEXT), table.holding(Holds.BYTES)
    read = reading(table) if probes.plain_words else {}
    needles = probes.needles if read else probes.telling_needles
    if not needles or not texts + packed:
        return
    for row in _to_judge(table, needles, stretch):
        for column, value in zip(texts + packed, row[len(table.key) :], strict=True):
            if _says(table, probes, value, is_text=column in texts) or _says_plainly(probes, value, read.get(column)):
                yield Hit(table.name, column, row[: len(table.key)])


def _says(table: Table, probes: Probes, value: Any, *, is_text: bool) -> bool:
    if not probes.telling_words:
        return False
    return (is_text and any_stands_in(probes.telling_words, value)) or (_unfolds(table, value, is_text) and _stands_inside(probes, value))


def _says_plainly(probes: Probes, value: Any, read: Read | None) -> bool:
    return read is not None and value is not None and any_stands_in(probes.plain_words, _as_said(read(value)))


def _as_said(value: Any) -> Any:
    """Return bytes that nobody can read as words as nothing: sealed ones, vectors."""
    if not isinstance(value, bytes | memoryview):
        return value
    try:
        return bytes(value).decode("utf8")
    except UnicodeDecodeError:
        return None


def _to_judge(table: Table, needles: Sequence[str], stretch: Stretch) -> Iterator[Key]:
    """Yield the key, the texts and the bytes of each row that could say an identifier; the database has gone through all of them once."""
    texts, packed = table.holding(Holds.TEXT), table.holding(Holds.BYTES)
    said = [*map(_as_text, texts), *map(quoted, packed)]
    tests = [_contains(_said(texts), len(needles))] if texts else []
    tests += [f"{quoted(column)} IS NOT NULL" for column in packed]
    if table.is_technical:
        tests += [f"length({_as_text(column)}) >= {SHORTEST}" for column in texts]
    could = {"tests": [f"({' OR '.join(tests)})"], "values": needles if texts else ()}
    if table.is_technical:  # most rows of such tables have something that could be packed
        return rows_in(table, stretch, said, **could)
    return rows_of(table, list(rows_in(table, stretch, (), **could)), said)


def _unfolds(table: Table, value: Any, is_text: bool) -> bool:
    """Whether something may be packed in a value: in bytes, and in texts of tables that some engine fills."""
    return value is not None and (not is_text or (table.is_technical and isinstance(value, str)))


def _stands_inside(probes: Probes, value: bytes | str) -> bool:
    """Whether packed bytes have an identifier. Text in them is judged by its words; what is no text has no words, and any match counts."""
    for raw in unfolded(value):
        if not any(needle in raw for needle in probes.raw_needles):
            continue
        try:
            text = raw.decode("utf8")
        except UnicodeDecodeError:
            return True
        if any_stands_in(probes.telling_words, text):
            return True
    return False


def _said(columns: Sequence[str]) -> str:
    """Return SQL for everything that a row says, as one text."""
    if connection.vendor == "postgresql":
        return f"concat_ws(E'\\n', {', '.join(map(_as_text, columns))})"
    return " || char(10) || ".join(f"coalesce({quoted(column)}, '')" for column in columns)


def _contains(said: str, needles: int) -> str:
    find = "strpos" if connection.vendor == "postgresql" else "instr"
    if needles == 1:
        return f"{find}({said}, %s) > 0"
    tests = " OR ".join([f"{find}(said, %s) > 0"] * needles)
    return f"EXISTS (SELECT 1 FROM (SELECT {said} AS said LIMIT 1 OFFSET 0) AS row WHERE {tests})"  # put together once for all of them


def _as_text(column: str) -> str:
    """Return SQL for a column as the text that it is stored as: JSON would else arrive parsed."""
    return f"{quoted(column)}::text" if connection.vendor == "postgresql" else quoted(column)
