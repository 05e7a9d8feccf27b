"""A real backup of the test database, taken and put back: the copied files of SQLite with log and index, pg_dump and pg_restore."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.db import connection

ENDS = ("", "-wal", "-shm")
FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True) if Path("/usr/lib/postgresql").is_dir() else []


class Backup:
    """A backup of the database as it is now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        if connection.vendor == "sqlite":
            _copy(Path(connection.settings_dict["NAME"]), folder / "copy.sqlite3")
        else:
            _run("pg_dump", "--format=custom", "--file", str(folder / "dump"))

    @property
    def journal(self) -> bytes | None:
        """What lies in the copied write-ahead log of SQLite: rows that the copied file itself may not have."""
        return Path(f"{self.folder / 'copy.sqlite3'}-wal").read_bytes() if connection.vendor == "sqlite" else None

    def put_back(self) -> None:
        """Let the database be what it was, as an operator would: with everything stopped."""
        connection.close()
        if connection.vendor == "sqlite":
            _copy(self.folder / "copy.sqlite3", Path(connection.settings_dict["NAME"]))
        else:
            into = ("--dbname", connection.settings_dict["NAME"])
            _run("pg_restore", "--clean", "--if-exists", "--single-transaction", *into, str(self.folder / "dump"))


def all_bytes() -> bytes:
    """Return all that lies in the files of the database; of PostgreSQL its dump, and what the planner knows."""
    if connection.vendor == "sqlite":
        connection.close()
        files = [Path(f"{connection.settings_dict['NAME']}{end}") for end in ENDS]
        return b"".join(file.read_bytes() for file in files if file.exists())
    with connection.cursor() as cursor:
        cursor.execute("SELECT concat_ws(' ', most_common_vals::text, histogram_bounds::text) FROM pg_stats")
        known = "\n".join(row or "" for (row,) in cursor.fetchall())
    return _run("pg_dump") + known.encode()


def _copy(file: Path, to: Path) -> None:
    for end in ENDS:
        Path(f"{to}{end}").unlink(missing_ok=True)
        if Path(f"{file}{end}").exists():
            shutil.copy2(f"{file}{end}", f"{to}{end}")


def _run(name: str, *words: str) -> bytes:
    program, at = _program(name), connection.settings_dict
    connection.close()
    host, port = at["HOST"] or at["OPTIONS"].get("host", ""), str(at["PORT"])
    named = {"PGHOST": host, "PGPORT": port, "PGUSER": at["USER"], "PGPASSWORD": at["PASSWORD"], "PGDATABASE": at["NAME"]}
    environment = {**os.environ, **{key: value for key, value in named.items() if value}}
    done = subprocess.run([program, *words], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def _program(name: str) -> str:
    """Return the program of a version that knows the server's."""
    with connection.cursor() as cursor:
        server = cursor.connection.info.server_version // 10_000
    found = [*(str(folder / name) for folder in FOLDERS if (folder / name).exists()), shutil.which(name) or ""]
    for path in filter(None, found):
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        if int(said.split()[2].partition(".")[0]) >= server:
            return path
    pytest.skip(f"{name} of PostgreSQL {server} or newer is not on this machine (postgresql-client has it)")
