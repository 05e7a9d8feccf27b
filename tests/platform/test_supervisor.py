import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from memadmin.management import supervisor
from memadmin.management.supervisor import Child, Supervisor
from tests.processes import exists, wait_for
from tests.sources import ROOT

SLEEPS = "import time; time.sleep(60)"
STARTS_A_CHILD = """
import sys, time
from memadmin.management.supervisor import Child
Child("x", [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(60)"]).start()
time.sleep(60)
"""
IGNORES_TERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
LEAVES_AN_ORPHAN = (
    "import subprocess, sys, time\n"
    "orphan = subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)'])\n"
    "print(orphan.pid, flush=True)\n"
    "time.sleep(60)"
)


def child(code: str, **more: object) -> Child:
    return Child("child", [sys.executable, "-c", code], **more)  # type: ignore[arg-type]


@pytest.fixture
def running() -> object:
    """Run a supervisor in a thread; stop it at the end, whatever happened."""
    started: list[tuple[Supervisor, threading.Thread]] = []

    def run(*children: Child) -> Supervisor:
        one = Supervisor(children)
        thread = threading.Thread(target=one.run)
        thread.start()
        started.append((one, thread))
        return one

    yield run
    for one, thread in started:
        one.request_stop()
        one.request_stop()
        thread.join(timeout=30)
        assert not thread.is_alive()


@pytest.fixture
def output(tmp_path: Path) -> Iterator[IO[bytes]]:
    with (tmp_path / "output").open("ab") as file:
        yield file


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STOP_PATIENCE", 2.0)
    monkeypatch.setattr(supervisor, "LONGEST_WAIT", 0.1)
    monkeypatch.setattr(supervisor, "POLL", 0.02)


def test_a_child_that_dies_is_started_again(running: Callable[..., Supervisor]):
    sleeper = child(SLEEPS)
    running(sleeper)
    wait_for(lambda: sleeper.process)
    first = sleeper.process
    assert first is not None

    first.kill()

    wait_for(lambda: sleeper.process not in (None, first))
    assert sleeper.deaths == 1


def test_each_quick_death_makes_the_next_start_wait_longer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor, "LONGEST_WAIT", 30.0)
    one, waits = child("pass"), []
    keeper = Supervisor([one])

    for _ in range(7):
        one.start()
        wait_for(lambda: not one.is_running())
        keeper._tend(one)
        waits.append(round(one.start_at - time.monotonic()))

    assert waits == [1, 2, 4, 8, 16, 30, 30]


def test_a_child_that_shows_no_life_is_killed_with_its_group_and_started_again(running: Callable[..., Supervisor], output: IO[bytes]):
    stuck = child(LEAVES_AN_ORPHAN, output=output, is_stuck=lambda seconds_up: bool(read_pid(output)) and stuck.deaths == 0)

    running(stuck)

    wait_for(lambda: stuck.deaths == 1)
    wait_for(lambda: not exists(read_pid(output)))
    wait_for(stuck.is_running)


def test_a_stop_asks_first_and_kills_the_whole_group_of_who_does_not_listen(running: Callable[..., Supervisor], output: IO[bytes]):
    deaf, orphan_keeper = child(IGNORES_TERM), child(LEAVES_AN_ORPHAN, output=output)
    keeper = running(deaf, orphan_keeper)
    wait_for(lambda: read_pid(output) and deaf.is_running())

    keeper.request_stop()

    wait_for(lambda: deaf.group_is_gone() and orphan_keeper.group_is_gone())
    assert not exists(read_pid(output))


def test_a_second_request_does_not_wait(running: Callable[..., Supervisor], output: IO[bytes], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor, "STOP_PATIENCE", 600.0)
    deaf = child(IGNORES_TERM, output=output)
    keeper = running(deaf)
    wait_for(lambda: written(output))

    keeper.request_stop()
    keeper.request_stop()

    wait_for(deaf.group_is_gone)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_children_stop_when_the_supervisor_itself_is_killed(output: IO[bytes]):
    parent = subprocess.Popen([sys.executable, "-c", STARTS_A_CHILD], cwd=ROOT, stdout=output)
    wait_for(lambda: read_pid(output))

    parent.kill()
    parent.wait()

    wait_for(lambda: not exists(read_pid(output)))


def written(output: IO[bytes]) -> str:
    return Path(output.name).read_text()


def read_pid(output: IO[bytes]) -> int:
    return int((written(output).split() or ["0"])[0])
