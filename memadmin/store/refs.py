"""Keyed digests: what names a person or a thing in proofs that outlive both. Without the keys nobody can try out ids against them.

They are made with keys that follow from those of `suppression_keys`, so a new key leaves what was named with the old ones known. What was
named before that was the case is known by the key that follows from SECRET_KEY, as long as this is the same.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable
from functools import lru_cache
from uuid import UUID

from django.conf import settings

from memadmin.store.suppression_keys import KeyRing, ring


def subject_ref(container_uid: UUID, user_id: str | None, *, key: str = "") -> str:
    """Return the name of one user of one container, 64 hexadecimal digits. Exact: ids that look alike have different ones.

    `key` is the id of an older key. Raises KeysUnusable, and KeyError for a key that is not there.
    """
    return _ref("subject", [str(container_uid), user_id], key)


def name_ref(kind: str, name: str, *, key: str = "") -> str:
    """Return the name of an id, an alias or a text that is known by its words alone."""
    return _ref(kind, [name], key)


def item_ref(uid: UUID, *, key: str = "") -> str:
    """Return the name of one row, 64 hexadecimal digits."""
    return _ref("item", [str(uid)], key)


def item_refs(uids: Iterable[UUID]) -> list[str]:
    """Return the names of many rows, in the same order: the key is looked for once."""
    known = ring()
    secret = _keys(known, settings.SECRET_KEY)[known.current]
    return [_digest(secret, "item", [str(uid)]) for uid in uids]


def key_id() -> str:
    """Return the name of the key in force, from which nothing of the key follows."""
    return ring().current


def known_keys() -> frozenset[str]:
    """Return the ids of all keys that names can still be made with."""
    return frozenset(_keys(ring(), settings.SECRET_KEY))


def _ref(kind: str, parts: list[str | None], key: str) -> str:
    known = ring()
    secret = _keys(known, settings.SECRET_KEY)[key or known.current]
    return _digest(secret, kind, parts)


def _digest(secret: bytes, kind: str, parts: list[str | None]) -> str:
    return hmac.digest(secret, json.dumps([kind, *parts]).encode(), "sha256").hex()


@lru_cache(maxsize=4)
def _keys(known: KeyRing, secret_key: str) -> dict[str, bytes]:
    first = hmac.new(secret_key.encode(), b"memadmin erasure refs", hashlib.sha256).digest()
    found = {hashlib.sha256(b"memadmin erasure key id" + first).hexdigest()[:16]: first}
    return found | {name: hmac.new(each, b"memadmin erasure refs", hashlib.sha256).digest() for name, each in known.keys.items()}
