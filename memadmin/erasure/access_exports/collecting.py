"""The person takes their export: the code opens it once, and the archive streams out piece by piece.

Invariant: of several who give the right code at the same moment one gets the export. What was taken has no key in the database any more.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO, Any
from uuid import UUID

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Outcome, Stream
from memadmin.erasure.access_exports import ending, sealing
from memadmin.erasure.access_exports.parts import read_parts
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import AccessExport, ExportState

WINDOW = timedelta(minutes=15)
MOST_TRIES = 10  # wrong codes from one address in that time
NOWHERE = "access-exports/unknown"


class WrongCode(Exception):
    """No export is opened by this code."""


class TooLate(Exception):
    """The export was taken, called off, or has expired."""


class NotYet(Exception):
    """Too many wrong codes came from this address: it has to wait."""


@dataclass(frozen=True, slots=True)
class Collected:
    """An export that was taken: what streams out, and its name for the person."""

    export: AccessExport
    key: bytes

    @property
    def file_name(self) -> str:
        return f"what-is-remembered-about-you-{(self.export.made_at or self.export.started_at).date().isoformat()}.zip"

    def stream(self) -> Iterator[bytes]:
        """Yield the archive. Afterwards, or when it breaks off, the parts go. Raises PartsMissing when they went before."""
        try:
            yield from archive_of(self.export, self.key)
        finally:
            ending.drop_parts([self.export.pk])


def is_open(uid: UUID, *, now: datetime) -> bool:
    """Whether an export of this name waits to be taken."""
    return AccessExport.objects.filter(uid=uid, state=ExportState.HANDED_OUT, expires_at__gt=now).exists()


def collect(uid: UUID, code: str, *, actor: str, now: datetime) -> Collected:
    """Take an export by its code: the link works no more. Raises NotYet, WrongCode, TooLate; the log has each wrong code."""
    if _tries(actor, now=now) >= MOST_TRIES:
        raise NotYet
    try:
        with transaction.atomic():
            return _collect(uid, code, actor=actor, now=now)
    except (WrongCode, TooLate) as refusal:
        _note_refusal(uid, refusal, actor=actor, now=now)
        raise


def _collect(uid: UUID, code: str, *, actor: str, now: datetime) -> Collected:
    export = AccessExport.objects.select_for_update().select_related("request").filter(uid=uid).first()
    if export is None or not export.code_digest:
        sealing.is_code(code, uid, sealing.digest_of("", uid))  # as long as where there is one
        raise WrongCode if export is None or export.state in (ExportState.BUILDING, ExportState.READY) else TooLate
    if not sealing.is_code(code, uid, export.code_digest):
        raise WrongCode
    if export.state != ExportState.HANDED_OUT or export.expires_at is None or export.expires_at <= now:
        raise TooLate
    key = sealing.unwrap_by_code(bytes(export.wrapped_key or b""), code, uid)
    taken = AccessExport.objects.filter(pk=export.pk, state=ExportState.HANDED_OUT)
    if not taken.update(state=ExportState.COLLECTED, ended_at=now, wrapped_key=None, code_digest=""):
        raise TooLate
    log.append(Action.ACCESS_EXPORT_COLLECTED, actor=actor, target=target_of(export.request), at=now)
    return Collected(export, key)


def _tries(actor: str, *, now: datetime) -> int:
    since = AuditEntry.objects.in_stream(Stream.GOVERNANCE).not_before(now - WINDOW).by_actor(actor)
    return since.of_actions([Action.ACCESS_EXPORT_CODE_REFUSED]).count()


@transaction.atomic
def _note_refusal(uid: UUID, refusal: Exception, *, actor: str, now: datetime) -> None:
    known = AccessExport.objects.select_related("request").filter(uid=uid).first()
    target, code = target_of(known.request) if known else NOWHERE, "too_late" if isinstance(refusal, TooLate) else "wrong_code"
    log.append(Action.ACCESS_EXPORT_CODE_REFUSED, actor=actor, target=target, at=now, outcome=Outcome.REFUSED, reason_code=code)


class _Sink:
    """What a ZIP is written to: it keeps the bytes until they are taken, and knows no way back."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def write(self, data: Any) -> int:
        self.waiting.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back here."""

    def close(self) -> None:
        """What waits can still be taken."""

    def take(self) -> bytes:
        taken = b"".join(self.waiting)
        self.waiting.clear()
        return taken


def archive_of(export: AccessExport, key: bytes) -> Iterator[bytes]:
    """Yield a ZIP of the files, one piece in memory at a time. Raises PartsMissing, Unopened."""
    sink, made = _Sink(), export.made_at or export.started_at
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(export.files, key=lambda each: each["name"] != "index.html"):
            info = zipfile.ZipInfo(file["name"], made.timetuple()[:6])
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            with archive.open(info, "w", force_zip64=True) as member:
                yield from _pieces(export, file, key, member, sink)
            yield sink.take()
    yield sink.take()


def _pieces(export: AccessExport, file: dict[str, Any], key: bytes, member: IO[bytes], sink: _Sink) -> Iterator[bytes]:
    for piece in read_parts(export, file["name"], range(file["parts"]), key):
        member.write(piece)
        yield sink.take()
