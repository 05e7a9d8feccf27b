"""A file cut into records without reading it whole: one per line, or one per element of a JSON array.

A record that is too long, or broken, is a frame with a problem; what follows it is still read.
"""

import re
from collections.abc import Iterator
from typing import IO, NamedTuple

from memadmin.transfer.problems import Refused

LONGEST_RECORD = 64 * 1024 * 1024  # bytes
CHUNK = 1024 * 1024

_BLANK = b" \t\r\n"
_MARK = re.compile(rb'["\[\]{}]')
_MARK_OR_COMMA = re.compile(rb'["\[\]{},]')
_IN_STRING = re.compile(rb'["\\]')


class Frame(NamedTuple):
    """The bytes of one record, or why they cannot be had. Lines and records are counted from 1."""

    line: int
    number: int
    raw: bytes = b""
    problem: Refused | None = None


def too_long(limit: int) -> Refused:
    return Refused("record_too_long", f"the record is longer than {limit} bytes")


def read_lines(stream: IO[bytes], *, limit: int = LONGEST_RECORD, first_line: int = 1, first_number: int = 1) -> Iterator[Frame]:
    """Yield one frame per physical line (ended by LF alone) that is not blank."""
    line, number = first_line, first_number
    while raw := stream.readline(limit + 1):
        if len(raw) > limit and not raw.endswith(b"\n"):
            _skip_line(stream)
            yield Frame(line, number, problem=too_long(limit))
            number += 1
        elif raw.strip(_BLANK):
            yield Frame(line, number, raw)
            number += 1
        line += 1


def _skip_line(stream: IO[bytes]) -> None:
    while (part := stream.readline(CHUNK)) and not part.endswith(b"\n"):
        pass


def read_elements(stream: IO[bytes], *, limit: int = LONGEST_RECORD, first_line: int = 1, embedded: bool = False) -> Iterator[Frame]:
    """Yield one frame per element of the array that begins in `stream`; its opening bracket has been read already.

    An embedded array stands inside an object, the rest of which is left alone.
    """
    reader = _ArrayReader(stream, limit, first_line)
    yield from reader.frames()
    if not embedded:
        yield from reader.after()


class _ArrayReader:
    """Finds the commas of the outermost array; strings are skipped whole, brackets counted."""

    def __init__(self, stream: IO[bytes], limit: int, first_line: int) -> None:
        self.stream = stream
        self.limit = limit
        self.line = first_line  # of the first byte of `pending`
        self.number = 1
        self.pending = bytearray()  # the element so far
        self.overlong = False
        self.position = 0  # up to here `pending` has been looked at
        self.depth = 0
        self.in_string = False

    def frames(self) -> Iterator[Frame]:
        while chunk := self.stream.read(CHUNK):
            self.pending += chunk
            while (end := self._next_end()) is not None:
                closed = self.pending[end : end + 1] == b"]"
                yield from self._cut(end)
                if closed:
                    return
            self._drop_overlong()
        yield from self._unfinished()

    def _next_end(self) -> int | None:
        """Return where the current element ends (its comma or the array's bracket), or None where more bytes are needed."""
        while True:
            pattern = _IN_STRING if self.in_string else _MARK if self.depth else _MARK_OR_COMMA
            match = pattern.search(self.pending, self.position)
            if match is None:
                self.position = len(self.pending)
                return None
            if match[0] == b"\\" and match.end() == len(self.pending):
                self.position = match.start()
                return None
            self.position = match.end() + (match[0] == b"\\")
            if self._step(match[0]):
                return match.start()

    def _step(self, mark: bytes) -> bool:
        """Follow one mark; True where it ends the element."""
        if mark == b'"':
            self.in_string = not self.in_string
        elif mark in b"[{":
            self.depth += 1
        elif mark in b"]}":
            self.depth -= 1
            return self.depth < 0
        return mark == b","

    def _cut(self, end: int) -> Iterator[Frame]:
        yield from self._frame(bytes(self.pending[:end]))
        self.line += self.pending.count(b"\n", 0, end)
        del self.pending[: end + 1]
        self.position = self.depth = 0
        self.overlong = False

    def _frame(self, raw: bytes) -> Iterator[Frame]:
        if not raw.strip(_BLANK) and not self.overlong:
            return
        start = self.line + raw[: len(raw) - len(raw.lstrip(_BLANK))].count(b"\n")
        if self.overlong or len(raw) > self.limit:
            yield Frame(start, self.number, problem=too_long(self.limit))
        else:
            yield Frame(start, self.number, raw)
        self.number += 1

    def _drop_overlong(self) -> None:
        """Let go of the bytes of an element over the limit; its end is still looked for."""
        if len(self.pending) <= self.limit:
            return
        self.line += self.pending.count(b"\n", 0, self.position)
        del self.pending[: self.position]
        self.position = 0
        self.overlong = True

    def after(self) -> Iterator[Frame]:
        """Yield a problem if more than blanks follows the array."""
        while not (rest := self.pending.strip(_BLANK)) and (chunk := self.stream.read(CHUNK)):
            self.line += self.pending.count(b"\n")
            self.pending = bytearray(chunk)
        if rest:
            yield Frame(self.line, self.number, problem=Refused("after_the_end", "text after the end of the array was not read"))

    def _unfinished(self) -> Iterator[Frame]:
        if self.overlong or self.pending.strip(_BLANK):
            yield Frame(self.line, self.number, problem=Refused("cut_off", "the file ends inside this record"))
            self.pending.clear()
            return
        yield Frame(self.line, self.number, problem=Refused("cut_off", "the file ends before the array does"))
