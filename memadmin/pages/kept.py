"""What the next page of a browser needs and no address may say: kept with its session for a while, under a random name.

It may name a user, or be a secret that is shown once. So it lies in the database sealed (AES-256-GCM), by a key that follows from the
secret in the browser's own cookie, which the server does not keep: nobody reads it there, and no search for a person finds one in it.
"""

from __future__ import annotations

import base64
import json
import secrets
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.middleware.csrf import get_token

from memadmin.pages.htmx import PersonRequest

KEPT = "kept"
FOR = timedelta(minutes=30)
MOST = 8  # of one browser
KEY_BYTES, NONCE_BYTES = 32, 12


def new_name() -> str:
    return secrets.token_urlsafe(12)


def keep(request: PersonRequest, name: str, said: dict[str, Any], *, now: datetime) -> None:
    """Keep it under this name. The oldest one gives way."""
    sealed = {"until": (now + FOR).isoformat(), "sealed": _sealed(request, name, said)}
    request.session[KEPT] = dict([*_standing(request, now=now).items(), (name, sealed)][-MOST:])


def find(request: PersonRequest, name: str, *, now: datetime) -> dict[str, Any] | None:
    """Return what is kept under the name; None where it was taken, is too old, or was never there for this browser."""
    sealed = _standing(request, now=now).get(name)
    return _opened(request, name, sealed["sealed"]) if sealed else None


def take(request: PersonRequest, name: str, *, now: datetime) -> dict[str, Any] | None:
    """Return what is kept under the name, once."""
    standing = _standing(request, now=now)
    sealed = standing.pop(name, None)
    if KEPT in request.session:
        request.session[KEPT] = standing
    return _opened(request, name, sealed["sealed"]) if sealed else None


def _standing(request: PersonRequest, *, now: datetime) -> dict[str, dict[str, str]]:
    kept: dict[str, dict[str, str]] = request.session.get(KEPT, {})
    return {name: each for name, each in kept.items() if "sealed" in each and datetime.fromisoformat(each["until"]) > now}


def _key(request: PersonRequest) -> bytes:
    get_token(request)  # gives the browser a cookie where it has none yet
    secret: str = request.META["CSRF_COOKIE"]
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"memadmin kept for the next page").derive(secret.encode())


def _sealed(request: PersonRequest, name: str, said: dict[str, Any]) -> str:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return base64.b64encode(nonce + AESGCM(_key(request)).encrypt(nonce, json.dumps(said).encode(), name.encode())).decode()


def _opened(request: PersonRequest, name: str, sealed: str) -> dict[str, Any] | None:
    raw = base64.b64decode(sealed)
    try:
        said: dict[str, Any] = json.loads(AESGCM(_key(request)).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], name.encode()))
    except InvalidTag:  # the browser has another cookie by now: a person signed in anew, or threw it away
        return None
    return said
