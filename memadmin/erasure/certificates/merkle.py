"""One digest over any number of item names, so that a single item can be proved to be among them. Tree of RFC 6962, section 2.1."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

EMPTY = hashlib.sha256(b"").hexdigest()


def root(names: Iterable[str]) -> str:
    """Return the root over the names in their order, 64 hexadecimal digits. Holds one digest a level, whatever their number."""
    complete: list[tuple[int, bytes]] = []  # (leaves below, digest), largest first
    for name in names:
        node = (1, _leaf(name))
        while complete and complete[-1][0] == node[0]:
            left = complete.pop()
            node = (left[0] + node[0], _node(left[1], node[1]))
        complete.append(node)
    if not complete:
        return EMPTY
    _, found = complete.pop()
    while complete:
        found = _node(complete.pop()[1], found)
    return found.hex()


def _leaf(name: str) -> bytes:
    return hashlib.sha256(b"\0" + name.encode()).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()
