"""The keys of the digests by which erased ids and texts are known again. They lie in a file outside the database and its backups.

Without the key nobody can try a list of ids against the digests. A new key is put beside the old ones, never in their place: what was
digested with an old key can only be recognised with it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import transaction

from memadmin.audit import checkpoints, log
from memadmin.audit.actions import Action
from memadmin.store.models import SuppressedKind

_KEY = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9-]{1,32}")
_EDGES = " .,;:!?…\"'“”‘’«»()[]"


class KeysUnusable(Exception):
    """The file of keys cannot be read or written, or a key that is needed is not in it: nobody can say what is suppressed."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyRing:
    """`keys` by name, all of 32 bytes; new digests are made with the `current` one. Each reading of a changed file is another ring."""

    current: str
    keys: dict[str, bytes]

    def digests(self, kind: SuppressedKind, text: str) -> dict[str, str]:
        """Return {name of the key: digest} of an id as it is, or of a text in the form that `normal` gives it."""
        said = f"{kind.value}\0{text}".encode("utf-8", "surrogatepass")
        return {name: hmac.new(key, said, hashlib.sha256).hexdigest() for name, key in self.keys.items()}

    def digest(self, kind: SuppressedKind, text: str) -> str:
        return self.digests(kind, text)[self.current]


def normal(text: str) -> str:
    """Return a text in the form in which copies of it are equal: without regard to case, width, spaces and the signs around it."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_EDGES)


def ring() -> KeyRing:
    """Return the keys; the first call of an installation makes the first one. Raises KeysUnusable."""
    path = Path(settings.SUPPRESSION_KEYS)
    try:
        if not path.exists():
            _write(path, _first(), replace=False)
        at = path.stat()
        return _read(path, (at.st_mtime_ns, at.st_size, at.st_ino))
    except (OSError, UnicodeError) as problem:
        raise KeysUnusable(f"The keys of suppressed ids in {path} cannot be used: {problem}.") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise KeysUnusable(f"{path} does not hold the keys of suppressed ids. Put it back from a copy of your own.") from problem


@transaction.atomic
def rotate(*, actor: str, now: datetime) -> str:
    """Make a new current key beside the others and return its name. Raises KeysUnusable, LedgerUnusable."""
    known = ring()
    name = f"{now:%Y%m%d}-{secrets.token_hex(4)}"
    stored: dict[str, object] = {
        "current": name,
        "keys": {**{each: key.hex() for each, key in known.keys.items()}, name: secrets.token_hex(32)},
    }
    log.append(Action.SUPPRESSION_KEY_ROTATED, actor=actor, target=f"keys/{name}", at=now, counts={"keys": len(known.keys) + 1})
    checkpoints.tell_ledger("key_rotated", request="", facts={"key_id": name}, actor=actor, now=now)
    _write(Path(settings.SUPPRESSION_KEYS), stored, replace=True)  # last: a file that is not written undoes the entry
    return name


@lru_cache(maxsize=4)
def _read(path: Path, _as_it_is: tuple[int, int, int]) -> KeyRing:
    """Read the file, unless it is as it was when it was last read: every digest asks for the keys."""
    return _checked(json.loads(path.read_text(encoding="ascii")), path)


def _first() -> dict[str, object]:
    name = f"first-{secrets.token_hex(4)}"  # another file's first key must not be taken for this one
    return {"current": name, "keys": {name: secrets.token_hex(32)}}


def _checked(stored: dict[str, object], path: Path) -> KeyRing:
    given = stored["keys"]
    if not isinstance(given, dict) or stored["current"] not in given:
        raise ValueError(path)
    if not all(_NAME.fullmatch(name) and isinstance(key, str) and _KEY.fullmatch(key) for name, key in given.items()):
        raise ValueError(path)
    return KeyRing(current=str(stored["current"]), keys={name: bytes.fromhex(key) for name, key in given.items()})


def _write(path: Path, stored: dict[str, object], *, replace: bool) -> None:
    """Write the file whole or not at all. Of two processes that make the first one at once, the second keeps the first one's."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        json.dump(stored, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        if replace:
            os.replace(draft, path)
        else:
            os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
