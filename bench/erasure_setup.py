"""Importing this sets Django up on a copy of the store with one large person. Import it first.

Processes that are started from here work on the same database, with the same keys and ledger.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import django

from bench import store_1m, store_person

OURS = "MEMADMIN_BENCH_COPY"  # set for processes that belong to a measurement
if OURS not in os.environ:
    ADDRESS, COPY = (store_1m.address_beside(suffix) for suffix in (store_person.SUFFIX, "bench_person_copy"))
    FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")  # keys and ledger
    os.environ.update(DATABASE_URL=COPY, VAR_DIR=FOLDER.name, LOG_LEVEL="ERROR", DJANGO_SETTINGS_MODULE="memadmin.settings")
django.setup()


class Writers:
    """Agents that write beside what is measured, in a process of their own."""

    def __init__(self, secret: str) -> None:
        command = [sys.executable, "-m", "bench.erasure_writers", secret]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, OURS: "1"})
        if self._read() != "ready\n":
            raise SystemExit("The writers did not begin.")
        self._tell()

    def end(self) -> dict[str, Any]:
        self._tell()
        answer: dict[str, Any] = json.loads(self._read() or "null")
        self._process.wait()
        return answer

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def _tell(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
