"""How an export lies in the database: compressed, and sealed by a key that only the code of its link opens.

Every export has a key of its own (AES-256-GCM). Until it is handed out the key lies under one of the server's; then it is put under one
that is derived from the code, and the server cannot open it any more. What is sealed is written in bytes with which no text begins, so
that a search of the database for a short id does not take noise for a name.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import zlib
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

KEY_BYTES = 32
NONCE_BYTES = 12
CODE_BYTES = 20  # 160 bits: 32 letters and digits
GROUP = 4
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NO_TEXT = bytes(range(0x80, 0xC0))  # in UTF-8 these only continue a character
_OUT, _BACK = bytes.maketrans(_ALPHABET, _NO_TEXT), bytes.maketrans(_NO_TEXT, _ALPHABET)
_MISREAD = str.maketrans("01", "OI")  # neither digit is in a code


class Unopened(Exception):
    """The key is not the one that sealed it, or what was sealed has been changed."""


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def new_code() -> str:
    """Return what opens an export, in groups that can be read aloud: capital letters and the digits 2 to 7."""
    text = base64.b32encode(secrets.token_bytes(CODE_BYTES)).decode()
    return "-".join(text[at : at + GROUP] for at in range(0, len(text), GROUP))


def tidy(code: str) -> str:
    """Return a code as it was made, however it was typed: case, blanks, dashes, O and I as digits do not matter."""
    return "".join(each for each in code.upper().translate(_MISREAD) if each.isascii() and each.isalnum())


def digest_of(code: str, uid: UUID) -> str:
    """Return by which a code is known again. It is random enough that nobody can try codes out against it."""
    return hashlib.sha256(b"memadmin access export code" + uid.bytes + tidy(code).encode()).hexdigest()


def is_code(code: str, uid: UUID, digest: str) -> bool:
    """Compare in a time that says nothing."""
    return hmac.compare_digest(digest_of(code, uid), digest)


def wrap_for_server(key: bytes, uid: UUID) -> bytes:
    return _sealed(key, _server_key(uid), b"server" + uid.bytes)


def unwrap_by_server(wrapped: bytes, uid: UUID) -> bytes:
    """Raises Unopened."""
    return _opened(wrapped, _server_key(uid), b"server" + uid.bytes)


def wrap_for_code(key: bytes, code: str, uid: UUID) -> bytes:
    return _sealed(key, _code_key(code, uid), b"code" + uid.bytes)


def unwrap_by_code(wrapped: bytes, code: str, uid: UUID) -> bytes:
    """Raises Unopened."""
    return _opened(wrapped, _code_key(code, uid), b"code" + uid.bytes)


def seal_part(text: bytes, key: bytes, name: str) -> bytes:
    """Compress and seal a piece. `name` is bound to it: a piece does not open in another one's place."""
    sealed = _sealed(zlib.compress(text), key, name.encode())
    return base64.b64encode(sealed).rstrip(b"=").translate(_OUT)


def open_part(sealed: bytes, key: bytes, name: str) -> bytes:
    """Raises Unopened."""
    text = bytes(sealed).translate(_BACK)
    return zlib.decompress(_opened(base64.b64decode(text + b"=" * (-len(text) % 4)), key, name.encode()))


def _server_key(uid: UUID) -> bytes:
    return _derived(settings.SECRET_KEY.encode(), b"memadmin access export, not handed out", uid)


def _code_key(code: str, uid: UUID) -> bytes:
    return _derived(tidy(code).encode(), b"memadmin access export, handed out", uid)


def _derived(secret: bytes, info: bytes, uid: UUID) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=uid.bytes, info=info).derive(secret)


def _sealed(text: bytes, key: bytes, bound: bytes) -> bytes:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, text, bound)


def _opened(sealed: bytes, key: bytes, bound: bytes) -> bytes:
    raw = bytes(sealed)
    try:
        return AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError) as problem:
        raise Unopened from problem
