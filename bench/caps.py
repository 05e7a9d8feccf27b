"""One memory too many: what it costs to say who goes, for a user at a cap of 500, 5,000 and 50,000 memories.

    DATABASE_URL=postgres://user@host:5432/name .venv/bin/python -m bench.caps [--rounds 25] [--json]

*Listing*: read all of the user's memories and decide in Python, as one writes it first and as it is fine at 500. *Selecting*: the
product's selection for the container, which ranks the memories of the user in the database, and from 10,000 on looks among the
lowest scores alone. *Lowest*: the memory with the lowest score, out of the indexes. Each cap has a container with one user who is
over it by one, beside 50,000 memories of others in the same table. All three must name the same memory.

With PostgreSQL a database beside the one that DATABASE_URL names is made, and dropped; without, a file for SQLite.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import django

from bench import store_1m

IS_POSTGRESQL = os.environ.get("DATABASE_URL", "").startswith("postgres")
FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")
ADDRESS = store_1m.address_beside("bench_caps") if IS_POSTGRESQL else f"sqlite:///{Path(FOLDER.name) / 'caps.sqlite3'}"
os.environ.update(DATABASE_URL=ADDRESS, VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", DJANGO_SETTINGS_MODULE="memadmin.settings")
django.setup()

from django.core.management import call_command  # noqa: E402  # needs the settings
from django.db import connection  # noqa: E402

from bench.timing import Times, ratio, side_by_side, table  # noqa: E402
from memadmin.lifecycle import selection  # noqa: E402
from memadmin.lifecycle.snapshot import one_snapshot  # noqa: E402
from memadmin.store import ingest  # noqa: E402
from memadmin.store.intake import IncomingMemory  # noqa: E402
from memadmin.store.lowest import lowest  # noqa: E402
from memadmin.store.models import Container, LongTermMemory, Subject  # noqa: E402
from retention.records import MemoryFacts  # noqa: E402
from retention.rules import RelevanceRule, RetentionPolicy  # noqa: E402
from retention.victims import relevance_victims  # noqa: E402

ACTOR = "command/bench"
CAPS = (500, 5_000, 50_000)
OTHERS, EACH = 50_000, 50
AT_ONCE = 5_000
FACTS = ("id", "created_at", "last_updated_at", "last_accessed_at", "hits", "importance", "tokens", "pinned", "held")
GOALS = {  # of the largest cap: what listing takes in times of ours, and how much ours may grow from the smallest cap on
    "listing / selecting, 50,000": ("listing", "selecting", 50_000, 50.0),
    "listing / lowest, 50,000": ("listing", "lowest", 50_000, 50.0),
}
GROWTH = 2.0


def load(now: datetime) -> None:
    dice = random.Random(37)
    for cap in CAPS:
        fill(f"cap {cap}", ["one"] * (cap + 1), dice=dice, now=now)
    fill("others", [f"user-{number // EACH}" for number in range(OTHERS)], dice=dice, now=now)
    run_sql("VACUUM ANALYZE" if IS_POSTGRESQL else "ANALYZE")


def fill(name: str, users: Sequence[str], *, dice: random.Random, now: datetime) -> None:
    container = ingest.create_container(name=name, actor=ACTOR, now=now)
    for begin in range(0, len(users), AT_ONCE):
        some = [a_memory(user, dice=dice, now=now) for user in users[begin : begin + AT_ONCE]]
        ingest.write(container, some, actor=ACTOR, now=now)


def a_memory(user: str, *, dice: random.Random, now: datetime) -> IncomingMemory:
    """Somewhat more of them have been recalled than not; none is past the TTL."""
    created = now - timedelta(days=dice.uniform(1, 300))
    recalled = dice.random() < 0.6
    return IncomingMemory(
        user_id=user,
        text=" ".join(dice.choices(store_1m.WORDS, k=12)),
        created_at=created,
        importance=dice.randint(1, 9) / 10,
        tokens=70,
        hits=dice.randint(1, 40) if recalled else 0,
        last_accessed_at=created + (now - created) * dice.random() if recalled else None,
    )


def listing(container: Container, rule: RelevanceRule, *, now: datetime) -> list[int]:
    subject = Subject.objects.get(container=container)
    rows = LongTermMemory.objects.filter(subject=subject).values_list(*FACTS)
    return [victim.key for victim in relevance_victims((MemoryFacts(row[0], subject.pk, *row[1:]) for row in rows), rule, now=now)]


def selecting(container: Container, rule: RelevanceRule, *, now: datetime) -> list[int]:
    with one_snapshot():
        (found,) = selection.select(container, RetentionPolicy({}, rule), now=now)
        return [key for (key,) in run_sql(f"SELECT item_id FROM ({found.sql}) AS victims")]


def by_lists(container: Container, rule: RelevanceRule, *, now: datetime) -> list[int]:
    subject = Subject.objects.get(container=container)
    return [memory.id for memory in lowest(container, rule, now=now, count=1, subject=subject)]


def run_sql(statement: str) -> list[tuple[int, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def candidates(cap: int, now: datetime) -> dict[str, Callable[[], list[int]]]:
    """Return the three ways, after asking that they agree."""
    container, rule = Container.objects.get(name=f"cap {cap}"), RelevanceRule(max_records=cap, max_tokens=None)
    ways = {"listing": listing, "selecting": selecting, "lowest": by_lists}
    found: dict[str, Callable[[], list[int]]] = {name: partial(way, container, rule, now=now) for name, way in ways.items()}
    answers = {name: way() for name, way in found.items()}
    if len(answers["listing"]) != 1 or len({tuple(answer) for answer in answers.values()}) != 1:
        raise SystemExit(f"At {cap} the ways name different memories: {answers}")
    return found


def report(taken: dict[int, dict[str, Times]]) -> str:
    names = ("listing", "selecting", "lowest")
    rows = [(f"{cap:,}", *(f"{times[name].ms:,.1f}" for name in names)) for cap, times in taken.items()]
    found = figures(taken)
    verdicts = [(name, f"{found[name]:.1f}", f"at least {least:g}", met(found[name] >= least)) for name, (*_, least) in GOALS.items()]
    verdicts += [
        (name, f"{found[name]:.1f}", f"at most {GROWTH:g}", met(found[name] <= GROWTH)) for name in found if name.startswith("lowest")
    ]
    return f"{table(('cap, ms', *names), rows)}\n\n{table(('ratio', 'measured', 'goal', ''), verdicts)}"


def met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def figures(taken: dict[int, dict[str, Times]]) -> dict[str, float]:
    ratios = {name: ratio(taken[cap][one], taken[cap][other]) for name, (one, other, cap, _) in GOALS.items()}
    return {**ratios, "lowest, 50,000 / 500": ratio(taken[50_000]["lowest"], taken[500]["lowest"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    now = datetime.now(UTC)
    if IS_POSTGRESQL:
        store_1m.recreate(ADDRESS)
    call_command("migrate", verbosity=0)
    load(now)
    taken = {cap: side_by_side(candidates(cap, now), rounds=given.rounds) for cap in CAPS}
    connection.close()
    if IS_POSTGRESQL:
        store_1m.drop(ADDRESS)
    if given.json:
        print(json.dumps({"ms": {cap: {n: t.ms for n, t in times.items()} for cap, times in taken.items()}, "ratios": figures(taken)}))
    else:
        print(report(taken))


if __name__ == "__main__":
    main()
