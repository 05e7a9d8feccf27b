"""Importing this sets Django up on a database beside the one that DATABASE_URL names. Import it first. It also starts a server there."""

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import django
from django.db import connection

from bench import store_1m

FRESH, SMALL, LARGE = (store_1m.address_beside(suffix) for suffix in ("bench_api", "bench_10k", store_1m.SUFFIX))
FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")  # the secret key of this process
os.environ.update(DATABASE_URL=FRESH, VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", SECURE="false", DJANGO_SETTINGS_MODULE="memadmin.settings")
django.setup()


def use_fresh() -> None:
    """Make an empty store and connect to it."""
    connection.close()
    store_1m.recreate(FRESH)
    store_1m.migrate(FRESH)
    _use(FRESH)


def use_loaded(share: float, *, reuse: bool) -> None:
    """Connect to a store with a million memories, or a share of that."""
    connection.close()
    address = LARGE if share == 1.0 else SMALL
    store_1m.ready(address, share=share, reuse=reuse)
    _use(address)


def drop_fresh() -> None:
    connection.close()
    store_1m.drop(FRESH)
    store_1m.drop(SMALL)


def _use(address: str) -> None:
    connection.settings_dict["NAME"] = store_1m.name_of(address)


@contextmanager
def served() -> Iterator[Callable[[str, bytes, str], None]]:
    """Serve the fresh store from one process, and give a function that posts to it over one connection."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "memadmin.wsgi:application", "--bind", f"127.0.0.1:{port}", "--worker-class", "gthread"]
    settings = {**os.environ, "DJANGO_SETTINGS_MODULE": "bench.bare_settings", "DATABASE_URL": FRESH}
    server = subprocess.Popen([*command, "--threads", "1", "--keep-alive", "60", "--log-level", "warning"], env=settings)
    try:
        line = http.client.HTTPConnection("127.0.0.1", port)
        _wait_for(port)
        yield lambda path, body, secret: _post(line, path, body, secret)
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("The server did not start.")


def _post(line: http.client.HTTPConnection, path: str, body: bytes, secret: str) -> None:
    line.request("POST", path, body, {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", "Host": "localhost"})
    answer = line.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
