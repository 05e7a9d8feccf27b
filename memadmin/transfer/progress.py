"""A progress bar for long work, on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def progress_bar(label: str, *, total: int) -> Iterator[Callable[[int], None]]:
    """Yield what takes the amount done so far. Without a terminal nothing is shown."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(task, completed=done)
