from collections.abc import Callable

import pytest

from memadmin.jobs import registry
from memadmin.jobs.registry import Handler, StepFunction

Register = Callable[..., None]


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Register a step function for this test alone."""

    def register(kind: str, step: StepFunction, *, max_attempts: int = 3, on_failed: registry.FailureFunction | None = None) -> None:
        monkeypatch.setitem(registry.HANDLERS, kind, Handler(step, max_attempts, on_failed))

    return register
