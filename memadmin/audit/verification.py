"""Is the log whole? Walks every stream from its first row to its head, in constant memory, and says what is wrong and where.

By itself it finds what was changed, removed or put in between, and a tail cut off while its head row stayed. With the signed checkpoints
outside the database it finds a tail cut off together with its head too, and a chain computed anew from some row to the end.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

from memadmin.audit import protection, raw
from memadmin.audit.actions import Action
from memadmin.audit.anchors import Anchored, latest, read
from memadmin.audit.chain import GENESIS
from memadmin.audit.inspection import Inspected, inspect
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload, Stream

_UNACCOUNTED = "it is gone, and no redaction accounts for it"
MOST_FINDINGS = 1000  # kept for the report; all are counted


class Kind(IntEnum):
    """What can be wrong, by exit code; where several are, the lowest counts."""

    ALTERED = 20
    CUT_OFF = 21
    PAYLOAD_MISSING = 22
    PROTECTION_MISSING = 23


class NotInstalled(Exception):
    """This database has never had the log's tables."""


@dataclass(frozen=True)
class Finding:
    kind: Kind
    stream: str
    seq: int | str | None
    field: str
    message: str


@dataclass
class StreamReport:
    stream: str
    rows: int = 0
    first_seq: object = None
    last_seq: object = None
    last_hash: str = ""


@dataclass
class Report:
    streams: list[StreamReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    found: Counter[Kind] = field(default_factory=Counter)
    redacted: int = 0
    anchors_asked: bool = False
    anchors: Anchored = field(default_factory=Anchored)
    missing: dict[str, set[int]] = field(default_factory=dict)  # payloads that are gone, until redactions account for them
    justified: set[tuple[str, int]] = field(default_factory=set)

    @property
    def tail_pinned(self) -> bool:
        """Whether the last row of every stream is anchored outside the database."""
        streams = [part for part in self.streams if part.rows]
        return bool(streams) and all(self.anchors.highest(part.stream) == part.last_seq for part in streams)

    @property
    def unanchored(self) -> int:
        """How many rows came after the last checkpoint."""
        last = {part.stream: part.last_seq for part in self.streams if isinstance(part.last_seq, int)}
        return sum(max(0, seq - self.anchors.highest(stream)) for stream, seq in last.items())

    @property
    def exit_code(self) -> int:
        return min(self.found, default=0)

    def add(self, kind: Kind, stream: str, seq: object, field: str, message: str) -> None:
        self.found[kind] += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(kind, stream, seq if seq is None or isinstance(seq, int) else str(seq), field, message))


def verify(connection: BaseDatabaseWrapper, *, anchors: Path | None = None, on_progress: Callable[[int], object] | None = None) -> Report:
    """Return what was read and found; `on_progress` gets the number of rows of each page. `anchors` is the folder of the checkpoints.

    Raises NotInstalled, AnchorsUnusable and DatabaseError.
    """
    report = Report()
    if anchors is not None:
        report.anchors, report.anchors_asked = read(anchors), True
        for line, words in report.anchors.faults:
            report.add(Kind.ALTERED, "anchors", line, "line", words)
    if _tables_stand(connection, report):
        for name, problem in sorted(protection.faults(connection).items()):
            report.add(Kind.PROTECTION_MISSING, "", None, name, problem)
        names = {Stream.GOVERNANCE.value, *raw.streams(connection), *report.anchors.rows}
        walks = [_Walk(name, report) for name in sorted(names, key=str)]
        for walk in walks:
            walk.through(connection, on_progress or _say_nothing)
        _account_for_redactions(report)
        _find_lonely_payloads(connection, report, {walk.part.stream: walk for walk in walks})
    return report


def verify_end(connection: BaseDatabaseWrapper, *, rows: int, anchors: Path) -> Report:
    """Look at the newest rows of every stream and at the last checkpoint alone: quick, and what is older is not looked at.

    Raises AnchorsUnusable and DatabaseError.
    """
    report = Report(anchors=latest(anchors), anchors_asked=True)
    for line, words in report.anchors.faults:
        report.add(Kind.ALTERED, "anchors", line, "line", words)
    for name, problem in sorted(protection.faults(connection).items()):
        report.add(Kind.PROTECTION_MISSING, "", None, name, problem)
    heads = dict(AuditHead.objects.values_list("stream", "seq"))
    for name in sorted({Stream.GOVERNANCE.value, *heads, *report.anchors.rows}):
        _Walk(name, report, behind=max(0, heads.get(name, 0) - rows)).through(connection, _say_nothing)
    _account_for_redactions(report)
    return report


