"""Other processes, as tests look at them."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def exists(pid: int) -> bool:
    """Whether the process runs; a dead one that nobody has buried yet does not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not status.exists() or "zombie" not in status.read_text()


def wait_for(condition: Callable[[], object], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not happen within {seconds} s"
        time.sleep(0.02)
