"""A part of the log as a file that proves itself: every row of a range as it was hashed, and the signed checkpoints beside them.

The first line is {"format", "v", "stream", "first", "last", "checkpoints": [line, …]}, every other one {"seq", "leaf", "row_hash"}. No
payload is in it: the leaf commits to its digest. `check` needs neither the database nor this installation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from memadmin.audit import anchors
from memadmin.audit.chain import canonical, row_hash
from memadmin.audit.models import AuditEntry

FORMAT, VERSION = "memadmin-audit", 1


def lines(stream: str, *, first: int, last: int, folder: Path) -> Iterator[str]:
    """Yield the lines of the file for the rows `first` to `last` of a stream."""
    signed = anchors.lines(folder)
    yield canonical({"format": FORMAT, "v": VERSION, "stream": stream, "first": first, "last": last, "checkpoints": signed}) + "\n"
    rows = AuditEntry.objects.in_stream(stream).filter(seq__gte=first, seq__lte=last).order_by("seq")
    for seq, leaf, hashed in rows.values_list("seq", "leaf", "row_hash").iterator(chunk_size=1_000):
        yield canonical({"seq": seq, "leaf": leaf, "row_hash": hashed}) + "\n"


def check(given: Iterable[str]) -> tuple[list[str], int, bool]:
    """Return what is wrong with a file, how many rows it has, and whether a checkpoint pins one of them or a later row.

    The checkpoints say which key signed them; whether that is ours is for whoever noted our key.
    """
    source = iter(given)
    try:
        head = json.loads(next(source))
        stream, expected, last = head["stream"], int(head["first"]), int(head["last"])
        known = anchors.read_lines([line.encode() for line in head["checkpoints"]])
        if head["format"] != FORMAT:
            raise ValueError(head["format"])
    except (StopIteration, ValueError, KeyError, TypeError):
        return ["the file is no export of an audit log"], 0, False
    faults = [f"checkpoint {number}: {words}" for number, words in known.faults]
    pinned, before, rows = known.rows.get(stream, {}), None, 0
    for line in source:
        found, before = _row_faults(line, expected, before, pinned.get(expected))
        faults += [f"row {expected}: {words}" for words in found]
        expected, rows = expected + 1, rows + 1
    if expected != last + 1:
        faults.append(f"it should end with row {last}, and ends with row {expected - 1}")
    return faults, rows, bool(rows) and any(seq >= expected - rows for seq in pinned)


def _row_faults(line: str, seq: int, before: str | None, anchored: str | None) -> tuple[list[str], str | None]:
    """Return what is wrong with a row, and its hash."""
    try:
        row = json.loads(line)
        leaf, claimed, said = str(row["leaf"]), str(row["row_hash"]), json.loads(row["leaf"])
        wrong = [
            (row["seq"] != seq or said["seq"] != seq, "it is not the row that belongs here"),
            (row_hash(leaf) != claimed, "its hash is not that of its leaf"),
            (before is not None and said["prev_hash"] != before, "it does not follow the row before it"),
            (anchored is not None and anchored != claimed, "it is not the row that was anchored"),
        ]
    except (ValueError, KeyError, TypeError):
        return ["it is no row of a log"], None
    return [words for is_wrong, words in wrong if is_wrong], row_hash(leaf)
