"""The import itself: records in, batches out. A whole batch is stored or none of it, and a bad record costs only itself."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Protocol

from django.db import DataError, IntegrityError, transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome as Result
from memadmin.store import arrivals, ingest
from memadmin.store.held_copies import Restricted
from memadmin.store.intake import Incoming
from memadmin.store.models import TimeNote
from memadmin.store.opening import Suppressed
from memadmin.transfer.columns import check
from memadmin.transfer.decoding import Decoded, decode
from memadmin.transfer.frames import Frame
from memadmin.transfer.outcomes import Arrival, CopiedFrom, FoundContainer, FoundPolicy, Outcome, Said
from memadmin.transfer.problems import Noted, Refused
from memadmin.transfer.report import Report, add_up
from memadmin.transfer.sessions import SessionBook
from memadmin.transfer.sources import Source
from memadmin.transfer.targets import Target
from memadmin.transfer.values import Record

BATCH_ITEMS = 1_000
BATCH_BYTES = 8 * 1024 * 1024  # of file, so that a thousand long messages do not have to fit into memory
# Not a lost connection: that ends the import.
REFUSED_BY_STORE = (DataError, IntegrityError, OverflowError, UnicodeError, ingest.UidTaken, Suppressed, Restricted)

SUPPRESSED = "suppressed"
Held = tuple[Frame, Arrival]


class Reader(Protocol):
    """One format. The file is read once for each stage; what belongs to another stage yields nothing in this one."""

    @property
    def stages(self) -> tuple[str, ...]: ...

    def prepare(self, source: Source) -> None:
        """Look through the file for what must be known first. Raises UnusableFile."""
        ...

    def wants(self, frame: Frame, stage: str) -> bool:
        """Tell from the bytes whether a stage before the last may find something in them."""
        ...

    def read(self, record: Record, stage: str) -> Iterator[Outcome]:
        """Yield what a record holds. Raises, or yields, Refused."""
        ...

    def missing(self) -> Iterator[Refused]:
        """Yield, after the last record, what the file should have held and did not."""
        ...


class Importer:
    """Runs a file through a reader into the target."""

    def __init__(self, target: Target, *, report: Report, on_progress: Callable[[Source], None] = lambda source: None) -> None:
        self.target = target
        self.report = report
        self.on_progress = on_progress
        self.written: defaultdict[int, ingest.Written] = defaultdict(ingest.Written)  # by container
        self._erased: Counter[int] = Counter()  # by container: what was erased before, and refused
        self._book = SessionBook()
        self._held: list[Held] = []
        self._bytes = 0

    def run(self, source: Source, reader: Reader) -> None:
        """Store what the file holds, and note in the audit log what has been stored, even when stopped. Raises UnusableFile."""
        outcome, reason = Result.FAILED, "stopped"
        try:
            reader.prepare(source)
            for stage in reader.stages:
                self._run_stage(source, reader, stage)
            for problem in reader.missing():
                self.report.refuse(Frame(0, self.report.records), problem)
            outcome, reason = Result.OK, "partial" if self.report.refused else ""
        finally:
            self._audit(outcome, reason)

    def _run_stage(self, source: Source, reader: Reader, stage: str) -> None:
        is_last = stage == reader.stages[-1]
        for frame in source.frames():
            if is_last:
                self.report.records += 1
                self._take(frame, reader, stage, tell=self.report)
            elif reader.wants(frame, stage):
                self._take(frame, reader, stage, tell=None)
            self._bytes += len(frame.raw)
            if self._bytes >= BATCH_BYTES:
                self._flush()
                self.on_progress(source)
        self._flush()
        self.on_progress(source)

    def _take(self, frame: Frame, reader: Reader, stage: str, *, tell: Report | None) -> None:
        """Hold what a record yields. Broken records are told of in the last stage, which sees them all."""
        try:
            decoded = _decoded(frame)
        except Refused as problem:
            if tell:
                tell.refuse(frame, problem)
            return
        for noted in decoded.noted if tell else ():
            self.report.note(frame, noted)
        try:
            for outcome in reader.read(decoded.record, stage):
                self._handle(frame, outcome)
        except Refused as problem:
            self.report.refuse(frame, problem)

    def _handle(self, frame: Frame, outcome: Outcome) -> None:
        if isinstance(outcome, Refused):
            self.report.refuse(frame, outcome)
        elif isinstance(outcome, Noted):
            self.report.note(frame, outcome)
        elif isinstance(outcome, CopiedFrom):
            self._flush()
            self.target.copied_from(outcome)
        elif isinstance(outcome, FoundContainer):
            self._flush()
            self.target.open(outcome)
        elif isinstance(outcome, FoundPolicy):
            self._flush()
            self.target.draft(outcome)
        else:
            self._hold(frame, outcome)

    def _hold(self, frame: Frame, arrival: Arrival) -> None:
        item = arrival.working if isinstance(arrival, Said) else arrival
        check(item)
        if isinstance(item, Incoming) and item.time_note:
            self.report.note(frame, Noted(item.time_note, TimeNote(item.time_note).label, field="created_at"))
        self._held.append((frame, arrival))
        if len(self._held) >= BATCH_ITEMS:
            self._flush()

    def _flush(self) -> None:
        held, self._held, self._bytes = self._held, [], 0
        if not held:
            return
        placed = self._book.arrange(self.target.container, [arrival for _, arrival in held])
        try:
            self._write([item for items in placed for item in items])
        except REFUSED_BY_STORE:
            self._write_one_by_one([(frame, items) for (frame, _), items in zip(held, placed, strict=True)])

    def _write_one_by_one(self, held: list[tuple[Frame, list[ingest.Arrival]]]) -> None:
        for _, group in itertools.groupby(held, key=lambda entry: entry[0].number):
            entries = list(group)
            try:
                self._write([item for _, items in entries for item in items])
            except REFUSED_BY_STORE as error:
                self.report.refuse(entries[0][0], refusal(error))
                self._erased[self.target.container.pk] += isinstance(error, Suppressed)

    def _write(self, items: list[ingest.Arrival]) -> None:
        container = self.target.container
        written = ingest.write(container, items, actor=self.target.actor, now=self.target.now, origin=self.target.origin)
        self.report.add(written)
        add_up(self.written[container.pk], written)

    @transaction.atomic
    def _audit(self, outcome: str, reason: str) -> None:
        for key, container in self.target.used.items():
            written = self.written[key]
            counts = {f"{name}.{kind}": number for name in ("new", "changed") for kind, number in getattr(written, name).items() if number}
            arrivals.note_refused(container, arrivals.Way.IMPORT, self._erased[key], actor=self.target.actor, now=self.target.now)
            log.append(
                Action.IMPORT_FINISHED,
                actor=self.target.actor,
                target=f"containers/{container.uid}",
                at=self.target.now,
                outcome=outcome,
                reason_code=reason,
                counts={"records": self.report.records, "refused": self.report.refused.total(), **counts},
            )


def refusal(error: Exception) -> Refused:
    """Return what to say of a record that the store refuses, from one of REFUSED_BY_STORE."""
    if isinstance(error, ingest.UidTaken):
        return Refused("uid_taken", "the uid belongs to an item of another user", field="uid")
    if isinstance(error, Suppressed):
        return Refused(SUPPRESSED, "this was erased on request and is not taken again")
    if isinstance(error, Restricted):
        return Refused("restricted", "this is kept as it is until its restriction is lifted")
    return Refused("database", f"the database refuses this record ({type(error).__name__})")  # its own words would quote the record


def _decoded(frame: Frame) -> Decoded:
    if frame.problem:
        raise frame.problem
    return decode(frame.raw)
