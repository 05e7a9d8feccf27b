"""Keyed digests: what names a person or a thing in proofs that outlive both. Without the key nobody can try out ids against them."""

import hashlib
import hmac
import json
from uuid import UUID

from django.conf import settings


def subject_ref(container_uid: UUID, user_id: str | None) -> str:
    """Return the name of one user of one container, 64 hexadecimal digits. Exact: ids that look alike have different ones."""
    return _ref("subject", [str(container_uid), user_id])


def name_ref(kind: str, name: str) -> str:
    """Return the name of an id or alias that no container knows."""
    return _ref(kind, [name])


def item_ref(uid: UUID) -> str:
    """Return the name of one row, 64 hexadecimal digits."""
    return _ref("item", [str(uid)])


def key_id() -> str:
    """Return a name of the key in force, from which nothing of the key follows."""
    return hashlib.sha256(b"memadmin erasure key id" + _key()).hexdigest()[:16]


def _ref(kind: str, parts: list[str | None]) -> str:
    return hmac.new(_key(), json.dumps([kind, *parts]).encode(), hashlib.sha256).hexdigest()


def _key() -> bytes:
    return hmac.new(settings.SECRET_KEY.encode(), b"memadmin erasure refs", hashlib.sha256).digest()
