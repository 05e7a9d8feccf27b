"""What the other apps register in their `tasks.py`: the kinds of jobs, and which of them the clock starts.

    @job("lifecycle.retention")
    def retain(job: JobView, *, now: datetime) -> Step: ...

A step is one batch, well under 30 seconds, in its own transactions. It may run twice, or be killed in the middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from memadmin.jobs import cron as cron_times


class UnknownKind(Exception):
    """No handler is registered for this kind of job."""


class KindTaken(Exception):
    """Two handlers want the same kind."""


class Waits(Exception):
    """Raised by a step that may not go on now, though nothing is wrong: the job waits, and no attempt is used up by that."""


@dataclass(frozen=True)
class JobView:
    """What a step may know of its job. `token` is the lease that `lease.checkpoint` asks for."""

    id: int
    uid: UUID
    kind: str
    target: str
    cursor: Any
    done: int
    total: int | None
    attempt: int
    max_attempts: int
    requested_by: str
    token: str


@dataclass(frozen=True)
class Step:
    """How far the job is after a step: `done` of `total` units since its beginning, and where the next step begins.

    `saved`: it has been saved with the step's own work already, see `lease.save`.
    """

    finished: bool
    cursor: Any = None
    done: int = 0
    total: int | None = None
    saved: bool = False


class StepFunction(Protocol):
    def __call__(self, job: JobView, *, now: datetime) -> Step: ...


class FailureFunction(Protocol):
    def __call__(self, job: JobView, *, error_code: str, now: datetime) -> None: ...


@dataclass(frozen=True)
class Handler:
    step: StepFunction
    max_attempts: int
    on_failed: FailureFunction | None


class MinuteFunction(Protocol):
    def __call__(self, *, now: datetime) -> None: ...


class GateFunction(Protocol):
    def __call__(self) -> bool: ...


HANDLERS: dict[str, Handler] = {}
EVERY_MINUTE: list[MinuteFunction] = []
GATES: list[GateFunction] = []
CRONS: dict[str, str] = {}  # kind -> the times a new installation starts with; afterwards the row in Schedule counts
INTERVALS: dict[str, str] = {}  # kind -> the setting that, changed from its default, says every how many hours it starts


def job(kind: str, *, max_attempts: int = 5, on_failed: FailureFunction | None = None) -> Callable[[StepFunction], StepFunction]:
    """Register the step function of a kind.

    `on_failed` is called once, in the transaction that marks the job as failed for good.
    """

    def register(step: StepFunction) -> StepFunction:
        if kind in HANDLERS:
            raise KindTaken(kind)
        HANDLERS[kind] = Handler(step, max_attempts, on_failed)
        return step

    return register


def every_minute(function: MinuteFunction) -> MinuteFunction:
    """Let the tick call a function that queues a job when there is something to do. It costs a query or two, and runs each minute."""
    EVERY_MINUTE.append(function)
    return function


def holds_work_while(function: GateFunction) -> GateFunction:
    """Let no worker begin a job, nor the clock start one, while this function returns True. It is asked often."""
    GATES.append(function)
    return function


def work_is_held() -> bool:
    return any(gate() for gate in GATES)


def scheduled(kind: str, *, default_cron: str, interval: str = "") -> Callable[[StepFunction], StepFunction]:
    """Let the clock start this kind, at the times of `default_cron` (UTC) until somebody changes them.

    `interval` names a setting in hours: while it has not its default, it counts instead of the times.
    """

    def register(step: StepFunction) -> StepFunction:
        schedule(kind, default_cron)
        if interval:
            INTERVALS[kind] = interval
        return step

    return register


def schedule(kind: str, default_cron: str) -> None:
    """Raises InvalidCron."""
    CRONS[kind] = cron_times.parse(default_cron)


def handler_of(kind: str) -> Handler:
    try:
        return HANDLERS[kind]
    except KeyError:
        raise UnknownKind(kind) from None
