"""The verbs of the workflow for a shell, to the end: `identity | search | freeze | cancel | refuse | go-on | receipt | run | told | drill`.

Who acts gives their password, as on the pages. What ends a request or erases only shows what it would do, until `--commit`.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from typing import Any, TextIO

from django.core.management.base import CommandError
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.erasure import bulk_decisions, deciding, discovery, sharing, telling, workflow
from memadmin.erasure.approving import NotApproved
from memadmin.erasure.certificates import issuing
from memadmin.erasure.certificates.reading import done_at
from memadmin.erasure.drills import reporting
from memadmin.erasure.drills import running as drills
from memadmin.erasure.execution import resuming, steps
from memadmin.erasure.execution.progress import CAUSES, progress_of
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Decision, Drill, DrillState, ErasureRequest, FindingKind, Status
from memadmin.erasure.moves import Refusal
from memadmin.erasure.shell import LEVELS, add_who, numbered, person_of, said
from memadmin.erasure.visibility import visible_requests
from memadmin.jobs import queue
from memadmin.jobs.models import Job
from memadmin.jobs.parts import do_part
from memadmin.jobs.runner import NotFree, run_inline, run_stretch
from memadmin.plurals import counted
from memadmin.store import configuration, locations
from memadmin.store.locations import Act, ItemClass

LETTER = 20_000
STRETCH = timedelta(seconds=2)
PAUSE = 0.5  # seconds between two looks at what a worker does
RIGHTS = {
    "identity": Right.ERASURE_INTAKE,
    "search": Right.ERASURE_REVIEW,
    "freeze": Right.ERASURE_REVIEW,
    "cancel": Right.ERASURE_INTAKE,
    "refuse": Right.ERASURE_REVIEW,
    "go-on": Right.ERASURE_REVIEW,
    "receipt": Right.ERASURE_INTAKE,
    "run": Right.ERASURE_REVIEW,
    "told": Right.ERASURE_INTAKE,
    "drill": Right.ERASURE_APPROVE,
}
HELP = {
    "identity": "note how it is known that the request comes from the person: whoever notes it does not approve it",
    "search": "ask every place what it holds, here and now",
    "freeze": "freeze the manifest, so that a second person can approve it",
    "cancel": "withdraw a request; nothing is erased",
    "refuse": "end a request with a reason in law and a letter",
    "go-on": "let an erasure go on that stalled, or of which something was left",
    "receipt": "give out the person's receipt, once, before the erasure begins",
    "run": "carry out what was approved here and now, instead of waiting for a worker",
    "told": "after a complete erasure: print the letter to the person, or note on which day they were told",
    "drill": "try the whole workflow on a made-up person, and report",
}
SHOW_FIRST = ("cancel", "refuse", "go-on", "run")
WORKING = (Status.EXECUTING, Status.VERIFYING)


def add_verbs(verbs: Any) -> None:
    """Add these verbs to the command's parsers."""
    for name, text in HELP.items():
        verb: ArgumentParser = verbs.add_parser(name, help=text)
        if name != "drill":
            verb.add_argument("number", type=int)
        if name in SHOW_FIRST:
            verb.add_argument("--commit", action="store_true", help="do it; without this it only shows what it would do")
        if name == "identity":
            verb.add_argument(
                "--level", required=True, choices=LEVELS, help="; ".join(f"{key}: {level.label}" for key, level in LEVELS.items())
            )
        if name == "freeze":
            verb.add_argument("--as-planned", action="store_true", help="treat mixed items and unshared mentions as planned")
        if name == "refuse":
            verb.add_argument("--code", required=True, choices=workflow.REFUSAL_CODES)
            verb.add_argument("--letter", required=True, help="file with the letter to the person, UTF-8")
        if name == "told":
            what = verb.add_mutually_exclusive_group(required=True)
            what.add_argument("--on", type=_day, metavar="DAY", help="the day on which the person was told, such as 2027-03-01")
            what.add_argument("--letter", action="store_true", help="print what the letter may say; notes nothing")
        add_who(verb)
        verb.add_argument("--json", action="store_true", help="print one JSON object")


