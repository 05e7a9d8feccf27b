"""Importing this sets Django up on a store of `bench.store_10m`. Import it first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import django

from bench import store_1m, store_10m

FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")  # the secret key of this process
BESIDE = os.environ.get("DATABASE_URL", "")  # what the names of the databases begin with; processes of ours get it as it was
os.environ.update(VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", DJANGO_SETTINGS_MODULE="memadmin.settings")
COPY = store_1m.address_beside("bench_10m_copy")
django.setup()

from django.db import connection  # noqa: E402  # needs the settings

EVERYONE, CROWDED = store_10m.EVERYONE, store_10m.CROWDED
ACTOR = "command/bench"


def use(address: str) -> None:
    """Point Django at another database of the same server."""
    connection.close()
    connection.settings_dict["NAME"] = store_1m.name_of(address)


def run_sql(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


class Beside:
    """Another process that works on a store; `go` lets it begin, `end` waits for what it has to say."""

    def __init__(self, address: str, what: str, argument: object) -> None:
        command = [sys.executable, "-m", "bench.ten_million_worker", address, what, str(argument)]
        environment = {**os.environ, "DATABASE_URL": BESIDE}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if self._read() != "ready\n":
            raise SystemExit(f"{' '.join(command)} did not begin")

    def go(self) -> Beside:
        self._write()
        return self

    def end(self, *, stop: bool = False) -> dict[str, Any]:
        if stop:
            self._write()
        answer: dict[str, Any] = json.loads(self._read() or "null")
        self._process.wait()
        return answer

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def _write(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
