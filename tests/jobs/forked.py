"""Workers as processes of their own: copies of this one, each with its own connection to the database, that are really killed."""

import os
import signal
import sys
import traceback
from collections.abc import Callable

from django.db import connections

KILLED = -signal.SIGKILL


def in_a_process(work: Callable[[], object]) -> int:
    """Do the work in a process of its own and wait for it. Return 0, KILLED, or 1 where the work raised (its traceback is printed)."""
    process = fork(work)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def fork(work: Callable[[], object]) -> int:
    """Begin the work in a process of its own and return its id."""
    connections.close_all()  # no two processes may share one
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001  # the parent is told by the status
        traceback.print_exc()
        sys.stderr.flush()  # the way out below would lose it
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