def act(options: dict[str, Any], *, err: TextIO) -> dict[str, Any]:
    """Do one verb, and return what to print. `ok` False makes the command fail. Raises CommandError for what is refused."""
    name = options["verb"]
    person = person_of(options, RIGHTS[name])
    if name == "drill":
        return _drill(person, err=err)
    request = numbered(visible_requests(person), options["number"])
    if name in SHOW_FIRST and not options["commit"]:
        return {**said(request), "would": _would(name, request), "ok": True}
    try:
        extra = _VERBS[name](request, person, options, err)
    except (Refusal, NotApproved) as refusal:
        raise CommandError(str(refusal)) from refusal
    request.refresh_from_db()
    return {**said(request), "ok": True, **extra}


def lines_of(done: dict[str, Any]) -> list[str]:
    """Return what a person reads below the line of the request."""
    lines = [f"  {done['would']}. Nothing was changed; --commit does it."] if "would" in done else []
    lines += [f"  {_title(each['location'])}: {done_at(each)}" for each in done.get("outcomes", [])]
    lines += [f"  {_finding(each)}" for each in done.get("findings", [])]
    code = done.get("error_code")
    lines += [f"  It stopped: {CAUSES.get(code, f'with the error {code}.')}"] if code else []
    lines += [done["letter"]] if done.get("letter") else []
    lines += [f"  told on {done['told_on']}"] if done.get("told_on") else []
    if "receipt" in done:
        lines.append(f"  receipt {done['receipt']}: shown this once and kept nowhere; give it to the person")
    return lines


def _title(place: str) -> str:
    return locations.LOCATIONS[place].title if place in locations.LOCATIONS else place


def _finding(each: dict[str, Any]) -> str:
    titles = {location.table: location.title for location in locations.in_order() if location.table}
    where = f"{titles[each['table']]} ({each['table']})" if each["table"] in titles else each["table"]
    column = f", column {each['column']}" if each["column"] else ""
    return f"Found: {where}{column}: {FindingKind(each['kind']).label}, {counted(each['rows'], 'row')}"


Verb = Callable[[ErasureRequest, Person, dict[str, Any], TextIO], dict[str, Any]]


