"""The ways to select, record and evict that `bench.retention` compares: the product's, the floor, and what one would write first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import connection, transaction

from bench import standalone, store_1m
from bench.timing import there
from memadmin.jobs.runner import run_inline
from memadmin.lifecycle import planning, runs, selection
from memadmin.lifecycle.models import Run, Trigger
from memadmin.lifecycle.snapshot import one_snapshot
from memadmin.store import configuration, policies
from memadmin.store.models import Container, LongTermMemory, Subject
from retention.records import MemoryFacts
from retention.rules import RelevanceRule, RetentionPolicy
from retention.victims import relevance_victims

ACTOR = "command/bench"
GROUP_BY = (
    "SELECT count(*), sum(n), sum(tokens) FROM (SELECT subject_id, count(*) AS n, sum(tokens) AS tokens FROM store_longtermmemory "
    f"WHERE container_id = {store_1m.CONTAINER} GROUP BY subject_id) AS users"
)
ROWS = f"run_id, seq, item_kind, {selection.COLUMNS}"
FACTS = ("id", "created_at", "last_updated_at", "last_accessed_at", "hits", "importance", "tokens", "pinned", "held")


def use(address: str) -> None:
    """Point Django at another database of the same server."""
    connection.close()
    connection.settings_dict["NAME"] = store_1m.name_of(address)


def use_prepared() -> None:
    use(standalone.PREPARED)


def run_sql(statement: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def timed_sql(statement: str) -> Callable[[], object]:
    """The statement in the same sort of transaction as the product's."""

    def act() -> None:
        with one_snapshot():
            run_sql(statement)

    return act


def govern(policy: RetentionPolicy, *, now: datetime) -> None:
    """Switch retention on and the archive off, and put a policy in force."""
    configuration.change("retention_enabled", True, actor=ACTOR, now=now)
    Container.objects.update(archive_days=None)
    container = Container.objects.get()
    standing = policies.published(container)
    policies.publish(container, policy, actor=ACTOR, now=now, base=standing.number if standing else None)


def victims_sql(*, now: datetime) -> str:
    container = Container.objects.get()
    with one_snapshot():
        (found,) = selection.select(container, policies.current(container) or RetentionPolicy(), now=now)
    return found.sql


def select_victims(*, now: datetime) -> None:
    """From the policy in force to the numbers of its victims, with all lookups on the way."""
    container = Container.objects.get()
    policy = policies.current(container) or RetentionPolicy()
    with one_snapshot():
        for found in selection.select(container, policy, now=now):
            run_sql(f"SELECT count(*), sum(item_id), sum(tokens), bit_or(reasons) FROM ({found.sql}) AS victims")


def preview(*, now: datetime) -> Run:
    container = Container.objects.get()
    version = policies.published(container)
    if version is None:
        raise SystemExit("No policy is in force.")
    policy = policies.parse(version)
    return planning.plan(container, policy, now=now, trigger=Trigger.MANUAL, actor=ACTOR, policy_version=version)


def enforce(*, now: datetime) -> None:
    """Carry out the last preview, as a command does."""
    run_inline(there(runs.start_reserved(Run.objects.latest("number"), actor=ACTOR, now=now)), now=now)


def delete_at_once() -> None:
    """The floor: one statement, ids known, nothing else."""
    run_sql("DELETE FROM store_longtermmemory WHERE id IN (SELECT id FROM bench_ids)")


def enforce_in_python(*, now: datetime) -> None:
    """What one writes first: user by user, read all, decide, delete by ids. It moves no counters and writes no log."""
    policy = policies.current(Container.objects.get())
    rule = (policy.relevance if policy else None) or RelevanceRule()
    for subject in Subject.objects.filter(long_term__gt=0).values_list("id", flat=True):
        rows = LongTermMemory.objects.filter(container_id=store_1m.CONTAINER, subject_id=subject).values_list(*FACTS)
        ids = [victim.key for victim in relevance_victims((MemoryFacts(row[0], subject, *row[1:]) for row in rows), rule, now=now)]
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DELETE FROM store_longtermmemory WHERE id = ANY(%s)", [ids])


def survivors() -> tuple[object, ...]:
    """A fingerprint of the memories that are left."""
    return run_sql("SELECT count(*), sum(id), md5(string_agg(id::text, ',' ORDER BY id)) FROM store_longtermmemory")[0]
