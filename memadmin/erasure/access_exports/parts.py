"""The sealed pieces of an export's files, in and out of the database one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from memadmin.erasure.access_exports import sealing
from memadmin.erasure.models import AccessExport, ExportPart


class PartsMissing(Exception):
    """A file has fewer parts than it was made of: the export went while it was read."""


def write_part(export: AccessExport, file: str, number: int, text: bytes, key: bytes) -> None:
    sealed = sealing.seal_part(text, key, _name(export, file, number))
    ExportPart.objects.create(export=export, file=file, number=number, sealed=sealed)


def read_parts(export: AccessExport, file: str, numbers: range, key: bytes) -> Iterator[bytes]:
    """Yield what the pieces of a file say, one in memory at a time. Raises PartsMissing, Unopened."""
    for number in numbers:
        sealed = ExportPart.objects.filter(export=export, file=file, number=number).values_list("sealed", flat=True).first()
        if sealed is None:
            raise PartsMissing(file)
        yield sealing.open_part(bytes(sealed), key, _name(export, file, number))


def _name(export: AccessExport, file: str, number: int) -> str:
    return f"{export.uid}/{file}/{number}"
