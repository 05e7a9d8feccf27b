"""Sealing what must not lie readable in the database, with keys that lie outside of it (see `suppression_keys`)."""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from memadmin.store.suppression_keys import KeysUnusable, ring


def box(purpose: bytes) -> MultiFernet:
    """Return what seals with the current key and opens with all of them. What is sealed for one purpose opens for no other."""
    keys = ring()
    names = [keys.current, *(name for name in keys.keys if name != keys.current)]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(hashlib.sha256(purpose + keys.keys[name]).digest())) for name in names])


def opened(purpose: bytes, content: bytes) -> bytes:
    """Return what was sealed. Raises KeysUnusable where the key that sealed it is gone."""
    try:
        return box(purpose).decrypt(content)
    except InvalidToken as problem:
        raise KeysUnusable("The key that sealed this is missing: put the file of keys back.") from problem
