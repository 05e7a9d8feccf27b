"""A migrated SQLite database is kept between runs: a hundred migrations take longer than most of what one tries."""

import hashlib
import os
import shutil
import sqlite3
from pathlib import Path

import django
from django.conf import settings
from django.db import connection

PREFIX = "migrated-"


def restore(folder: Path, database: str) -> None:
    """Begin a test database with all migrations done, if a run before this one has left it."""
    if (kept := _path(folder)).exists():
        shutil.copyfile(kept, database)


def keep(folder: Path) -> None:
    """Leave the database, migrated and otherwise untouched, for the next run; what other migrations made goes."""
    kept = _path(folder)
    if kept.exists():
        return
    for stale in folder.glob(f"{PREFIX}*"):
        stale.unlink(missing_ok=True)
    own = kept.with_suffix(f".{os.getpid()}")  # several processes may do this at once
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(own)])
    own.replace(kept)


def _path(folder: Path) -> Path:
    """Return where a database made by exactly these migrations is kept."""
    digest = hashlib.sha256(f"{django.VERSION} {sqlite3.sqlite_version}".encode())
    for migration in sorted(settings.BASE_DIR.glob("memadmin/**/migrations/*.py")):
        digest.update(migration.name.encode() + migration.read_bytes())
    for requirements in sorted(settings.BASE_DIR.glob("requirements*.txt")):  # the migrations of others
        digest.update(requirements.read_bytes())
    return folder / f"{PREFIX}{digest.hexdigest()[:16]}.sqlite3"
