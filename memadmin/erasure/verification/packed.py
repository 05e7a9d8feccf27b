"""What bytes and packed texts say: compressed, in base 64, or pickled by the engine of the queue or the sessions of browsers."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator

MOST = 512 * 1024 * 1024  # bytes that one value may unfold to
SHORTEST = 16  # characters of a text in which something is packed
_PACKED = re.compile(rf"^\.?([A-Za-z0-9_+/=-]{{{SHORTEST},}})(:[A-Za-z0-9_-]+)*$")


class TooLarge(Exception):
    """A value unfolds to more than anybody would have stored: nobody can say what is in it."""


def unfolded(value: bytes | str) -> Iterator[bytes]:
    """Yield the bytes of a value and, where it is packed, those inside of it. Raises TooLarge."""
    raw = value.encode("utf8", "surrogatepass") if isinstance(value, str) else bytes(value)
    yield raw
    if isinstance(value, str):
        match = _PACKED.match(value)
        if match is None:
            return
        opened = _from_base64(match[1])
        if opened is None:
            return
        raw = opened
        yield raw
    inflated = _inflated(raw)
    if inflated is not None:
        yield inflated


def _from_base64(text: str) -> bytes | None:
    padded = text.rstrip("=")
    padded += "=" * (-len(padded) % 4)
    try:
        return base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None


def _inflated(raw: bytes) -> bytes | None:
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(raw, MOST)
    except zlib.error:
        return None
    if reader.unconsumed_tail:
        raise TooLarge
    return found
