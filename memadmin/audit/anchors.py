"""Signed checkpoints in a folder outside the database: what a cut-off tail, a chain computed anew or an old backup is caught by.

`checkpoints.jsonl` is only ever added to. A line is {"body", "key_id", "signature"}; the body is canonical JSON as it was signed:

    {"v", "number", "kind", "at", "streams": {name: {"seq", "row_hash"}}, "ledger": {"seq", "hash"}, "prev", "public", "next"}

`number` counts from 1, `prev` is the SHA-256 of the line before, `public` the key that signs it. A line of the kind `key` announces the
`next` key; `restored` says that the database was put back to where `streams` says, and takes back what was anchored beyond. `ledger` is the
last line of the ledger of erasures, so that an older copy of this shows too.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memadmin.audit.chain import GENESIS, canonical, timestamp
from memadmin.audit.signing import Signer, key_id_of, verifies

FILE = "checkpoints.jsonl"
VERSION = 1
LONGEST_LINE = 64 * 1024  # bytes; a line has some hundred for each stream
CHECKPOINT, KEY, RESTORED = "checkpoint", "key", "restored"
Heads = Mapping[str, tuple[int, str]]  # by stream: the last row and its hash
NO_LINES = (0, "")


class AnchorsUnusable(Exception):
    """The folder of anchors cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where everything is that a line anchors: the streams, and the ledger by its last line and hash."""

    heads: Heads
    ledger: tuple[int, str] = NO_LINES


@dataclass(slots=True)
class Anchored:
    """What the lines say, taken together, and what is wrong with them, by line."""

    lines: int = 0
    at: str = ""
    last: str = GENESIS  # the digest of the last line
    root_key: str = ""
    keys: set[str] = field(default_factory=set)  # the ids of the keys that the next line may be signed with; none: any
    rows: dict[str, dict[int, str]] = field(default_factory=dict)  # by stream: the hash that a row must have
    restored: list[dict[str, Any]] = field(default_factory=list)
    ledger: tuple[int, str] = NO_LINES
    faults: list[tuple[int, str]] = field(default_factory=list)

    def highest(self, stream: str) -> int:
        return max(self.rows.get(stream, {}), default=0)

    def heads(self) -> dict[str, int]:
        return {stream: max(rows) for stream, rows in self.rows.items() if rows}


def read(folder: Path) -> Anchored:
    """Read and check all lines. A folder without them is empty, not wrong. Raises AnchorsUnusable."""
    whole = _content(folder).split(b"\n")
    found = read_lines(whole[:-1])
    if whole[-1]:
        found.faults.append((len(whole), "the last line is cut off"))
    return found


def read_lines(given: Iterable[bytes]) -> Anchored:
    """Check lines that were taken elsewhere, all from the first."""
    found = Anchored()
    for number, line in enumerate(given, 1):
        _take(found, number, line.decode("utf-8", "replace"))
    return found


def lines(folder: Path) -> list[str]:
    """Return the lines as they are. Raises AnchorsUnusable."""
    return [line.decode("utf-8", "replace") for line in _content(folder).split(b"\n")[:-1]]


def _content(folder: Path) -> bytes:
    try:
        return (folder / FILE).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as problem:
        raise AnchorsUnusable(f"The anchors in {folder} cannot be read: {problem.strerror}.") from problem


def claimed(folder: Path) -> Anchored:
    """Return what the lines say, unproved: for who goes on after a `read` that has proved them. Raises AnchorsUnusable."""
    found = Anchored()
    for line in _content(folder).split(b"\n")[:-1]:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            body = json.loads(json.loads(line)["body"])
            _anchor(found, {name: (int(head["seq"]), str(head["row_hash"])) for name, head in body["streams"].items()}, body)
            found.lines, found.at = int(body["number"]), str(body["at"])
    return found


def heads_at(folder: Path, number: int) -> dict[str, int]:
    """Return the last row of each stream that the checkpoint of this number names. Raises AnchorsUnusable."""
    whole = lines(folder)
    if not 1 <= number <= len(whole):
        raise AnchorsUnusable(f"There is no checkpoint {number}; the last one is {len(whole)}.")
    try:
        return {str(name): int(head["seq"]) for name, head in json.loads(json.loads(whole[number - 1])["body"])["streams"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise AnchorsUnusable(f"Checkpoint {number} cannot be read.") from problem


def latest(folder: Path) -> Anchored:
    """Return what the last line says, checked by itself: enough to go on from, in no time however many there are.

    Raises AnchorsUnusable.
    """
    found = Anchored()
    try:
        with open(folder / FILE, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_LINE))
            end = file.read()
    except FileNotFoundError:
        return found
    except OSError as problem:
        raise AnchorsUnusable(f"The anchors in {folder} cannot be read: {problem.strerror}.") from problem
    if not end:
        return found
    line = end.rstrip(b"\n").rpartition(b"\n")[2].decode("utf-8", "replace")
    with suppress(ValueError, KeyError, TypeError):
        body = json.loads(json.loads(line)["body"])
        found.lines, found.last, found.at = int(body["number"]) - 1, str(body["prev"]), ""
    _take(found, found.lines + 1, line)
    if not end.endswith(b"\n"):
        found.faults.append((found.lines, "the last line is cut off"))
    return found


def append(folder: Path, signer: Signer, *, kind: str, stand: Stand, at: datetime, following: str = "") -> int:
    """Add a line, on the disk when this returns, and return its number. `following` is the public key that a `key` line announces.

    Raises AnchorsUnusable, also where the lines that are there do not stand up.
    """
    with _locked(folder) as file:
        before = latest(folder)
        if before.faults:
            raise AnchorsUnusable(f"Line {before.faults[0][0]} of the anchors is not what was written: {before.faults[0][1]}.")
        body = canonical(
            {
                "v": VERSION,
                "number": before.lines + 1,
                "kind": kind,
                "at": max(timestamp(at), before.at),  # a clock that went back does not take the anchors along
                "streams": {name: {"seq": seq, "row_hash": row_hash} for name, (seq, row_hash) in stand.heads.items()},
                "ledger": {"seq": stand.ledger[0], "hash": stand.ledger[1]},
                "prev": before.last,
                "public": signer.public,
                "next": following,
            }
        )
        line = canonical({"body": body, "key_id": signer.key_id, "signature": signer.sign(body)})
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())
    return before.lines + 1


@contextmanager
def _locked(folder: Path) -> Iterator[Any]:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(folder / FILE, "a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
    except OSError as problem:
        raise AnchorsUnusable(f"The anchors in {folder} cannot be written: {problem.strerror}.") from problem


def _take(found: Anchored, number: int, line: str) -> None:
    """Check one line against those before it, and add what it anchors."""
    try:
        outer = json.loads(line)
        body = json.loads(outer["body"])
        streams = {str(name): (int(head["seq"]), str(head["row_hash"])) for name, head in body["streams"].items()}
        key_id, kind, following = key_id_of(body["public"]), str(body["kind"]), str(body["next"])
        ledger = body.get("ledger") or {"seq": 0, "hash": ""}  # lines from before it was anchored
        ledger_head = int(ledger["seq"]), str(ledger["hash"])
        signed = verifies(body["public"], outer["body"], outer["signature"]) and outer["key_id"] == key_id
    except (ValueError, KeyError, TypeError, AttributeError):
        found.faults.append((number, "it is no checkpoint"))
        return
    wrong = [
        (not signed, "its signature does not fit"),
        (bool(found.keys) and key_id not in found.keys, "it is signed with a key that nobody announced"),
        (body["number"] != found.lines + 1, "lines before it are missing, or it stands in another's place"),
        (body["prev"] != found.last, "it does not follow the line before it"),
        (str(body["at"]) < found.at, "it is older than the line before it"),
    ]
    found.faults += [(number, words) for is_wrong, words in wrong if is_wrong]
    found.lines, found.at, found.last = number, str(body["at"]), hashlib.sha256(line.encode()).hexdigest()
    found.root_key = found.root_key or key_id
    found.ledger = ledger_head
    found.keys = {key_id, key_id_of(following)} if kind == KEY and following else {key_id}
    _anchor(found, streams, body)


def _anchor(found: Anchored, streams: Heads, body: Mapping[str, Any]) -> None:
    """Add what a line anchors."""
    if body["kind"] == RESTORED:
        _take_back(found, streams, str(body["at"]))
    for name, (seq, row_hash) in streams.items():
        if seq:
            found.rows.setdefault(name, {})[seq] = row_hash


def _take_back(found: Anchored, streams: Heads, at: str) -> None:
    for name, rows in found.rows.items():
        kept = streams.get(name, (0, ""))[0]
        lost = [seq for seq in rows if seq > kept]
        if lost:
            found.restored.append({"stream": name, "kept": kept, "lost_to": max(lost), "at": at})
        for seq in lost:
            del rows[seq]
