"""Migrating an empty database takes longer than most of what one tries: one process of a run does it, and the others copy what it made.

SQLite's is kept between runs too; PostgreSQL's goes with the run.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any, TextIO

import django
from django.conf import settings
from django.db import connection
from psycopg import sql

from tests.databases import server

KEPT = "migrated-{}.sqlite3"
MAKING = "making-{}.sqlite3"  # another name: what is half made must not be taken for whole
RUN = "MEMADMIN_TEST_RUN"  # set by the process that starts the others


class Turn:
    """The right to migrate. One process has it at a time, until it lets go or ends; the others wait for it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def take(self) -> None:
        self._file = self._path.open("a", encoding="utf8")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def is_held(self) -> bool:
        return self._file is not None


class OnSqlite:
    """The file of a migrated database in a folder that stays between runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = Turn(folder / "migrating")

    def begin(self, tested: dict[str, Any]) -> None:
        """Begin the test database with all migrations done, if anybody has left one; else it is ours to make."""
        self._turn.take()
        if (kept := _path(self._folder)).exists():
            shutil.copyfile(kept, tested["NAME"])
            self._turn.end()

    def leave(self) -> None:
        """Leave the database, migrated and otherwise untouched, for those who come next; what other migrations made goes."""
        if not self._turn.is_held:
            return
        kept = _path(self._folder)
        for stale in self._folder.glob(KEPT.format("*")):
            stale.unlink(missing_ok=True)
        own = self._folder / MAKING.format(os.getpid())
        own.unlink(missing_ok=True)  # one that was killed may have had the same number
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(own)])
        own.replace(kept)
        self._turn.end()


class OnPostgres:
    """A template database of one run, which `end_run` drops."""

    def __init__(self, run: str) -> None:
        self._beside = settings.DATABASES["default"]["NAME"]  # before the test database takes its place
        self._name = _template(run)
        self._turn = Turn(_lock_of(run))

    def begin(self, tested: dict[str, Any]) -> None:
        self._turn.take()
        with server(self._beside) as other:
            is_there = other.execute("SELECT 1 FROM pg_database WHERE datname = %s", [self._name]).fetchone()
        if is_there:
            tested["TEMPLATE"] = self._name
            self._turn.end()

    def leave(self) -> None:
        if not self._turn.is_held:
            return
        connection.close()  # nobody may be connected to what is copied
        names = sql.Identifier(self._name), sql.Identifier(connection.settings_dict["NAME"])
        with server(self._beside) as other:
            other.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
        self._turn.end()


def begin_run() -> None:
    """Give the processes that this one starts a name in common."""
    os.environ[RUN] = f"{os.getpid()}"


def end_run() -> None:
    run = os.environ.pop(RUN)
    if not _lock_of(run).exists():
        return
    _lock_of(run).unlink()
    with server(settings.DATABASES["default"]["NAME"]) as other:
        other.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(_template(run))))


def _template(run: str) -> str:
    return f"test_memadmin_migrated_{run}"


def _lock_of(run: str) -> Path:
    return Path(tempfile.gettempdir()) / f"memadmin-migrating-{run}"


def _path(folder: Path) -> Path:
    """Return where a database made by exactly these migrations is kept."""
    digest = hashlib.sha256(f"{django.VERSION} {sqlite3.sqlite_version}".encode())
    for migration in sorted(settings.BASE_DIR.glob("memadmin/**/migrations/*.py")):
        digest.update(migration.name.encode() + migration.read_bytes())
    for requirements in sorted(settings.BASE_DIR.glob("requirements*.txt")):  # the migrations of others
        digest.update(requirements.read_bytes())
    return folder / KEPT.format(digest.hexdigest()[:16])
