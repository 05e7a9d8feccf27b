"""The user page against Django's own admin changelist over the same million memories, in one process, taking turns.

    DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.pages [--keep] [--reuse] [--json]

Every request goes through the whole of Django (middleware, view, template) by its test client, signed in as somebody of the
support staff. The admin has the same middleware, connection and process; the memories are registered there with all defaults
but 50 rows a page, as ours. Times are medians over the rounds; ratios are taken within each round.

The page of the user with 100,000 memories has to score all of them, so its goal is set against the least that looking at
them can cost: an index-only count(*) of that user, plus rendering. Rendering is what the page of the user with 500 memories
takes without its waits for the database; both pages show 50 rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Mapping
from functools import partial

from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from bench import serving, store_1m
from bench.timing import Times, ratio, side_by_side, surroundings, table
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.jobs.models import Schedule
from memadmin.store import configuration, policies
from memadmin.store.models import Container, Subject
from retention.policy import RetentionPolicy
from retention.rules import RelevanceRule

SIZES = (500, 100_000)
ACTOR = "command/bench"
HTMX = {"HX-Request": "true"}
COUNT = "SELECT count(*) FROM store_longtermmemory WHERE container_id = %s AND subject_id = %s"
GOALS = {
    "stock / ours, 500": ("at least", 4.0),
    "(ours - rendering) / count(*), 100,000": ("at most", 3.5),
    "queries": ("at most", 6.0),
}
Candidates = Mapping[str, Callable[[], object]]


def prepare() -> Client:
    """Put a policy in force, so that pages have something to say of each memory, and sign in."""
    call_command("collectstatic", verbosity=0, interactive=False)
    now, container = timezone.now(), Container.objects.get()
    configuration.change("retention_enabled", True, actor=ACTOR, now=now)
    Schedule.objects.update_or_create(kind="nightly", defaults={"cron": "0 3 * * *", "next_run_at": now})
    if policies.published(container) is None:
        policies.publish(container, RetentionPolicy(rules={}, relevance=RelevanceRule()), actor=ACTOR, now=now, base=None)
    person, _ = Person.objects.get_or_create(login="bench", defaults={"roles": [Role.SUPPORT]})
    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    return client


def candidates(client: Client) -> Candidates:
    """Return what is measured, by name."""
    every_stock = reverse("admin:store_longtermmemory_changelist")
    runs: dict[str, Callable[[], object]] = {"stock, all memories": partial(fetch, client, every_stock)}
    for size in SIZES:
        subject = Subject.objects.filter(long_term=size).order_by("id")[0]
        page = reverse("pages:user-memories", args=[subject.uid])
        runs |= {
            f"stock, {size:,}": partial(fetch, client, f"{every_stock}?subject__id__exact={subject.pk}"),
            f"ours, {size:,}": partial(fetch, client, page),
            f"ours, {size:,}, table alone": partial(fetch, client, page, headers=HTMX),
            f"count(*), {size:,}": partial(count, subject),
        }
    return runs


def fetch(client: Client, address: str, *, headers: Mapping[str, str] | None = None) -> bytes:
    response = client.get(address, secure=True, headers=headers)
    if response.status_code != 200:
        raise SystemExit(f"{address} answered {response.status_code}.")
    return response.content


def count(subject: Subject, *, prefix: str = "") -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(prefix + COUNT, [subject.container_id, subject.pk])
        return list(cursor.fetchall())


def check_that_the_floor_is_one() -> None:
    """The goal speaks of an index-only count: anything slower would flatter us."""
    for subject in Subject.objects.filter(long_term__in=SIZES):
        plan = "\n".join(str(line) for (line,) in count(subject, prefix="EXPLAIN "))
        if "Index Only Scan" not in plan:
            raise SystemExit(f"The count is not index-only; vacuum the store first.\n{plan}")


def figures(times: Mapping[str, Times]) -> dict[str, float]:
    """Return the ratios that the goals speak of, and what stands beside them."""
    small, large = times["ours, 500"], times["ours, 100,000"]
    over_count = [
        (whole - small.python_ms / 1000) / floor for whole, floor in zip(large.seconds, times["count(*), 100,000"].seconds, strict=True)
    ]
    return {
        "stock / ours, 500": ratio(times["stock, 500"], small),
        "stock / ours, 500, table alone": ratio(times["stock, 500"], times["ours, 500, table alone"]),
        "stock, all memories / ours, 500": ratio(times["stock, all memories"], small),
        "stock / ours, 100,000": ratio(times["stock, 100,000"], large),
        "(ours - rendering) / count(*), 100,000": statistics.median(over_count),
        "queries": max(small.queries, large.queries),
    }


def is_met(name: str, figure: float) -> bool:
    how, goal = GOALS[name]
    return figure >= goal if how == "at least" else figure <= goal


def report(times: Mapping[str, Times], found: Mapping[str, float]) -> str:
    rows = [
        (name, f"{one.ms:.1f}", f"{one.best_ms:.1f}", f"{one.sql_ms:.1f}", f"{one.python_ms:.1f}", one.queries)
        for name, one in times.items()
    ]
    verdicts = [
        (name, f"{figure:.2f}", " ".join(map(str, GOALS[name])), "met" if is_met(name, figure) else "MISSED")
        if name in GOALS
        else (name, f"{figure:.2f}", "", "")
        for name, figure in found.items()
    ]
    first = table(("ms", "median", "best", "in database", "rest", "queries"), rows)
    return f"{first}\n\n{table(('figure', 'measured', 'goal', ''), verdicts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reuse", action="store_true", help="take the store that an earlier run kept")
    parser.add_argument("--keep", action="store_true", help="leave the store there")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    store_1m.ready(serving.ADDRESS, reuse=given.reuse)
    check_that_the_floor_is_one()
    times = side_by_side(candidates(prepare()), rounds=given.rounds)
    found, where = figures(times), surroundings()
    connection.close()
    if not given.keep:
        store_1m.drop(serving.ADDRESS)
    if given.json:
        print(json.dumps({"surroundings": where, "ms": {name: one.summary() for name, one in times.items()}, "figures": found}))
    else:
        print(f"{where}\n\n{report(times, found)}")


if __name__ == "__main__":
    main()
