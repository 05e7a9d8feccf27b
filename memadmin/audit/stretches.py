"""Verifying the log stretch by stretch: what a job does in steps, each of which goes on where the one before it stopped.

first = begin(connection, whole=False, ...)     the checkpoints are proved, the triggers looked at
following = advance(connection, place, ...)     some pages of one stream, or the end of it
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import TextField
from django.db.models.functions import Cast

from memadmin.audit import anchors, raw, verification
from memadmin.audit.actions import Action
from memadmin.audit.findings import Report
from memadmin.audit.models import AuditEntry, AuditHead, Stream
from memadmin.audit.walking import Walk

PAGES = 40  # of 500 rows: a few seconds


@dataclass(frozen=True)
class Place:
    """Behind which row of which stream the next stretch begins, and what that row may be called. Then come the other streams."""

    stream: str
    seq: Any  # on SQLite a key may be of any type
    hashes: tuple[str, ...] | None
    following: tuple[tuple[str, int], ...] = ()  # streams and the row behind which each begins
    at: str | None = None  # the time of that row

    def as_cursor(self) -> dict[str, Any]:
        hashes = None if self.hashes is None else list(self.hashes)
        following = [list(each) for each in self.following]
        return {"stream": self.stream, "seq": self.seq, "hashes": hashes, "following": following, "at": self.at}

    @classmethod
    def read(cls, cursor: Mapping[str, Any]) -> Place:
        hashes = None if cursor["hashes"] is None else tuple(cursor["hashes"])
        following = tuple((str(name), int(seq)) for name, seq in cursor["following"])
        return cls(cursor["stream"], cursor["seq"], hashes, following, cursor.get("at"))


def begin(connection: BaseDatabaseWrapper, *, folder: Path, since: int) -> tuple[Report, Place | None]:
    """Prove the checkpoints and look at the triggers; return where to begin, at the rows of checkpoint `since` or, for 0, at the first.

    Raises AnchorsUnusable, NotInstalled and DatabaseError.
    """
    report = verification.begin(anchors.read(folder))
    if not verification.tables_stand(connection, report):
        return report, None
    verification.find_protection_faults(connection, report)
    heads = anchors.heads_at(folder, since) if since else {}
    names = {Stream.GOVERNANCE.value, *raw.streams(connection), *report.anchors.rows}
    return report, _next_of(tuple((name, verification.behind(heads, name)) for name in sorted(names, key=str)))


def advance(connection: BaseDatabaseWrapper, place: Place, *, folder: Path) -> tuple[Report, Place | None]:
    """Verify the next stretch; return what it found and where to go on, None at the end of the log. Raises as `begin`."""
    report = Report(anchors=anchors.claimed(folder), anchors_asked=True)
    hashes = None if place.hashes is None else frozenset(place.hashes)
    at = datetime.fromisoformat(place.at) if place.at else None
    walk = Walk(place.stream, report, behind=place.seq, hashes=hashes, at=at)
    ended = walk.along(connection, lambda _rows: None, pages=PAGES)
    if report.missing:
        report.justified |= _redacted()
    verification.account_for_redactions(report)
    if ended and not place.following:
        verification.find_lonely_payloads(connection, report, _was_cut)
    if ended:
        return report, _next_of(place.following)
    known = None if walk.hashes is None else tuple(sorted(walk.hashes))
    return report, Place(place.stream, walk.part.last_seq, known, place.following, walk.at.isoformat() if walk.at else None)


def _next_of(streams: tuple[tuple[str, int], ...]) -> Place | None:
    return Place(streams[0][0], streams[0][1], None, streams[1:]) if streams else None


def _was_cut(stream: str, seq: object) -> bool:
    """Whether the head row says that there were entries to here, and there are none."""
    last = AuditEntry.objects.in_stream(stream).newest_first().values_list("seq", flat=True).first() or 0
    head = AuditHead.objects.filter(stream=stream).values_list("seq", flat=True).first() or 0
    return isinstance(seq, int) and last < seq <= head


def _redacted() -> set[tuple[str, int]]:
    """Return every payload that the log says was taken out. That these entries are what was written, their own stretch finds."""
    entries = AuditEntry.objects.in_stream(Stream.GOVERNANCE).of_actions([Action.AUDIT_REDACTED])
    found: set[tuple[str, int]] = set()
    for target, counts in entries.annotate(text=Cast("counts", TextField())).values_list("target", "text").iterator():
        with suppress(ValueError, AttributeError):
            found |= {(target.partition("/")[2], seq) for seq in json.loads(counts).values()}
    return found
