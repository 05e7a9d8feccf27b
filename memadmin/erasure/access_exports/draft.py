"""What a step of the making has written and not saved yet, and how far the making is. Both are small, whatever is held of a person."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, field
from typing import Any

from memadmin.erasure.access_exports.records import Record, line_of

DATA, MANIFEST, FIRST_PAGE = "data.json", "manifest.json", "index.html"
PAGE_BYTES = 2_000_000  # of a page for reading; what is more goes on on the next one


def page_name(number: int) -> str:
    return FIRST_PAGE if number == 1 else f"page-{number}.html"


@dataclass
class Progress:
    """Where the making is: which chapter, behind what in it, how many parts each file has, and what was counted. It is the job's cursor."""

    chapter: int = 0
    after: Any = None
    page: int = 1
    page_bytes: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    included: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    contents: list[list[Any]] = field(default_factory=list)  # [anchor, title, page] of each chapter that has something
    left_lines: int = 0

    @classmethod
    def read(cls, cursor: Any) -> Progress:
        return cls(**copy.deepcopy(cursor or {}))  # a step that is rolled back must leave the cursor as it was

    def as_cursor(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Draft:
    """The texts of one step, by file."""

    progress: Progress
    texts: dict[str, list[bytes]] = field(default_factory=dict)
    size: int = 0

    def tell(self, record: Record) -> None:
        """Add a record to the file for machines."""
        place, known = str(record["place"]), sum(self.progress.included.values())
        self._add(DATA, (",\n" if known else "") + line_of(record))
        self.progress.included[place] = self.progress.included.get(place, 0) + 1

    def leave_out(self, record: Record) -> None:
        """Note a thing that is left out, with place, class and reason."""
        self._add(MANIFEST, (",\n" if self.progress.left_lines else "") + line_of(record))
        self.progress.left_lines += 1
        name = f"{record['place']} {record['class']} {record['reason']}"
        self.progress.left_out[name] = self.progress.left_out.get(name, 0) + 1

    def show(self, anchor: str, title: str, html: str) -> None:
        """Add to the page for reading, under the heading of its chapter; where a page is full the next one begins."""
        progress = self.progress
        if not html:
            return
        if progress.page_bytes > PAGE_BYTES:
            progress.page, progress.page_bytes = progress.page + 1, 0
        if not any(known == anchor for known, _, _ in progress.contents):
            progress.contents.append([anchor, title, progress.page])
            html = f'<h2 id="{anchor}">{title}</h2>\n{html}'
        elif not progress.page_bytes:
            html = f"<h2>{title}, continued</h2>\n{html}"
        progress.page_bytes += self._add(page_name(progress.page), html)

    def number_parts(self) -> dict[str, int]:
        """Count one more part for each file that something was written for, and return their numbers."""
        numbers = {file: self.progress.parts.get(file, 0) + 1 for file in self.texts}
        self.progress.parts |= numbers
        return numbers

    def _add(self, file: str, text: str) -> int:
        raw = text.encode("utf8", "backslashreplace")  # what is no character becomes an escape that JSON knows
        self.texts.setdefault(file, []).append(raw)
        self.size += len(raw)
        return len(raw)
