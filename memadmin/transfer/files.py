"""Writing a file that is there whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from memadmin.store.text import clean
from memadmin.transfer.problems import UnusableFile

Write = Callable[[Mapping[str, Any]], None]


@contextmanager
def json_lines(path: Path) -> Iterator[Write]:
    """Yield what writes one record a line, packed if the name ends in .gz.

    Only a block that ends well leaves a file; only its owner may read it.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part")
    except OSError as error:
        raise UnusableFile(f"{path}: cannot be written there ({error.strerror})") from None
    try:
        with os.fdopen(handle, "wb") as raw:
            with _packed(raw, path) as stream:
                yield lambda record: _write(stream, record)
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)  # gone already if all went well


@contextmanager
def _packed(raw: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    if path.suffix != ".gz":
        yield raw
        return
    with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed:  # the same bytes each time
        yield packed  # type: ignore[misc]


def _write(stream: IO[bytes], record: Mapping[str, Any]) -> None:
    text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    try:
        stream.write(text.encode() + b"\n")
    except UnicodeEncodeError:  # half a surrogate pair that found another way into the store
        stream.write(clean(text).encode() + b"\n")
