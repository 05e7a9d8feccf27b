"""The one way to write a certificate down, so that its digest and signature are of exact bytes. A subset of RFC 8785: no fractions."""

from __future__ import annotations

import hashlib
import json
from typing import Any


class NotCanonical(ValueError):
    """The document holds something that could be written in two ways: a fraction, or a key that is no text."""


def written(document: Any) -> str:
    """Return the canonical JSON of a document: keys sorted, no spaces, ASCII. Raises NotCanonical."""
    _check(document)
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str) -> str:
    """Return the SHA-256 of a canonical text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                raise NotCanonical(f"{key!r} is no text")
            _check(each)
    elif isinstance(value, list):
        for each in value:
            _check(each)
    elif value is not None and not isinstance(value, str | int):
        raise NotCanonical(f"{value!r} has no single form")
