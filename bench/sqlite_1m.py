"""Evicting a quarter of a million memories on SQLite, against one DELETE of the same.

    .venv/bin/python -m bench.sqlite_1m [--memories 1000000] [--reuse] [--keep] [--json]

The store is that of `bench.store_10m`, in a file of its own under the folder for temporary files, which `--keep` leaves there. Each way
works on a fresh copy of it, archive off, and all must leave the same memories.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import django

FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")
WORKING = Path(FOLDER.name) / "working.sqlite3"
os.environ.update(DATABASE_URL=f"sqlite:///{WORKING}", VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", DJANGO_SETTINGS_MODULE="memadmin.settings")
django.setup()

from django.core.management import call_command  # noqa: E402  # needs the settings
from django.db import connection, transaction  # noqa: E402

from bench import store_1m, store_10m  # noqa: E402
from bench.timing import there  # noqa: E402
from memadmin.jobs.runner import run_inline  # noqa: E402
from memadmin.lifecycle import planning, runs  # noqa: E402
from memadmin.lifecycle.models import Run, Trigger  # noqa: E402
from memadmin.store import configuration, policies  # noqa: E402
from memadmin.store.models import Container  # noqa: E402
from retention.rules import RelevanceRule, RetentionPolicy  # noqa: E402

ACTOR = "command/bench"
COUNT = "UPDATE store_subject SET sessions = %s, long_term = %s, pinned_long_term = %s, tokens = %s WHERE id = %s"


def load(kept: Path, memories: int) -> None:
    """Make the store and record the preview, and put the file beside."""
    now = datetime.now(UTC)
    call_command("migrate", verbosity=0)
    crowd = store_10m.crowds(memories)[0]
    with transaction.atomic(), connection.cursor() as cursor:
        Container.objects.create(pk=store_10m.EVERYONE, name="everyone", archive_days=None, created_at=now, last_updated_at=now)
        _insert(cursor, store_1m.subjects(crowd.users, container=store_10m.EVERYONE))  # nothing is written for a subject that is not there
        indexes = _without_indexes(cursor)
        for _, lines in store_10m.batches([crowd], now=now):
            _insert(cursor, lines)
        cursor.executemany(COUNT, [(*user.counters(), number) for number, user in enumerate(crowd.users, start=1)])
        for statement in indexes:
            cursor.execute(statement)
    configuration.change("retention_enabled", True, actor=ACTOR, now=now)
    container = Container.objects.get()
    version = policies.publish(container, RetentionPolicy({}, RelevanceRule()), actor=ACTOR, now=now, base=None)
    planning.plan(container, policies.parse(version), now=now, trigger=Trigger.MANUAL, actor=ACTOR, policy_version=version)
    _run("ANALYZE")
    _run("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    shutil.copyfile(WORKING, kept)


def _without_indexes(cursor) -> list[str]:  # type: ignore[no-untyped-def]
    cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'store_longtermmemory' AND sql IS NOT NULL")
    found = cursor.fetchall()
    for name, _ in found:
        cursor.execute(f'DROP INDEX "{name}"')
    return [statement for _, statement in found]


def _insert(cursor, lines: dict[str, list[str]]) -> None:  # type: ignore[no-untyped-def]
    for table, rows in lines.items():
        names = [name.strip() for name in store_1m.COLUMNS[table].split(",")]
        marks = ", ".join(["%s"] * len(names))
        values = ([_value(name, value) for name, value in zip(names, row.split("\t"), strict=True)] for row in rows)
        cursor.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", list(values))


def _value(name: str, text: str) -> object:
    if text == r"\N":
        return None
    if name in {"pinned", "held"}:
        return text == "t"
    if name.endswith("_at"):
        return text.removesuffix("+00:00")
    return text


def enforce() -> None:
    now = datetime.now(UTC)
    run_inline(there(runs.start_reserved(Run.objects.latest("number"), actor=ACTOR, now=now)), now=now)


def delete_at_once() -> None:
    with transaction.atomic():
        _run("DELETE FROM store_longtermmemory WHERE id IN (SELECT item_id FROM lifecycle_runvictim)")


def on_a_copy(kept: Path, act: Callable[[], None]) -> tuple[float, tuple[object, ...]]:
    connection.close()
    for suffix in ("", "-wal", "-shm"):
        WORKING.with_name(WORKING.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(kept, WORKING)
    _run("SELECT sum(tokens) FROM store_longtermmemory")
    begun = time.perf_counter()
    act()
    taken = time.perf_counter() - begun
    [left] = _run("SELECT count(*), sum(id), sum(tokens) FROM store_longtermmemory")
    return taken, left


def _run(statement: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--reuse", action="store_true", help="take the file that an earlier measurement kept")
    parser.add_argument("--keep", action="store_true", help="leave the file there")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    kept = Path(tempfile.gettempdir()) / f"memadmin_bench_{given.memories}.sqlite3"
    if not (given.reuse and kept.exists()):
        load(kept, given.memories)
    taken: dict[str, list[float]] = {"one DELETE": [], "enforcement": []}
    left = set()
    for _ in range(given.rounds):
        for name, act in (("one DELETE", delete_at_once), ("enforcement", enforce)):
            seconds, survivors = on_a_copy(kept, partial(act))
            taken[name].append(seconds)
            left.add(survivors)
            store_1m.say(f"SQLite, {name}: {seconds:.2f} s")
    if len(left) != 1:
        raise SystemExit(f"The ways leave different memories: {left}")
    if not given.keep:
        kept.unlink()
    ratio = statistics.median(mine / theirs for mine, theirs in zip(taken["enforcement"], taken["one DELETE"], strict=True))
    print(json.dumps({"seconds": taken, "ratio": ratio}) if given.json else f"enforcement / one DELETE on SQLite: {ratio:.2f}, at most 2")


if __name__ == "__main__":
    main()
