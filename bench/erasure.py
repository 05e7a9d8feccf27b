"""Erasing one person of 100,000 memories and 500,000 history entries, against one raw DELETE of the same rows by subject on every table.

DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.erasure [--reuse] [--keep] [--share 0.1] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from bench import store_1m, store_person
from bench.erasure_setup import ADDRESS, COPY, officers
from bench.timing import surroundings, table
from memadmin.access.actors import actor_of
from memadmin.erasure import approving, deciding, discovery, intake
from memadmin.erasure.approving import Word
from memadmin.erasure.execution import steps
from memadmin.erasure.intake import Opening
from memadmin.erasure.look_alikes import candidates
from memadmin.erasure.models import Channel, ErasureRequest, Ground, IdentityLevel, Kind, Origin, Status
from memadmin.jobs import lease
from memadmin.jobs.models import Job
from memadmin.jobs.registry import handler_of
from memadmin.store.locations import ItemClass
from memadmin.store.models import Container, Subject

TABLES = ("store_historyentry", "store_provenance", "store_pin", "store_longtermmemory", "store_workingmemory", "store_session")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, words in {"reuse": "take the store that is there", "keep": "leave it", "json": "for programs"}.items():
        arguments.add_argument(f"--{name}", action="store_true", help=words)
    arguments.add_argument("--share", type=float, default=1.0, help="0.1 for a store of a tenth of the size, for a try")
    given = arguments.parse_args()
    store_person.ready(ADDRESS, reuse=given.reuse, share=given.share)
    raw = _on_a_copy(raw_delete)
    ours = _on_a_copy(erase)
    if not given.keep:
        store_1m.drop(ADDRESS)
    print(json.dumps({"raw": raw, **ours}, indent=2) if given.json else _told(raw, ours))


def _on_a_copy(measure: Any) -> Any:
    connection.close()
    store_1m.clone(ADDRESS, COPY)
    try:
        return measure()
    finally:
        connection.close()
        store_1m.drop(COPY)


def raw_delete() -> dict[str, float]:
    """Return the seconds that one DELETE by subject takes on each table, committed one by one."""
    seconds = {}
    for name in TABLES:
        begun = time.perf_counter()
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {name} WHERE subject_id = %s", [store_person.PERSON])
        seconds[name] = time.perf_counter() - begun
    return seconds


def erase() -> dict[str, Any]:
    """Take the request through the whole workflow, and return what each part of it took."""
    now = datetime.now(UTC)
    opener, approver = map(actor_of, officers())
    person = Subject.objects.get(pk=store_person.PERSON)
    request, seconds = _opened(str(person.user_id), opener, now), defaultdict(float)
    _clocked(seconds, "discovery", lambda: _discovered(request, opener, now))
    _clocked(seconds, "freeze", lambda: _frozen(request, opener, now))
    word = Word(digest=request.manifest_digest, number=str(request.number), proved_at=now - timedelta(minutes=1))
    _clocked(seconds, "approve", lambda: approving.approve(request, word, actor=approver, now=now))
    steps.begin_approved(now=now)
    taken, longest = _executed(Job.objects.get(kind=steps.EXECUTE))
    request.refresh_from_db()
    if request.state != Status.COMPLETED:
        findings = list(request.verifications.latest("number").findings.values_list("kind", "table", "column", "rows"))
        raise SystemExit(f"The request is {request.state} {request.error_code}: {findings}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"seconds": dict(seconds) | taken, "longest_step": longest, "memory_mb": memory}


def _opened(user_id: str, actor: str, now: datetime) -> ErasureRequest:
    meant = [each for each in candidates(user_id, list(Container.objects.values_list("pk", flat=True))) if each.origin == Origin.GIVEN]
    opening = Opening(
        kind=Kind.SUBJECT, ground=Ground.CONSENT_WITHDRAWN, channel=Channel.PAGE, identity=IdentityLevel.TOKEN, ticked=meant, others=[]
    )
    return intake.open_request(opening, actor=actor, now=now)


def _discovered(request: ErasureRequest, actor: str, now: datetime) -> None:
    manifest = discovery.start(request, actor=actor, now=now)
    _run(Job.objects.get(target=discovery.job_target(manifest)))


def _frozen(request: ErasureRequest, actor: str, now: datetime) -> None:
    request.refresh_from_db()
    for item_class in (ItemClass.MIXED, ItemClass.MENTION):  # five words in a row can be said twice by chance
        deciding.accept_planned(request, item_class, actor=actor, now=now)
    deciding.submit(request, actor=actor, now=now)
    request.refresh_from_db()


def _run(job: Job) -> None:
    view = lease.take(job.pk, now=datetime.now(UTC))
    step_of = handler_of(job.kind).step
    while not (step := step_of(view, now=datetime.now(UTC))).finished:
        view = lease.checkpoint(view, step, now=datetime.now(UTC))
    lease.finish(view, step, now=datetime.now(UTC))


def _executed(job: Job) -> tuple[dict[str, float], dict[str, float]]:
    """Run an execution as a worker does; return by phase what it took, and its longest step."""
    whole, longest = defaultdict(float), defaultdict(float)
    view = lease.take(job.pk, now=datetime.now(UTC))
    step_of, finished = handler_of(job.kind).step, False
    while not finished:
        phase, begun = (view.cursor or {}).get("phase", steps.PHASES[0]), time.perf_counter()
        step = step_of(view, now=datetime.now(UTC))
        finished = step.finished
        view = view if finished else lease.checkpoint(view, step, now=datetime.now(UTC))
        whole[phase] += time.perf_counter() - begun
        longest[phase] = max(longest[phase], time.perf_counter() - begun)
    lease.finish(view, step, now=datetime.now(UTC))
    return dict(whole), dict(longest)


def _clocked(seconds: dict[str, float], name: str, run: Any) -> None:
    begun = time.perf_counter()
    run()
    seconds[name] += time.perf_counter() - begun


def _told(raw: dict[str, float], ours: dict[str, Any]) -> str:
    floor, seconds, longest = sum(raw.values()), ours["seconds"], ours["longest_step"]
    parts = table(
        ["part", "seconds", "longest step, ms"],
        [[name, f"{took:.1f}", f"{1000 * longest[name]:.0f}" if name in longest else ""] for name, took in seconds.items()],
    )
    figures = table(
        ["figure", "measured", "goal"],
        [
            ["deleting / one raw DELETE by subject on every table", f"{seconds['rows'] / floor:.2f}", "at most 1.5"],
            ["verification / the same DELETE", f"{seconds['look'] / floor:.2f}", "at most 0.3"],
            ["MB of memory at most", ours["memory_mb"], "bounded"],
        ],
    )
    return f"{surroundings()}\n\nraw DELETE: {floor:.1f} s\n\n{parts}\n\n{figures}"


if __name__ == "__main__":
    main()
