"""A migrated SQLite database is kept between runs: a hundred migrations take longer than most of what one tries."""

import hashlib
import os
import shutil
import sqlite3
from pathlib import Path

import django
from django.conf import settings
from django.db import connection

KEPT = "migrated-{}.sqlite3"
MAKING = "making-{}.sqlite3"  # another name: processes that begin at once each make one, and must leave those of the others alone


def restore(folder: Path, database: str) -> None:
    """Begin a test database with all migrations done, if a run before this one has left it."""
    if (kept := _path(folder)).exists():
        shutil.copyfile(kept, database)


def keep(folder: Path) -> None:
    """Leave the database, migrated and otherwise untouched, for the next run; what other migrations made goes."""
    kept = _path(folder)
    if kept.exists():
        return
    for stale in folder.glob(KEPT.format("*")):
        if stale != kept:
            stale.unlink(missing_ok=True)
    own = folder / MAKING.format(os.getpid())
    own.unlink(missing_ok=True)  # one that was killed may have had the same number
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
    return folder / KEPT.format(digest.hexdigest()[:16])
