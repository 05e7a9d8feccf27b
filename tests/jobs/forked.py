"""Workers as processes of their own: copies of this one, each with its own connection to the database, that are really killed."""

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import TextIO

from django.db import connections

KILLED = -signal.SIGKILL


class Raised(AssertionError):
    """What the work in a copy raised, with the copy's traceback."""


def in_a_process(work: Callable[[], object]) -> int:
    """Do the work in a process of its own and wait for it. Return 0 or KILLED. Raises Raised where the work raised."""
    with tempfile.TemporaryFile("w+", encoding="utf8") as last_words:
        process = fork(work, last_words=last_words)
        ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        last_words.seek(0)
        if ended not in {0, KILLED}:
            raise Raised(f"exit status {ended}\n{last_words.read()}")
    return ended


def fork(work: Callable[[], object], *, last_words: TextIO | None = None) -> int:
    """Begin the work in a process of its own and return its id. Where the work raises, the status is 1 and the traceback the last words."""
    connections.close_all()  # no two processes may share one
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001  # the parent is told by the status
        traceback.print_exc(file=last_words or sys.stderr)
        (last_words or sys.stderr).flush()  # the way out below would lose it
    finally:
        os._exit(status)  # what pytest does at its end is not for a copy to do


def die_at(place: int) -> None:
    """Let this process be killed at its so-manieth place: one lies before each commit, with all of it done, and one behind it."""
    database, passed = connections["default"], 0

    def pass_by() -> None:
        nonlocal passed
        passed += 1
        if passed == place:
            os.kill(os.getpid(), signal.SIGKILL)

    def commit(commit_really: Callable[[], None] = database._commit) -> None:
        pass_by()
        commit_really()
        pass_by()

    database._commit = commit
