"""A file to import: what it holds is told by its first bytes, and read as records in constant memory."""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from memadmin.transfer.decoding import BOM
from memadmin.transfer.frames import LONGEST_RECORD, Frame, read_elements, read_lines, too_long
from memadmin.transfer.problems import Refused, UnusableFile

HEAD = 64 * 1024
LINE_SUFFIXES = {".jsonl", ".ndjson"}
FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"SQLite format 3\x00": "an SQLite database",
    b"%PDF": "a PDF",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"BZh": "a bzip2 archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\xfd7zXZ": "an xz archive",
}

_RECORD_START = re.compile(rb"^[ \t]*[{\[]", re.MULTILINE)
_SEARCH_ANSWER = re.compile(rb'\{\s*"(?:took|timed_out|_scroll_id|pit_id|_shards|hits)"')
_HITS = re.compile(rb'"hits"\s*:\s*\[')


@dataclass(frozen=True)
class Layout:
    """Where the records begin, and how they are set apart: "lines", "array", "hits" (an array inside an answer) or "document"."""

    kind: str
    start: int = 0
    line: int = 1


class Source:
    """An open file. Use it as a context manager; `frames` starts at the beginning each time."""

    def __init__(self, path: Path, *, limit: int = LONGEST_RECORD) -> None:
        self.path = path
        self.limit = limit
        self.size = 0
        self.layout = Layout("lines")

    def __enter__(self) -> Self:
        try:
            self.size = self.path.stat().st_size
            self._raw = self.path.open("rb")
        except OSError as error:
            raise UnusableFile(f"{self.path}: {error.strerror or 'cannot be opened'}") from None
        try:
            self._stream = self._unpacked()
            self.layout = layout_of(self._head(), suffixes=self.path.suffixes)
        except (OSError, EOFError, zlib.error):
            self._raw.close()
            raise UnusableFile(f"{self.path}: the file cannot be read or unpacked") from None
        except UnusableFile as error:
            self._raw.close()
            raise UnusableFile(f"{self.path}: {error}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._raw.close()

    def position(self) -> int:
        """Return how many bytes of the file have been read, out of `size`."""
        return self._raw.tell()

    def frames(self) -> Iterator[Frame]:
        """Yield the records in order. A file that breaks off yields a last frame that says so."""
        last = Frame(self.layout.line, 0)
        try:
            for frame in self._laid_out():
                last = frame
                yield frame
        except (EOFError, zlib.error, gzip.BadGzipFile):
            broken = Refused("cut_off", "the archive is broken from here on; what follows was not read")
            yield Frame(last.line + 1, last.number + 1, problem=broken)

    def _unpacked(self) -> IO[bytes]:
        packed = self._raw.read(2) == b"\x1f\x8b"
        self._raw.seek(0)
        return gzip.GzipFile(fileobj=self._raw) if packed else self._raw  # type: ignore[return-value]

    def _head(self) -> bytes:
        head = self._stream.read(HEAD)
        self._stream.seek(0)
        return head

    def _laid_out(self) -> Iterator[Frame]:
        self._stream.seek(0)
        self._stream.read(self.layout.start)
        if self.layout.kind in ("array", "hits"):
            return read_elements(self._stream, limit=self.limit, first_line=self.layout.line, embedded=self.layout.kind == "hits")
        if self.layout.kind == "document":
            return self._whole()
        return read_lines(self._stream, limit=self.limit)

    def _whole(self) -> Iterator[Frame]:
        raw = self._stream.read(self.limit + 1)
        if len(raw) > self.limit:
            yield Frame(1, 1, problem=too_long(self.limit))
        else:
            yield Frame(1, 1, raw)


def layout_of(head: bytes, *, suffixes: list[str]) -> Layout:
    """Tell from the first bytes and the name how a file is laid out. Raises UnusableFile where no JSON is in sight."""
    for magic, name in FOREIGN.items():
        if head.startswith(magic):
            raise UnusableFile(f"this is {name}, not JSON in UTF-8")
    text = head.removeprefix(BOM)
    if text.strip() and not _RECORD_START.search(text):
        raise UnusableFile("no line begins with { or [, so this is not JSON in UTF-8")
    begin = len(head) - len(text.lstrip())
    if head[begin : begin + 1] == b"[":
        return Layout("array", begin + 1, 1 + head.count(b"\n", 0, begin))
    if _SEARCH_ANSWER.match(head, begin) and (hits := _HITS.search(head, begin)):
        return Layout("hits", hits.end(), 1 + head.count(b"\n", 0, hits.end()))
    if _is_document(text.lstrip(), suffixes):
        return Layout("document")
    return Layout("lines")


def _is_document(text: bytes, suffixes: list[str]) -> bool:
    """One object printed over many lines, rather than one object per line."""
    if not text.startswith(b"{") or LINE_SUFFIXES & set(suffixes):
        return False
    first = text.partition(b"\n")[0].strip()
    return first == b"{" or (".json" in suffixes and len(first) < HEAD and first.count(b"{") > first.count(b"}"))
