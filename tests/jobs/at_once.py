"""Runs the same call in several threads, each with its own connection to the database, released at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections


def at_once(call: Callable[[], Any], times: int = 2) -> list[Any]:
    barrier = Barrier(times)

    def one() -> Any:
        barrier.wait(timeout=20)
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as pool:
        return [future.result(timeout=60) for future in [pool.submit(one) for _ in range(times)]]
