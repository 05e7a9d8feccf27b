"""A process of its own beside `bench.ten_million`: a worker, or the traffic of others. Says when it is ready, and begins when told to.

python -m bench.ten_million_worker ADDRESS plan CONTAINER | enforce RUN | traffic PATTERN
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from django.core.management import call_command
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from psycopg.errors import DeadlockDetected

from bench import ten_million_setup as setup
from memadmin.access.models import Person
from memadmin.lifecycle import planning
from memadmin.lifecycle.models import Trigger
from memadmin.lifecycle.pacing import paced_batch
from memadmin.recall.touching import touch
from memadmin.store import policies
from memadmin.store.models import Container, LongTermMemory, Subject

TOUCHED = 10  # memories at once


def plan(container: str) -> dict[str, Any]:
    """Record a preview of the policy in force."""
    version = policies.published(Container.objects.get(pk=int(container)))
    if version is None:
        raise SystemExit("No policy is in force.")
    run = planning.plan(
        version.container, policies.parse(version), now=datetime.now(UTC), trigger=Trigger.MANUAL, actor=setup.ACTOR, policy_version=version
    )
    return {"run": run.number, "planned": run.planned}


def enforce(run: str) -> dict[str, Any]:
    """Carry out batches until the run has no more."""
    removed = 0
    while True:
        batch = paced_batch(int(run), now=datetime.now(UTC))
        removed += batch.removed
        if batch.is_last or not (batch.removed or batch.kept):
            return {"removed": removed}


def traffic(pattern: str) -> dict[str, Any]:
    """Note recalls and look at users' pages until told to stop; return how long each took. `victims`: write to those of a run alone."""
    stop = threading.Event()
    threading.Thread(target=_wait_for_end, args=[stop], daemon=True).start()
    dice, taken = Random(1), dict[str, list[float]](touch=[], page=[])
    ids = [row[0] for row in setup.run_sql("SELECT id FROM bench_touched ORDER BY random() LIMIT 20000")] if pattern == "victims" else []
    highest = LongTermMemory.objects.order_by("-id").values_list("id", flat=True)[0]
    users = list(Subject.objects.filter(container=setup.EVERYONE).order_by("?").values_list("uid", flat=True)[:500])
    pages, client = [reverse("pages:user-memories", args=[uid]) for uid in users], _signed_in()
    while not stop.is_set():
        some = dice.sample(ids, TOUCHED) if ids else [dice.randrange(highest) for _ in range(TOUCHED)]
        taken["touch"].append(_timed(partial(_wait_for, some) if ids else partial(touch, some, now=datetime.now(UTC))))
        if not ids:
            taken["page"].append(_timed(partial(_page, client, dice.choice(pages))))
        time.sleep(0.002)
    return taken


def _signed_in() -> Client:
    client = Client(SERVER_NAME="localhost")
    client.force_login(Person.objects.get(login="bench"))
    return client


def _wait_for(ids: list[int]) -> None:
    """As a writer who waits for rows that others hold; the product's own note of a recall passes over them."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE store_longtermmemory SET hits = hits + 1 WHERE id = ANY(%s)", [sorted(ids)])
    except OperationalError as error:
        if not isinstance(error.__cause__, DeadlockDetected):  # one DELETE takes its rows in no order; the time waited for them counts
            raise


def _page(client: Client, address: str) -> None:
    """The whole response, as the person of the support staff gets it who signed in for the measurement."""
    if client.get(address, secure=True).status_code != 200:
        raise SystemExit(f"{address} did not answer.")


def _wait_for_end(stop: threading.Event) -> None:
    sys.stdin.readline()
    stop.set()


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def main() -> None:
    address, what, argument = sys.argv[1:]
    setup.use(address)
    act = {"plan": plan, "enforce": enforce, "traffic": traffic}[what]
    call_command("collectstatic", verbosity=0, interactive=False)  # pages name these files
    connection.ensure_connection()
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.perf_counter()
    answer = act(argument)
    seconds, peak = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**answer, "seconds": seconds, "peak_mb": peak}), flush=True)


if __name__ == "__main__":
    main()
