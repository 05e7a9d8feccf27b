"""The installation's own secret key, made once, for those who give none."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def kept_secret_key(path: Path) -> str:
    """Return the key kept at `path` (mode 0600); make it when there is none, so that sessions outlive a restart."""
    try:
        if not path.exists():
            _make(path)
        key = path.read_text(encoding="ascii").strip()
    except OSError as problem:
        raise ImproperlyConfigured(f"SECRET_KEY is not set and {path} cannot be used: {problem.strerror}.") from problem
    if len(key) < 50:
        raise ImproperlyConfigured(f"SECRET_KEY is not set and {path} holds no key: delete the file to get a new one.")
    return key


def _make(path: Path) -> None:
    """Write the key whole or not at all; of two processes that start at once, the second keeps the first one's key."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(60))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
