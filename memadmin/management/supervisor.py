"""Keeps a few child processes running until it is told to stop.

Each child leads a session of its own, so that the whole group can be killed, and is stopped by a signal to its main process
alone: django-q2 hangs when its workers are signalled one by one. A child that dies is started again, later each time.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import IO

logger = logging.getLogger("memadmin.up")

STOP_PATIENCE = 20.0  # seconds from the polite signal to the kill
LONGEST_WAIT = 30.0  # seconds between two starts
SOUND_AFTER = 60.0  # seconds of life after which earlier deaths are forgiven
POLL = 0.2  # seconds
# Linux: should the supervisor itself be killed, its children are asked to stop.
_DIES_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); os.execv(sys.argv[1], sys.argv[1:])"


@dataclass
class Child:
    name: str
    command: list[str]
    output: IO[bytes] | None = None  # None: the supervisor's own
    environment: dict[str, str] = field(default_factory=dict)
    is_stuck: Callable[[float], bool] = lambda seconds_up: False  # asked with the seconds since its start
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0  # time.monotonic()
    deaths: int = 0
    start_at: float = 0.0

    def start(self) -> None:
        self.started = time.monotonic()
        command = [sys.executable, "-c", _DIES_WITH_PARENT, *self.command] if sys.platform == "linux" else self.command
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.output,
            env=os.environ | self.environment,
            start_new_session=True,
        )

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ask_to_stop(self) -> None:
        if self.process is not None and self.is_running():
            self.process.send_signal(signal.SIGTERM)

    def kill_group(self) -> None:
        """End everything that the child started, also when the child itself has gone."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def group_is_gone(self) -> bool:
        if self.process is None:
            return True
        if self.process.poll() is not None:
            _reap(self.process.pid)
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False


def _reap(group: int) -> None:
    """Bury orphans of the group that were handed to us: so it goes where we are process 1 of a container."""
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


class Supervisor:
    """Run the children; `request_stop` (also by SIGTERM, SIGINT) ends it, a second request ends it at once."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.children = children
        self.stop_requests = 0

    def request_stop(self, signum: int | None = None, frame: FrameType | None = None) -> None:
        self.stop_requests += 1

    def start(self) -> None:
        for child in self.children:
            child.start()

    def run(self) -> None:
        """Tend the children until a stop is requested, then stop them."""
        try:
            while not self.stop_requests:
                for child in self.children:
                    self._tend(child)
                time.sleep(POLL)
        finally:
            self.stop()

    def stop(self) -> None:
        """Ask every main process to stop; after STOP_PATIENCE or a second request kill what is left."""
        for child in self.children:
            child.ask_to_stop()
        deadline = time.monotonic() + STOP_PATIENCE
        while time.monotonic() < deadline and self.stop_requests < 2 and not all(child.group_is_gone() for child in self.children):
            time.sleep(POLL)
        for child in self.children:
            if not child.group_is_gone():
                logger.warning("%s did not stop: killed", child.name)
            child.kill_group()

    def _tend(self, child: Child) -> None:
        now = time.monotonic()
        if child.process is None:
            if now >= child.start_at:
                child.start()
        elif not child.is_running():
            logger.error("%s ended with code %s", child.name, child.process.returncode)
            self._bury(child, now=now)
        elif child.is_stuck(now - child.started):
            logger.error("%s shows no sign of life: killed", child.name)
            self._bury(child, now=now)

    def _bury(self, child: Child, *, now: float) -> None:
        child.kill_group()
        child.deaths = 1 if now - child.started > SOUND_AFTER else child.deaths + 1
        child.start_at = now + min(LONGEST_WAIT, 2.0 ** (child.deaths - 1))
        child.process = None
        logger.info("%s starts again in %.0f s", child.name, child.start_at - now)
