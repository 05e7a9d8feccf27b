"""What a person of 100,000 memories and 500,000 history entries is given, and what is corrected for them, against reading their rows once.

DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.answers [--reuse] [--keep] [--share 0.1]
"""

from __future__ import annotations

import argparse
import resource
import time
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from bench import store_1m, store_person
from bench.erasure_setup import ADDRESS
from bench.person_requests import discovered, officers, on_a_copy, opened, run
from bench.timing import surroundings, table
from memadmin.access.actors import actor_of
from memadmin.erasure import correction_checks, rectifying, workflow
from memadmin.erasure.access_exports import starting
from memadmin.erasure.models import ExportState, Ground, Kind
from memadmin.jobs.models import Job
from memadmin.store.models import LongTermMemory, Subject

READ = ("store_longtermmemory", "store_historyentry", "store_workingmemory", "store_session")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, words in {"reuse": "take the store that is there", "keep": "leave it"}.items():
        arguments.add_argument(f"--{name}", action="store_true", help=words)
    arguments.add_argument("--share", type=float, default=1.0, help="0.1 for a store of a tenth of the size, for a try")
    given = arguments.parse_args()
    store_person.ready(ADDRESS, reuse=given.reuse, share=given.share)
    where, floor = on_a_copy(lambda: (surroundings(), read_once()))
    export, correction = on_a_copy(give_access), on_a_copy(correct_one)
    if not given.keep:
        store_1m.drop(ADDRESS)
    rows = [[name, f"{took:.1f}", f"{took / floor:.1f}"] for name, took in {**export["seconds"], **correction["seconds"]}.items()]
    figures = table(["part", "seconds", "x reading the rows once"], rows)
    print(f"{where}\n\nreading the rows once: {floor:.1f} s\n\n{figures}")
    print(f"\nexport: {export['mb']:.0f} MB sealed, longest step {1000 * export['longest']:.0f} ms")
    print(f"{correction['memory_mb']} MB of memory at most")


def read_once() -> float:
    """Return the seconds in which all texts of the person are read by one cursor for each table."""
    begun = time.perf_counter()
    for name in READ:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT COUNT(*), SUM(length(t::text)) FROM {name} AS t WHERE subject_id = %s", [store_person.PERSON])
            cursor.fetchall()
    return time.perf_counter() - begun


def give_access() -> dict[str, Any]:
    """Search for a request for access and make the export; return what both took, how large it is, and the longest step."""
    now, (actor, _) = datetime.now(UTC), (actor_of(person) for person in officers())
    request = opened(_person(), actor, now, kind=Kind.ACCESS, ground=Ground.ACCESS)
    seconds = {"search for access": _clocked(lambda: discovered(request, actor, now))}
    request.refresh_from_db()
    export, steps = starting.start(request, actor=actor, now=now), []
    seconds["making the export"] = _clocked(lambda: steps.append(run(Job.objects.get(kind=starting.BUILD))))
    export.refresh_from_db()
    if export.state != ExportState.READY:
        raise SystemExit(f"The export is {export.state}.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('access_exports_part') / 1e6")
        size = float(cursor.fetchone()[0])
    return {"seconds": seconds, "mb": size, "longest": steps[0]}


def correct_one() -> dict[str, Any]:
    """Correct one memory, and look for what it said in all that is stored of the person."""
    now, (actor, _) = datetime.now(UTC), (actor_of(person) for person in officers())
    request = opened(_person(), actor, now, kind=Kind.RECTIFY, ground=Ground.INACCURATE)
    seconds = {"search for a correction": _clocked(lambda: discovered(request, actor, now))}
    request.refresh_from_db()
    memory = LongTermMemory.objects.filter(subject=store_person.PERSON).latest("pk")
    seconds["correcting one memory"] = _clocked(lambda: rectifying.correct(request, memory, "That is wrong.", actor=actor, now=now))
    seconds["letting the database forget it"] = _clocked(lambda: run(Job.objects.get(kind=rectifying.FORGET)))
    workflow.answer(request, "done", letter="Dear person", actor=actor, now=now)
    seconds["checking the correction"] = _clocked(lambda: run(Job.objects.get(kind=correction_checks.CHECK)))
    return {"seconds": seconds, "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def _person() -> str:
    return str(Subject.objects.get(pk=store_person.PERSON).user_id)


def _clocked(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
