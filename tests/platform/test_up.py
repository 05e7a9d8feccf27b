"""`up` as a person uses it: started, hurt, stopped. It makes its own SQLite database, so one of the two runs is enough."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.databases import is_sqlite
from tests.processes import exists, wait_for
from tests.sources import ROOT

ONE_RUN_IS_ENOUGH = pytest.mark.skipif(not is_sqlite(), reason="`up` makes its own SQLite database: tested in the SQLite run")


class Installation:
    """One `manage.py up` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = folder / "output.txt"
        environment = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "SECURE", "DEBUG"}}
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--bind", f"127.0.0.1:{self.port}"],
                cwd=ROOT, env=environment | {"VAR_DIR": str(folder / "a var")}, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    def says(self, text: str) -> bool:
        return text in self.log.read_text()

    def states(self) -> dict[str, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as answer:
            return dict(json.load(answer))
        except OSError:
            return {}

    def children(self) -> dict[str, int]:
        """Return the process ids of web and worker."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words, status = (place / "cmdline").read_bytes().split(b"\0"), (place / "status").read_text()
            except OSError:
                continue
            if f"PPid:\t{self.process.pid}\n" in status:
                found["worker" if b"qcluster" in words else "web"] = int(place.name)
        return found


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    started = Installation(tmp_path)
    yield started
    started.process.kill()  # its children stop by themselves then
    started.process.wait()


@ONE_RUN_IS_ENOUGH
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks the processes up in /proc")
def test_up_serves_heals_and_stops_cleanly(installation: Installation):
    wait_for(lambda: installation.says("memadmin runs at") or installation.process.poll() is not None, seconds=120)
    assert installation.says("create_person LOGIN --role administrator"), installation.log.read_text()
    good = {"database": "up", "migrations": "applied", "worker": "alive", "ledger": "applied"}
    wait_for(lambda: installation.states() == good, seconds=60)
    first = installation.children()

    for pid in first.values():
        os.kill(pid, signal.SIGKILL)

    wait_for(lambda: not set(first.values()) & set(installation.children().values()) and len(installation.children()) == 2, seconds=60)
    wait_for(lambda: installation.states() == good, seconds=60)

    second = installation.children()
    installation.process.send_signal(signal.SIGTERM)

    assert installation.process.wait(timeout=40) == 0
    assert installation.says("Stopped.")
    assert not any(exists(pid) for pid in second.values())


def test_up_says_what_to_do_when_the_port_is_taken():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]

        with pytest.raises(CommandError, match=rf"Port {port} is taken.*manage\.py up --demo --bind 127\.0\.0\.1:\d+$"):
            call_command("up", demo=True, bind=f"127.0.0.1:{port}")


def test_the_demo_stays_on_this_machine():
    with pytest.raises(CommandError, match=r"not on 0\.0\.0\.0"):
        call_command("up", demo=True, bind="0.0.0.0:8000")


def test_a_bad_address_is_explained():
    with pytest.raises(CommandError, match=r"--bind: '8000' is not HOST:PORT"):
        call_command("up", bind="8000")
