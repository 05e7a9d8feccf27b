"""Erasing one person of 100,000 memories and 500,000 history entries, against one raw DELETE of the same rows by subject on every table.

DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.erasure [--reuse] [--keep] [--share 0.1] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from bench import store_1m, store_person
from bench.erasure_setup import ADDRESS, Writers
from bench.person_requests import discovered, officers, on_a_copy, opened
from bench.timing import surroundings, table, there
from memadmin.access.actors import actor_of
from memadmin.access.scopes import Scope
from memadmin.access.tokens import TokenSpec, create_token
from memadmin.erasure import approving, bulk_decisions, deciding
from memadmin.erasure.approving import Word
from memadmin.erasure.deciding import NotDecidable
from memadmin.erasure.execution import steps
from memadmin.erasure.models import ErasureRequest, Status
from memadmin.jobs import lease
from memadmin.jobs.models import Job
from memadmin.jobs.registry import handler_of
from memadmin.store import configuration
from memadmin.store.locations import ItemClass
from memadmin.store.models import LongTermMemory, Subject

QUIET = 10  # seconds of writers alone
TABLES = ("store_historyentry", "store_provenance", "store_pin", "store_longtermmemory", "store_workingmemory", "store_session")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, words in {"reuse": "take the store that is there", "keep": "leave it", "json": "for programs"}.items():
        arguments.add_argument(f"--{name}", action="store_true", help=words)
    arguments.add_argument("--share", type=float, default=1.0, help="0.1 for a store of a tenth of the size, for a try")
    given = arguments.parse_args()
    store_person.ready(ADDRESS, reuse=given.reuse, share=given.share)
    where, raw = on_a_copy(lambda: (surroundings(), raw_delete()))
    ours = on_a_copy(erase)
    ours["writers"] = on_a_copy(erase_beside_writers)
    if not given.keep:
        store_1m.drop(ADDRESS)
    print(json.dumps({"raw": raw, **ours}, indent=2) if given.json else f"{where}\n\n{_told(raw, ours)}")


def raw_delete() -> dict[str, float]:
    """Return the seconds that one DELETE by subject takes on each table, committed one by one."""
    seconds = {}
    _settle()
    for name in TABLES:
        begun = time.perf_counter()
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {name} WHERE subject_id = %s", [store_person.PERSON])
        seconds[name] = time.perf_counter() - begun
    return seconds


def _settle() -> None:
    """Let what was written before be on the disk: an approval takes hours, in which the database does that by itself."""
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")


def erase_beside_writers() -> dict[str, Any]:
    """Erase while agents write, about the person too; return how long others waited, at the 95th percentile, and what is left."""
    now = datetime.now(UTC)
    spec = TokenSpec(label="bench", owner_name="bench", scopes=tuple(Scope), containers=None, all_access=True)
    user_id = Subject.objects.get(pk=store_person.PERSON).user_id
    secret = create_token(spec, actor="command/bench", now=now)[1]
    configuration.change("api_requests_per_minute", 1_000_000, actor="command/bench", now=now)
    before = Writers(secret)
    time.sleep(QUIET)
    alone = before.end()
    beside: list[Writers] = []
    erase(claimed=lambda: beside.append(Writers(secret)))
    meanwhile = beside[0].end()
    left = LongTermMemory.objects.filter(subject__user_id=user_id).count() + Subject.objects.filter(user_id=user_id).count()
    p95 = [statistics.quantiles(each["milliseconds"], n=20)[-1] for each in (alone, meanwhile)]
    return {"p95_before": p95[0], "p95_meanwhile": p95[1], "answers": meanwhile["answers"], "left": left}


def erase(*, claimed: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Take the request through the whole workflow, and return what each part of it took."""
    now = datetime.now(UTC)
    opener, approver = (actor_of(person) for person in officers())
    person = Subject.objects.get(pk=store_person.PERSON)
    request, seconds = opened(str(person.user_id), opener, now), defaultdict[str, float](float)
    _clocked(seconds, "discovery", lambda: discovered(request, opener, now))
    _clocked(seconds, "freeze", lambda: _frozen(request, opener, now))
    word = Word(digest=request.manifest_digest, number=str(request.number), proved_at=now - timedelta(minutes=1))
    _clocked(seconds, "approve", lambda: approving.approve(request, word, actor=approver, now=now))
    steps.begin_approved(now=now)
    _settle()
    claimed()
    taken, longest = _executed(Job.objects.get(kind=steps.EXECUTE))
    request.refresh_from_db()
    if request.state != Status.COMPLETED:
        findings = list(request.verifications.latest("number").findings.values_list("kind", "table", "column", "rows"))
        raise SystemExit(f"The request is {request.state} {request.error_code}: {findings}")
    store_1m.say(f"erased: { ({name: round(took, 1) for name, took in {**seconds, **taken}.items()}) }")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"seconds": dict(seconds) | taken, "longest_step": longest, "memory_mb": memory}


def _frozen(request: ErasureRequest, actor: str, now: datetime) -> None:
    request.refresh_from_db()
    for item_class in (ItemClass.MIXED, ItemClass.MENTION):  # five words in a row can be said twice by chance
        with suppress(NotDecidable):
            bulk_decisions.accept_planned(request, item_class, actor=actor, now=now)
    deciding.submit(request, actor=actor, now=now)
    request.refresh_from_db()


def _executed(job: Job) -> tuple[dict[str, float], dict[str, float]]:
    """Run an execution as a worker does; return by phase what it took, and its longest step."""
    whole, longest = defaultdict[str, float](float), defaultdict[str, float](float)
    view = there(lease.take(job.pk, now=datetime.now(UTC)))
    step_of, finished = handler_of(job.kind).step, False
    while not finished:
        phase, begun = (view.cursor or {}).get("phase", steps.PHASES[0]), time.perf_counter()
        step = step_of(view, now=datetime.now(UTC))
        finished = step.finished
        view = view if finished else there(lease.checkpoint(view, step, now=datetime.now(UTC)))
        whole[phase] += time.perf_counter() - begun
        longest[phase] = max(longest[phase], time.perf_counter() - begun)
    lease.finish(view, step, now=datetime.now(UTC))
    return dict(whole), dict(longest)


def _clocked(seconds: dict[str, float], name: str, run: Any) -> None:
    begun = time.perf_counter()
    run()
    seconds[name] += time.perf_counter() - begun


def _told(raw: dict[str, float], ours: dict[str, Any]) -> str:
    floor, seconds, longest, writers = sum(raw.values()), ours["seconds"], ours["longest_step"], ours["writers"]
    parts = table(
        ["part", "seconds", "longest step, ms"],
        [[name, f"{took:.1f}", f"{1000 * longest[name]:.0f}" if name in longest else ""] for name, took in seconds.items()],
    )
    figures = table(
        ["figure", "measured", "goal"],
        [
            ["deleting / one raw DELETE by subject on every table", f"{seconds['rows'] / floor:.2f}", "at most 1.5"],
            ["verification / the same DELETE", f"{seconds['look'] / floor:.2f}", "at most 0.3"],
            ["verification / the deleting itself", f"{seconds['look'] / seconds['rows']:.2f}", ""],
            ["MB of memory at most", ours["memory_mb"], "bounded"],
            ["rows of the person after writers wrote about them meanwhile", writers["left"], "0"],
            ["ms more for others' writes, 95th percentile", f"{writers['p95_meanwhile'] - writers['p95_before']:.0f}", "at most 250"],
        ],
    )
    return f"raw DELETE: {floor:.1f} s\n\n{parts}\n\n{figures}\n\nanswers to the writers: {writers['answers']}"


if __name__ == "__main__":
    main()
