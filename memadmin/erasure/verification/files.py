"""Bytes on disk: the files of folders where copies may lie, and the database file itself where its pages are promised to be clean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

CHUNK = 4 * 1024 * 1024


def files_with(folders: Iterable[Path], needles: Sequence[bytes]) -> Iterator[Path]:
    """Yield the files below the folders whose bytes hold any of the needles. Raises OSError where one that is there cannot be read."""
    for folder in folders:
        for path in _all_below(folder):
            with suppress(FileNotFoundError):  # it has gone since: who made it takes it along
                if path.is_file() and count_in(path, needles):
                    yield path


def _all_below(folder: Path) -> list[Path]:
    return sorted(Path(within, name) for within, _, names in os.walk(folder, onerror=_raise_unless_gone) for name in names)


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def count_in(path: Path, needles: Sequence[bytes]) -> int:
    """Return how often the needles occur in a file, read in pieces that overlap by the longest of them."""
    wanted = [needle for needle in needles if needle]
    overlap = max((len(needle) for needle in wanted), default=1) - 1
    found, rest = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            window = rest + chunk
            found += sum(window.count(needle) - rest.count(needle) for needle in wanted)
            rest = window[len(window) - overlap :] if overlap else b""
    return found
