"""The ledger: what was erased and held, in files outside the database. Restoring an old database cannot take it back.

One line of JSON for each event, chained by hash, forced to the disk before the act. It names nobody: keyed digests of ids and items,
names of ours, and counts. Every file of `ERASURE_LEDGERS` holds the same lines. A line is written last in the transaction of its act,
or (of erasures) after the one that began it: so the ledger may know of an act that was taken back, and never lacks one.

    intent, completed, closed        an erasure begins; is complete; the backups from before it are gone
    hold_placed, hold_released       what must be kept, and need not be any more
    suppression_lifted               what was erased may come back
    key_rotated                      the digests of what follows are made with another key
    replayed                         the lines were applied to an older database
    loss_accepted                    somebody let an older database be used without that
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

FIRST = "0" * 64


Signature = tuple[tuple[str, int, int, int] | None, ...]


class LedgerUnusable(Exception):
    """A file of the ledger cannot be read or written, was changed, or does not agree with the others: nothing may be erased."""


@dataclass(frozen=True, slots=True)
class Line:
    seq: int
    kind: str
    request: str  # the uid of what asked for it, where something did
    facts: dict[str, Any]
    hash: str
    at: datetime


def write(kind: str, *, request: str, at: datetime, facts: dict[str, Any]) -> Line:
    """Append one line to every file, on the disk when this returns. A line that is there already is not written twice.

    A file that lacks the last lines, because a writer was killed between two files, gets them. Raises LedgerUnusable.
    """
    paths = _paths()
    try:
        with _locked(paths[0]):
            texts = _agreed()
            known = [_line(text) for text in texts]
            same = [line for line in known if line.kind == kind and line.request == request and line.facts == facts]
            if not same:
                before = known[-1] if known else None
                texts = [*texts, _text(kind, request, at, facts, before=before)]
            for path in paths:
                _complete(path, texts)
            return same[-1] if same else _line(texts[-1])
    except OSError as problem:
        raise LedgerUnusable(f"The ledger of erasures cannot be written: {problem}. Nothing was done.") from problem


def lines() -> list[Line]:
    """Return all lines, checked. Raises LedgerUnusable where one was changed or cut out, or two files say different things."""
    return [_line(text) for text in _agreed()]


def signature() -> Signature:
    """Return what changes whenever a file does, without reading it. Raises LedgerUnusable."""
    return tuple(_as_it_is(path) for path in _paths())


def names() -> str:
    """Return where the ledger lies, for a message."""
    return ", ".join(map(str, _paths()))


def _as_it_is(path: Path) -> tuple[str, int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise LedgerUnusable(f"The ledger of erasures in {path} cannot be read: {problem.strerror}.") from problem
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino


def _agreed() -> list[str]:
    """Return the lines of the longest file; the others must begin alike."""
    found = {path: _checked(path) for path in _paths()}
    longest = max(found.values(), key=len)
    for path, texts in found.items():
        if longest[: len(texts)] != texts:
            raise LedgerUnusable(f"{path} does not say the same as the other files of the ledger. Find out which of them was changed.")
    return longest


def _checked(path: Path) -> list[str]:
    texts, before = _whole_lines(path), FIRST
    for number, text in enumerate(texts, start=1):
        try:
            stored = json.loads(text)
            body, said = {key: each for key, each in stored.items() if key != "hash"}, stored["hash"]
        except (ValueError, KeyError, AttributeError) as problem:
            raise LedgerUnusable(f"Line {number} of {path} is damaged.") from problem
        if body.get("seq") != number or body.get("prev") != before or _hash(body) != said:
            raise LedgerUnusable(f"Line {number} of {path} was changed, or one before it is missing.")
        before = said
    return texts


def _whole_lines(path: Path) -> list[str]:
    """Return the lines that end: what a writer was killed in the middle of was never written."""
    try:
        content = path.read_text("ascii") if path.exists() else ""
    except (OSError, UnicodeError) as problem:
        raise LedgerUnusable(f"The ledger of erasures in {path} cannot be read: {problem}.") from problem
    return content.split("\n")[:-1]


def _line(text: str) -> Line:
    stored = json.loads(text)
    return Line(**{name: stored[name] for name in ("seq", "kind", "request", "facts", "hash")}, at=datetime.fromisoformat(stored["at"]))


def _text(kind: str, request: str, at: datetime, facts: dict[str, Any], *, before: Line | None) -> str:
    place, prev = (before.seq + 1, before.hash) if before else (1, FIRST)
    body = {"seq": place, "kind": kind, "request": request, "at": at.astimezone(UTC).isoformat(), "facts": facts, "prev": prev}
    return _json({**body, "hash": _hash(body)})


def _hash(body: dict[str, Any]) -> str:
    return hashlib.sha256(_json(body).encode("ascii")).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _complete(path: Path, texts: list[str]) -> None:
    """Let the file hold exactly these lines, of which it has the first ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    there = _whole_lines(path)
    with path.open("ab") as file:
        os.chmod(path, 0o600)
        file.truncate(sum(len(text) + 1 for text in there))
        file.write("".join(f"{text}\n" for text in texts[len(there) :]).encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class _locked:
    """One writer at a time, of all processes on this machine."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(f"{path}.lock", "w")  # noqa: SIM115  # closed on leaving

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _paths() -> list[Path]:
    return [Path(each) for each in settings.ERASURE_LEDGERS]
