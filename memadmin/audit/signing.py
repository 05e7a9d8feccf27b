"""The Ed25519 keys that sign checkpoints. They lie in a folder of their own, outside the database; a new one is put beside the old ones.

A key is known by a digest of its public half, so that no other key can take its name.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

CURRENT = "current"


class KeysUnusable(Exception):
    """The folder of signing keys cannot be read or written, or holds no key where it says that there is one."""


@dataclass(frozen=True, slots=True)
class Signer:
    key_id: str
    private: Ed25519PrivateKey

    @property
    def public(self) -> str:
        return self.private.public_key().public_bytes_raw().hex()

    def sign(self, text: str) -> str:
        return self.private.sign(text.encode()).hex()


def key_id_of(public: str) -> str:
    """Return the name of a public key, given in hex. Raises ValueError."""
    return hashlib.sha256(b"memadmin.audit.key" + bytes.fromhex(public)).hexdigest()[:32]


def verifies(public: str, text: str, signature: str) -> bool:
    """Whether the signature of a text is by this key, all in hex but the text."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), text.encode("utf-8", "surrogatepass"))
    except (InvalidSignature, ValueError):
        return False
    return True


def has_key() -> bool:
    return (_folder() / CURRENT).exists()


def current() -> Signer:
    """Return the key in force; the first call of an installation makes it. Raises KeysUnusable."""
    folder = _folder()
    try:
        if not (folder / CURRENT).exists():
            put_in_force(prepare(), replace=False)
        key_id = (folder / CURRENT).read_text("ascii").strip()
        private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex((folder / f"{key_id}.key").read_text("ascii").strip()))
    except (OSError, UnicodeError, ValueError) as problem:
        raise KeysUnusable(f"The signing key of the audit log in {folder} cannot be used: {problem}.") from problem
    return Signer(key_id, private)


def prepare() -> Signer:
    """Make a key that is not in force yet. Raises OSError."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = Ed25519PrivateKey.generate()
    signer = Signer(key_id_of(private.public_key().public_bytes_raw().hex()), private)
    _write(folder / f"{signer.key_id}.key", private.private_bytes_raw().hex(), replace=False)
    return signer


def put_in_force(signer: Signer, *, replace: bool = True) -> None:
    """Let a key sign from here on. Without `replace` a key that another process has put there meanwhile stays."""
    _write(_folder() / CURRENT, signer.key_id, replace=replace)


def _folder() -> Path:
    return Path(settings.AUDIT_KEYS)


def _write(path: Path, content: str, *, replace: bool) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(content)
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