class _Walk:
    """One stream, row after row: what the next row must be called and what it must follow."""

    def __init__(self, stream: str, report: Report, *, behind: int = 0) -> None:
        self.report = report
        self.part = StreamReport(stream)
        self.behind = behind
        self.next_seq = behind + 1
        self.hashes: frozenset[str] | None = None if behind else frozenset({GENESIS})  # None: the row before is not known
        self.head_seq: object = 0
        self.anchored = report.anchors.rows.get(stream, {})
        self.anchors_asked = report.anchors_asked
        report.streams.append(self.part)

    def through(self, connection: BaseDatabaseWrapper, on_progress: Callable[[int], object]) -> None:
        head = None
        for page in raw.pages(connection, self.part.stream, **({"behind": self.behind} if self.behind else {})):
            for row in page.rows:
                self.step(row)
            head = page.head
            on_progress(len(page.rows))
        self.arrive(head)

    def step(self, row: raw.Row) -> None:
        inspected = inspect(row)
        for name, message in inspected.altered.items():
            self.add(Kind.ALTERED, row.seq, name, message)
        if inspected.payload_missing:
            if isinstance(row.seq, int):
                self.report.missing.setdefault(self.part.stream, set()).add(row.seq)
            else:
                self.add(Kind.PAYLOAD_MISSING, row.seq, "payload", _UNACCOUNTED)
        self.note(row, inspected)
        self.place(row.seq)
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

    def arrive(self, head: raw.Head | None) -> None:
        """Compare the end of the stream with its head row."""
        last = self.next_seq - 1
        highest = max(self.anchored, default=0)
        if highest > last and not (head is not None and isinstance(head.seq, int) and head.seq > last):
            words = f"{_rows(last + 1, highest)} missing at the end: they were anchored outside the database"
            self.add(Kind.CUT_OFF, last + 1, "seq", words)
        if head is None:
            if self.part.rows:
                self.add(Kind.ALTERED, None, "head", "the head row of the stream is missing")
            return
        self.head_seq = head.seq
        if not isinstance(head.seq, int) or head.seq < last:
            self.add(Kind.ALTERED, None, "head", f"it names row {head.seq} as the last, which is row {last}")
        elif head.seq > last:
            self.add(Kind.CUT_OFF, last + 1, "seq", f"{_rows(last + 1, head.seq)} missing at the end")
        elif self.hashes is not None and head.row_hash not in self.hashes:
            self.add(Kind.ALTERED, None, "head", f"it does not name the hash of row {last}, the last")

    def cut(self, seq: object) -> bool:
        """Whether the row of this number lay in the part that is missing at the end."""
        return isinstance(seq, int) and isinstance(self.head_seq, int) and self.next_seq <= seq <= self.head_seq

    def add(self, kind: Kind, seq: object, field: str, message: str) -> None:
        self.report.add(kind, self.part.stream, seq, field, message)


def _account_for_redactions(report: Report) -> None:
    """A payload that is gone is redacted where the chain says so, and a finding where it does not."""
    for stream, seqs in sorted(report.missing.items()):
        for seq in sorted(seqs):
            if (stream, seq) in report.justified:
                report.redacted += 1
            else:
                report.add(Kind.PAYLOAD_MISSING, stream, seq, "payload", _UNACCOUNTED)


def _find_lonely_payloads(connection: BaseDatabaseWrapper, report: Report, walks: dict[str, _Walk]) -> None:
    for stream, seq in raw.lonely_payloads(connection):
        kind = Kind.CUT_OFF if stream in walks and walks[stream].cut(seq) else Kind.ALTERED
        report.add(kind, stream, seq, "payload", "its entry is missing")


def _tables_stand(connection: BaseDatabaseWrapper, report: Report) -> bool:
    """Note each table that is gone. A database that never had them is another matter: nothing was taken away. Raises NotInstalled."""
    present = set(connection.introspection.table_names())
    gone = [model._meta.db_table for model in (AuditEntry, AuditPayload, AuditHead) if model._meta.db_table not in present]
    if gone and ("audit", "0001_tables") not in MigrationRecorder(connection).applied_migrations():
        raise NotInstalled
    for table in gone:
        report.add(Kind.CUT_OFF, "", None, table, "the table is gone")
    return not gone


def _say_nothing(_rows: int) -> None:
    pass


def _rows(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"
