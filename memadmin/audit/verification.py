"""Is the log whole? Walks every stream from its first row to its head, in constant memory, and says what is wrong and where.

By itself it finds what was changed, removed or put in between, and a tail cut off while its head row stayed. With the signed checkpoints
outside the database it finds a tail cut off together with its head too, and a chain computed anew from some row to the end.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

from memadmin.audit import protection, raw
from memadmin.audit.anchors import Anchored, latest, read
from memadmin.audit.findings import UNACCOUNTED, Kind, Report
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload, Stream
from memadmin.audit.walking import Walk

Heads = Mapping[str, int]  # by stream: the number of a row


class NotInstalled(Exception):
    """This database has never had the log's tables."""


def verify(
    connection: BaseDatabaseWrapper,
    *,
    anchors: Path | None = None,
    since: Heads | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> Report:
    """Return what was read and found; `on_progress` gets the number of rows of each page. `anchors` is the folder of the checkpoints.

    With `since`, the rows that an earlier checkpoint names, only these and what came after them are read.
    Raises NotInstalled, AnchorsUnusable and DatabaseError.
    """
    report = Report() if anchors is None else begin(read(anchors))
    if tables_stand(connection, report):
        find_protection_faults(connection, report)
        names = {Stream.GOVERNANCE.value, *raw.streams(connection), *report.anchors.rows}
        walks = [Walk(name, report, behind=behind(since or {}, name)) for name in sorted(names, key=str)]
        for walk in walks:
            walk.through(connection, on_progress or _say_nothing)
        account_for_redactions(report)
        walked = {walk.part.stream: walk for walk in walks}
        find_lonely_payloads(connection, report, lambda stream, seq: stream in walked and walked[stream].cut(seq))
    return report


def verify_end(connection: BaseDatabaseWrapper, *, rows: int, anchors: Path) -> Report:
    """Look at the newest rows of every stream and at the last checkpoint alone: quick, and what is older is not looked at.

    Raises AnchorsUnusable and DatabaseError.
    """
    report = begin(latest(anchors))
    find_protection_faults(connection, report)
    heads = dict(AuditHead.objects.values_list("stream", "seq"))
    for name in sorted({Stream.GOVERNANCE.value, *heads, *report.anchors.rows}):
        Walk(name, report, behind=max(0, heads.get(name, 0) - rows)).through(connection, _say_nothing)
    account_for_redactions(report)
    return report


def begin(anchored: Anchored) -> Report:
    """Return a report that knows the checkpoints and what is wrong with them."""
    report = Report(anchors=anchored, anchors_asked=True)
    for line, words in anchored.faults:
        report.add(Kind.ALTERED, "anchors", line, "line", words)
    return report


def behind(since: Heads, stream: str) -> int:
    """Return the row before the one that a checkpoint names: that one is read again, to be compared with its anchor."""
    return max(0, since.get(stream, 0) - 1)


def find_protection_faults(connection: BaseDatabaseWrapper, report: Report) -> None:
    for name, problem in sorted(protection.faults(connection).items()):
        report.add(Kind.PROTECTION_MISSING, "", None, name, problem)


def account_for_redactions(report: Report) -> None:
    """A payload that is gone is redacted where the chain says so, and a finding where it does not."""
    for stream, seqs in sorted(report.missing.items()):
        for seq in sorted(seqs):
            if (stream, seq) in report.justified:
                report.redacted += 1
            else:
                report.add(Kind.PAYLOAD_MISSING, stream, seq, "payload", UNACCOUNTED)


def find_lonely_payloads(connection: BaseDatabaseWrapper, report: Report, was_cut: Callable[[str, object], bool]) -> None:
    """Find payloads without an entry; `was_cut` says whether the entry lay in the part that is missing at the end."""
    for stream, seq in raw.lonely_payloads(connection):
        kind = Kind.CUT_OFF if was_cut(stream, seq) else Kind.ALTERED
        report.add(kind, stream, seq, "payload", "its entry is missing")


def tables_stand(connection: BaseDatabaseWrapper, report: Report) -> bool:
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
