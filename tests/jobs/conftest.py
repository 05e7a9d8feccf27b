from collections.abc import Callable
from datetime import timedelta

import pytest

from memadmin.jobs import registry
from memadmin.jobs.registry import FailureFunction, Handler, JobView, Step, StepFunction
from tests.factories import NOON

Register = Callable[..., None]


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Register a step function for this test alone."""

    def register(kind: str, step: StepFunction, *, max_attempts: int = 3, on_failed: FailureFunction | None = None) -> None:
        monkeypatch.setitem(registry.HANDLERS, kind, Handler(step, max_attempts, on_failed))

    return register


@pytest.fixture
def counting(handle: Register) -> list[int]:
    """Register `count`, a job of three steps; return the list of the units done."""
    units: list[int] = []

    def step(job: JobView, *, now) -> Step:
        unit = (job.cursor or 0) + 1
        units.append(unit)
        return Step(unit == 3, cursor=unit, done=unit, total=3)

    handle("count", step)
    return units


class Clock:
    """A clock that a test turns by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self):
        return self.now

    def pass_by(self, **duration: float) -> None:
        self.now += timedelta(**duration)


@pytest.fixture
def clock() -> Clock:
    return Clock()
