"""One stream of the log, row after row: is each what it was, and does it stand where it stood?"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper

from memadmin.audit import raw
from memadmin.audit.actions import Action
from memadmin.audit.chain import GENESIS
from memadmin.audit.findings import UNACCOUNTED, Kind, Report, StreamReport
from memadmin.audit.inspection import Inspected, inspect, instant
from memadmin.audit.models import Stream

OUT_OF_TURN = timedelta(minutes=10)  # an entry bears the time at which its act began, and acts wait for each other


class Walk:
    """One stream, row after row: what the next row must be called and what it must follow."""

    def __init__(
        self, stream: str, report: Report, *, behind: int = 0, hashes: frozenset[str] | None = None, at: datetime | None = None
    ) -> None:
        self.report = report
        self.part = StreamReport(stream)
        self.behind = behind
        self.next_seq = behind + 1
        self.hashes = hashes if behind else frozenset({GENESIS})  # None: the row before is not known
        self.at = at  # of the row before
        self.head_seq: object = 0
        self.anchored = report.anchors.rows.get(stream, {})
        self.anchors_asked = report.anchors_asked
        report.streams.append(self.part)

    def through(self, connection: BaseDatabaseWrapper, on_progress: Callable[[int], object]) -> None:
        self.along(connection, on_progress, pages=None)

    def along(self, connection: BaseDatabaseWrapper, on_progress: Callable[[int], object], *, pages: int | None) -> bool:
        """Walk so many pages of rows, or to the end; return whether that was reached."""
        head = None
        behind = {"behind": self.behind} if self.behind else {}
        for number, page in enumerate(raw.pages(connection, self.part.stream, **behind), 1):
            for row in page.rows:
                self.step(row)
            head = page.head
            on_progress(len(page.rows))
            if page.more and pages is not None and number >= pages and isinstance(page.rows[-1].seq, int):
                return False
        self.arrive(head)
        return True

    def step(self, row: raw.Row) -> None:
        inspected = inspect(row)
        for name, message in inspected.altered.items():
            self.add(Kind.ALTERED, row.seq, name, message)
        if inspected.payload_missing:
            if isinstance(row.seq, int):
                self.report.missing.setdefault(self.part.stream, set()).add(row.seq)
            else:
                self.add(Kind.PAYLOAD_MISSING, row.seq, "payload", UNACCOUNTED)
        self.note(row, inspected)
        self.place(row.seq)
        self.time(row)
        if self.hashes is not None and inspected.follows not in self.hashes and not inspected.altered.keys() & {"seq", "stream"}:
            self.add(Kind.ALTERED, row.seq, "prev_hash", "the row does not follow the one before it")
        self.hashes = inspected.hashes
        self.part.rows += 1
        self.part.first_seq = row.seq if self.part.first_seq is None else self.part.first_seq
        self.part.last_seq, self.part.last_hash = row.seq, row.columns["row_hash"] or ""

    def note(self, row: raw.Row, inspected: Inspected) -> None:
        """Compare the row with its anchor, and take down what a sound redaction or first anchoring says."""
        anchored = self.anchored.get(row.seq) if isinstance(row.seq, int) else None
        if anchored is not None and anchored not in inspected.hashes:
            self.add(Kind.ALTERED, row.seq, "row_hash", "it is not the hash that was anchored outside the database")
        if inspected.altered or self.part.stream != Stream.GOVERNANCE:
            return
        action = row.columns["action"]
        if action == Action.AUDIT_REDACTED:
            stream = (row.columns["target"] or "").partition("/")[2]
            self.report.justified |= {(stream, seq) for seq in json.loads(row.columns["counts"] or "{}").values()}
        elif action == Action.AUDIT_ANCHORED and self.anchors_asked and not self.report.anchors.lines:
            self.add(Kind.CUT_OFF, row.seq, "anchors", "the log was anchored here, and the checkpoints are gone")

    def place(self, seq: object) -> None:
        """Note a gap before `seq`, or that it is not a number of a row at all."""
        if not isinstance(seq, int) or seq < self.next_seq:
            self.add(Kind.ALTERED, seq, "seq", "it is no number that a row can have here")
            self.hashes = None
            return
        if seq > self.next_seq:
            self.add(Kind.ALTERED, self.next_seq, "seq", f"{_rows(self.next_seq, seq - 1)} missing")
            self.hashes = None
        self.next_seq = seq + 1

    def time(self, row: raw.Row) -> None:
        """Note where the clock was set back: nothing is wrong with the log, but its times are not to be trusted around there."""
        at = instant(row)
        if at is not None and self.at is not None and self.at - at > OUT_OF_TURN:
            self.report.add_turn(self.part.stream, row.seq, self.at - at)
        self.at = at or self.at

    def arrive(self, head: raw.Head | None) -> None:
        """Compare the end of the stream with its head row."""
        last = self._last(head)
        highest = max(self.anchored, default=0)
        if highest > last and not (head is not None and isinstance(head.seq, int) and head.seq > last):
            words = f"{_rows(last + 1, highest)} missing at the end: they were anchored outside the database"
            self.add(Kind.CUT_OFF, last + 1, "seq", words)
        if head is None:
            if self.part.rows or self.behind:
                self.add(Kind.ALTERED, None, "head", "the head row of the stream is missing")
            return
        self.head_seq = head.seq
        if not isinstance(head.seq, int) or head.seq < last:
            self.add(Kind.ALTERED, None, "head", f"it names row {head.seq} as the last, which is row {last}")
        elif head.seq > last:
            self.add(Kind.CUT_OFF, last + 1, "seq", f"{_rows(last + 1, head.seq)} missing at the end")
        elif self.hashes is not None and head.row_hash not in self.hashes:
            self.add(Kind.ALTERED, None, "head", f"it does not name the hash of row {last}, the last")

    def _last(self, head: raw.Head | None) -> int:
        """Return the last row that is there. Where none was read behind the one it began with, the end may lie before that."""
        reached = self.next_seq - 1
        nothing_read = self.behind and not self.part.rows and head is not None and isinstance(head.seq, int)
        return min(reached, head.seq) if nothing_read else reached  # type: ignore[union-attr, type-var, return-value]

    def cut(self, seq: object) -> bool:
        """Whether the row of this number lay in the part that is missing at the end."""
        return isinstance(seq, int) and isinstance(self.head_seq, int) and self.next_seq <= seq <= self.head_seq

    def add(self, kind: Kind, seq: object, field: str, message: str) -> None:
        self.report.add(kind, self.part.stream, seq, field, message)


def _rows(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"
