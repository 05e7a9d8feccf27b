"""What an import did: counts for the screen and, line by line, every record that was refused or read with a change."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from memadmin.store.ingest import Written
from memadmin.transfer.frames import Frame
from memadmin.transfer.problems import Noted, Refused, UnusableFile

SHOWN = 10  # problems kept for the screen; the report file has them all
UNLISTED = {"date", "zone_assumed"}  # can be true of every record of a file: counted, not listed

Line = dict[str, Any]


class Report:
    """Counts, and the report file if one is asked for. It never holds a value of a record. Use it as a context manager."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.records = 0
        self.written = Written()
        self.refused: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        self.first_problems: list[Line] = []
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        if self.path:
            try:
                self._file = self.path.open("w", encoding="utf-8")
            except OSError as error:
                raise UnusableFile(f"{self.path}: the report cannot be written there ({error.strerror})") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file:
            self._file.close()

    def add(self, written: Written) -> None:
        add_up(self.written, written)

    def refuse(self, frame: Frame, problem: Refused) -> None:
        self.refused[problem.code] += 1
        line = self._line("refused", frame, problem)
        if len(self.first_problems) < SHOWN:
            self.first_problems.append(line)

    def note(self, frame: Frame, noted: Noted) -> None:
        self.noted[noted.code] += 1
        if noted.code not in UNLISTED:
            self._line("noted", frame, noted)

    def _line(self, level: str, frame: Frame, what: Refused | Noted) -> Line:
        line = {"level": level, "line": frame.line, "record": frame.number, "field": what.field, "code": what.code, "words": what.words}
        if self._file:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return line

    def summary(self) -> dict[str, Any]:
        """Return all counts as one JSON object."""
        return {
            "records": self.records,
            "new": _named(self.written.new),
            "unchanged": _named(self.written.unchanged),
            "set_aside": _named(self.written.quarantined),
            "changed": _named(self.written.changed),
            "refused": self.refused.total(),
            "refused_by_reason": dict(sorted(self.refused.items())),
            "noted": dict(sorted(self.noted.items())),
            "partial": bool(self.refused),
        }


def add_up(total: Written, written: Written) -> None:
    total.new.update(written.new)
    total.unchanged.update(written.unchanged)
    total.changed.update(written.changed)
    total.quarantined.update(written.quarantined)


def _named(counts: Counter[str]) -> dict[str, int]:
    names = {"sessions": "sessions", "working": "working", "long-term": "long_term", "history": "history", "archived": "archived"}
    return {shown: counts[name] for name, shown in names.items()}
