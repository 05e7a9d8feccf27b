import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memadmin.jobs.parts import do_part
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import housekeeping, nightly, planning, reporting, runs
from memadmin.lifecycle.models import Run, RunState, Trigger
from memadmin.lifecycle.runs import CannotStart
from memadmin.lifecycle.states import WrongState
from memadmin.lifecycle.warnings import why_nothing_runs
from memadmin.store import policies
from memadmin.store.models import Container, PolicyState

ACTOR = "command/run_retention"
WAITS = 3  # exit code
LOOK_EVERY = 0.3  # seconds


class Command(BaseCommand):
    help = (
        "Preview retention: which memories the policies in force would evict. With --commit the same runs are carried out. "
        "Exit code 0: done as asked; 1: refused or failed, with the reason; 3: all was done but large runs, which wait for a second person."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--container", metavar="NAME", help="only this container; otherwise all with a policy in force")
        parser.add_argument("--run", type=int, metavar="NUMBER", help="show this preview, or with --commit carry it out")
        parser.add_argument("--commit", action="store_true", help="evict; without it nothing is")
        parser.add_argument("--as-of", metavar="ISO", help="judge ages and scores as of this moment (UTC unless it names a zone)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        if options["commit"] and options["run"] is None and not options["container"]:
            _refuse_beside_the_night()
        found = [_numbered(options["run"])] if options["run"] is not None else self._plan(options, now=now)
        problems = [problem for run in found if (problem := self._carry_out(run, now=now))] if options["commit"] else []
        if options["json"]:
            self.stdout.write(json.dumps({"committed": options["commit"], "runs": [reporting.as_json(run) for run in found]}))
        else:
            self._print(found)
        if problems:
            raise CommandError(" ".join(problems))
        waiting = [run.number for run in found if run.state == RunState.WAITING]
        if waiting:
            raise CommandError(_waits(waiting), returncode=WAITS)

    def _plan(self, options: dict[str, Any], *, now: datetime) -> list[Run]:
        as_of = _moment(options["as_of"]) if options["as_of"] else now
        return [
            self._plan_one(container, as_of=as_of, commit=options["commit"], now=now) for container in _containers(options["container"])
        ]

    def _plan_one(self, container: Container, *, as_of: datetime, commit: bool, now: datetime) -> Run:
        version = policies.published(container)
        if version is None and housekeeping.acts_without_a_policy(container):
            judged = housekeeping.NO_POLICY
            return planning.plan(container, judged, now=now, trigger=Trigger.COMMAND, actor=ACTOR, as_of=as_of)
        if version is None:
            state = "it is opted out" if container.policy_state == PolicyState.OPTED_OUT else "none was ever published"
            raise CommandError(f"{container.name} has no policy in force: {state}.")
        blocked = why_nothing_runs(container) if commit else None
        if blocked:
            raise CommandError(blocked.text)
        policy = policies.readable(version)
        if policy is None:
            raise CommandError(f"{container.name}: the policy in force, version {version.number}, cannot be read. Publish another one.")
        return planning.plan(container, policy, now=now, trigger=Trigger.COMMAND, actor=ACTOR, policy_version=version, as_of=as_of)

    def _carry_out(self, run: Run, *, now: datetime) -> str:
        """Return "", or what kept the run from its end. The runs of other containers go on."""
        try:
            job = runs.start_reserved(run, actor=ACTOR, now=now)
        except (CannotStart, WrongState) as error:
            return str(error)
        if job is None:
            return ""
        with _progress_of(run):
            error_code = do_part(lambda: _finish(run_inline(job)), name=f"run {run.number}")
        run.refresh_from_db()
        return f"Run {run.number} stopped with an error ({error_code}). The workers will try it again." if error_code else ""

    def _print(self, found: Sequence[Run]) -> None:
        for run in found:
            for line in reporting.lines_of(run):
                self.stdout.write(line)
        if not found:
            self.stdout.write("No container has a policy in force: nothing to do.")


def _waits(numbers: list[int]) -> str:
    one = f"Run {numbers[0]} waits" if len(numbers) == 1 else f"Runs {', '.join(map(str, numbers))} wait"
    return (
        f"{one} for a second person: nothing was evicted by {'it' if len(numbers) == 1 else 'them'}. Approve or refuse on the run's page."
    )


def _refuse_beside_the_night() -> None:
    under_way = nightly.under_way()
    if under_way:
        raise CommandError(f"{under_way.text} Wait for its end, or name one container.")


def _finish(_: object) -> None:
    """What a job returns is of no interest here: the run says how it ended."""


def _containers(name: str | None) -> list[Container]:
    if name is None:
        acting = Container.objects.exclude(policy_state=PolicyState.OPTED_OUT).order_by("id")
        return [row for row in acting if row.policy_state == PolicyState.SET or housekeeping.acts_without_a_policy(row)]
    found = list(Container.objects.standing().filter(name=name)[:2])
    if len(found) == 1:
        return found
    known = ", ".join(Container.objects.by_name().values_list("name", flat=True)[:20]) or "none yet"
    raise CommandError(f"There {'are several containers' if found else 'is no container'} named {name!r}. Containers: {known}.")


def _numbered(number: int) -> Run:
    run: Run | None = Run.objects.select_related("container", "policy_version").filter(pk=number).first()
    if run is None:
        raise CommandError(f"There is no run {number}.")
    return run


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--as-of takes a date or time such as 2026-03-01 or 2026-03-01T12:00:00+00:00, not {text!r}.") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not EARLIEST <= moment.replace(tzinfo=UTC) <= LATEST:
        raise CommandError(f"--as-of takes a time from {EARLIEST:%Y} to {LATEST:%Y}, not {text!r}.")
    return moment


EARLIEST, LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


@contextmanager
def _progress_of(run: Run) -> Iterator[None]:
    """Show on a terminal how far a run is, as its row says."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(run, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(run: Run, ended: threading.Event) -> None:
    columns = (TextColumn(f"Run {run.number}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=run.planned)
        while not ended.wait(LOOK_EVERY):
            progress.update(task, completed=Run.objects.values_list("cursor", flat=True).get(pk=run.pk))
    connection.close()  # this thread's own
