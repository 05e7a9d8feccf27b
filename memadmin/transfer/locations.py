"""Files of imports and exports. None stays on the server: they live in a folder that ends with the request or command."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memadmin.store.locations import Act, Found, ItemClass, Location, Page, Scope, Unreachable, register, row_uid

FOLDERS = ("memadmin-import-*", "memadmin-export-*")


def left_behind(scope: Scope, after: Any, limit: int) -> Page:
    """Files of an import or export whose process was killed. They may hold anybody: each counts, whoever is looked for."""
    root = Path(tempfile.gettempdir())
    try:
        files = sorted(path for pattern in FOLDERS for folder in root.glob(pattern) for path in _files_in(folder))
        return Page([found for path in files for found in _as_found(path)])
    except OSError as error:
        raise Unreachable("the folder of temporary files") from error


def _files_in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []  # its import or export has ended this moment, and has taken it along


def _as_found(path: Path) -> Iterator[Found]:
    with suppress(FileNotFoundError):  # likewise
        yield Found(str(path), row_uid("transfer.files", path), size=path.stat().st_size)


def remove(paths: Sequence[str]) -> int:
    """Remove files, and return how many there were."""
    there = [path for path in map(Path, paths) if path.exists()]
    for path in there:
        path.unlink(missing_ok=True)
    return len(there)


register(
    Location(
        name="transfer.files",
        title="Uploaded and exported files whose process was killed",
        order=18,
        item_class=ItemClass.COPY,
        act=Act.DELETE,
        find=left_behind,
        delete=remove,
    ),
    Location(
        name="transfer.exports",
        title="Export files that people have taken away",
        order=102,
        item_class=ItemClass.BACKUP,
        act=Act.CLEAR,
        goes="They are with who took them; the audit log says who did, and when. Importing one again is refused for an erased person.",
    ),
)
