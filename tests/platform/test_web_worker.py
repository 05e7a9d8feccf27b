import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from memadmin.management.processes import WORKER
from tests.processes import wait_for
from tests.sources import ROOT

THREADS = 2


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    yield from served(tmp_path, WORKER)


@pytest.fixture
def hasty_port(tmp_path: Path) -> Iterator[int]:
    yield from served(tmp_path, "tests.platform.hasty.Hasty")


def served(tmp_path: Path, worker: str) -> Iterator[int]:
    """A server with two threads, and nothing else that our own one has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    options = ["--bind", f"127.0.0.1:{port}", "--workers", "1", "--threads", str(THREADS), "--worker-class", worker, "--no-control-socket"]
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-m", "gunicorn", *options, "wsgiref.simple_server:demo_app"]
        server = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    wait_for(lambda: reachable(port), seconds=30)
    yield port
    server.kill()
    server.wait()


def reachable(port: int) -> bool:
    try:
        return bool(get(port))
    except OSError:
        return False


def get(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        return bytes(answer.read())


def test_connections_that_say_nothing_hold_up_nobody(port: int):
    """A browser opens some ahead; with gunicorn's own worker each held a thread for five seconds."""
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(5 * THREADS)]
    begun = time.monotonic()

    assert b"Hello world!" in get(port)

    assert time.monotonic() - begun < 20  # five rounds of five seconds would be more
    for each in silent:
        each.close()


def test_a_connection_that_speaks_late_is_answered(port: int):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as late:
        time.sleep(0.5)
        late.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert late.makefile("rb").readline().startswith(b"HTTP/1.1 200")


def test_who_begins_a_request_and_does_not_go_on_is_let_go(hasty_port: int):
    beginnings = [socket.create_connection(("127.0.0.1", hasty_port)) for _ in range(2 * THREADS)]
    for each in beginnings:
        each.sendall(b"GET / HTTP/1.1\r\nHost:")

    assert b"Hello world!" in get(hasty_port)

    for each in beginnings:
        each.settimeout(20)
        each.recv(1_000)  # whatever is said to it, it is said soon
        each.close()