def _search(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    discovery.start(request, actor=actor_of(person), now=timezone.now())
    _until_done(discovery.DISCOVER, f"{target_of(request)}/{request.manifest_number}")
    request.refresh_from_db()
    return {"ok": request.state == Status.REVIEW}


def _identity(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    workflow.note_identity(request, LEVELS[options["level"]], actor=actor_of(person), now=timezone.now())
    return {}


def _freeze(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    actor, now = actor_of(person), timezone.now()
    waiting = deciding.current(request).items.filter(decision=Decision.WAITING)
    if options["as_planned"] and waiting.filter(item_class=ItemClass.MIXED).exists():
        bulk_decisions.accept_planned(request, ItemClass.MIXED, actor=actor, now=now)
    if options["as_planned"] and waiting.filter(item_class=ItemClass.MENTION).exists():
        sharing.accept_uncommon(request, actor=actor, now=now)
    deciding.submit(request, actor=actor, now=now)
    return {}


def _cancel(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    workflow.cancel(request, actor=actor_of(person), now=timezone.now())
    return {}


def _refuse(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    try:
        with open(options["letter"], encoding="utf8") as file:
            letter = file.read(LETTER + 1)
    except (OSError, UnicodeError) as problem:
        raise CommandError(f"The letter cannot be read: {problem}") from problem
    workflow.refuse(request, options["code"], letter=letter, actor=actor_of(person), now=timezone.now())
    return {}


def _go_on(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    resuming.go_on(request, actor=actor_of(person), now=timezone.now())
    return {}


def _receipt(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    return {"receipt": issuing.give_receipt(request, actor=actor_of(person), now=timezone.now())}


def _told(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    if options["letter"]:
        letter = telling.letter_of(request)
        if not letter:
            raise CommandError(f"Of request {request.number} there is no certificate yet, from which the letter is made.")
        return {"letter": letter}
    telling.note_told(request, told_on=options["on"], actor=actor_of(person), now=timezone.now())
    return {"told_on": options["on"].isoformat()}


def _run(request: ErasureRequest, person: Person, options: dict[str, Any], err: TextIO) -> dict[str, Any]:
    """Claim it if nobody has, then work on it until it ends or stops; where a worker has it, follow that."""
    if configuration.value("erasure_paused"):
        raise CommandError("All erasures are stopped: the inbox of requests and Settings say by whom, and lift it.")
    if request.state not in WORKING:
        steps.begin(request, now=timezone.now())
    _until_done(steps.EXECUTE, target_of(request), tell=_teller(request, err))
    request.refresh_from_db()
    look = resuming.last_look(request)
    findings = look.findings.order_by("table", "column").values("kind", "table", "column", "rows") if look else []
    places = request.outcomes.order_by("location").values("location", "erased", "redacted", "rederived", "absent", "withheld")
    done = request.state in (Status.COMPLETED, Status.CLOSED)
    return {"ok": done, "error_code": request.error_code, "outcomes": list(places), "findings": [] if done else list(findings)}


_VERBS: dict[str, Verb] = {
    "identity": _identity,
    "search": _search,
    "freeze": _freeze,
    "cancel": _cancel,
    "refuse": _refuse,
    "go-on": _go_on,
    "receipt": _receipt,
    "run": _run,
    "told": _told,
}


def _would(name: str, request: ErasureRequest) -> str:
    manifest = request.manifests.filter(number=request.manifest_number or 0).first()
    going = sum(manifest.lines.filter(act=Act.DELETE).values_list("items", flat=True)) if manifest else 0
    return {
        "cancel": "Would withdraw the request",
        "refuse": "Would refuse the request, and end it",
        "go-on": "Would let the erasure go on",
        "run": f"Would erase {counted(going, 'item')}, which cannot be brought back",
    }[name]


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("a day is written as 2027-03-01") from None


def _drill(person: Person, *, err: TextIO) -> dict[str, Any]:
    try:
        drill = drills.start(actor=actor_of(person), now=timezone.now(), at_once=True)
    except Refusal as refusal:
        raise CommandError(str(refusal)) from refusal
    target = f"drills/{drill.uid}"
    while Drill.objects.filter(pk=drill.pk, state=DrillState.RUNNING).exists():
        job = queue.reserve(drills.DRILL, target=target, requested_by=drill.requested_by, now=timezone.now())
        _show(err, "The drill is under way.")
        with suppress(NotFree):
            do_part(partial(_run_to_its_end, job), name=drills.DRILL, raising=(NotFree,))
        if Drill.objects.filter(pk=drill.pk, state=DrillState.RUNNING).exists():
            time.sleep(PAUSE)  # a worker has its search or execution
    drill.refresh_from_db()
    return {**reporting.report_of(drill), "ok": drill.state == DrillState.PASSED}


def _run_to_its_end(job: Job) -> None:
    run_inline(job)


def _until_done(kind: str, target: str, *, tell: Callable[[], None] = lambda: None) -> None:
    """Work on a job to its end; where a worker has it, or it waits for its next attempt, wait too."""
    while True:
        job = Job.objects.filter(kind=kind, target=target).order_by("-pk").first()
        if job is None or not job.is_live:
            return
        before = (job.done, job.cursor)
        do_part(partial(run_stretch, job.pk, stretch=STRETCH), name=kind)
        tell()
        job.refresh_from_db()
        if job.is_live and (job.done, job.cursor) == before:
            time.sleep(PAUSE)


def _teller(request: ErasureRequest, err: TextIO) -> Callable[[], None]:
    """Return what says how far it is, where somebody is looking."""

    def tell() -> None:
        at = progress_of(request)
        failed = f"; the last attempt failed: {CAUSES.get(at.error_code, at.error_code)}" if at.error_code else ""
        here = f", now {at.place}" if at.place else ""
        waits = f"; it waits until that ends: {at.waiting}" if at.waiting else ""
        _show(err, f"Step {at.step} of {at.steps}, {at.in_plain}: {at.done:,} of {at.total:,}{here}{failed}{waits}")

    return tell


def _show(err: TextIO, text: str) -> None:
    if err.isatty():
        err.write(f"\r\x1b[K{text}")
        err.flush()
