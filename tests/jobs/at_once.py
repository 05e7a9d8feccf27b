"""Runs calls in several threads, each with its own connection to the database, released at the same moment."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections


def at_once(call: Callable[[], Any], times: int = 2) -> list[Any]:
    """Make the same call several times, and return what each gave. Raises what one of them raised."""
    return [future.result() for future in _ended([call] * times)]


def outcomes_at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make different calls, and return what each gave or raised, in their order."""
    return [future.exception() or future.result() for future in _ended(calls)]


def _ended(calls: list[Callable[[], Any]] | tuple[Callable[[], Any], ...]) -> list[Future[Any]]:
    barrier = Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=60)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(one, call) for call in calls]
        for future in futures:
            future.exception(timeout=120)
    return futures
