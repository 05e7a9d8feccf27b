"""Plan a run: find its victims and record them under a number. An estimate finds the same ones and records nothing.

Both read the store as at one moment. Nothing here changes a memory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle import housekeeping
from memadmin.lifecycle.items import SOURCES
from memadmin.lifecycle.models import ItemKind, Run, RunState, RunVictim, Trigger
from memadmin.lifecycle.selection import COLUMNS, Selection, select
from memadmin.lifecycle.snapshot import one_snapshot
from memadmin.lifecycle.summarising import choosing
from memadmin.lifecycle.summing import exempt_past_limit, sum_run, sum_selections
from memadmin.lifecycle.totals import Totals
from memadmin.lifecycle.warnings import Warned, warnings_of
from memadmin.store import planner
from memadmin.store.models import Container, HistoryEntry, LongTermMemory, PolicyVersion, Session, WorkingMemory
from retention.policy import InvalidPolicy, canonical, digest, parse_policy
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import COUNT_CAP

LARGE_USER = 10_000  # memories


class NotPlanning(Exception):
    """The run has its victims already, or was called off."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a policy would evict now. `first` are unsaved victims: of each type the first that a run would take."""

    totals: Totals
    first: tuple[RunVictim, ...]
    warnings: tuple[Warned, ...]


def estimate(container: Container, policy: RetentionPolicy, *, now: datetime, limit: int = 10) -> Estimate:
    """Return what the policy would evict, with `limit` first victims, fairly by type. Writes nothing."""
    with one_snapshot():
        summed = sum_selections(container, list(select(container, policy, now=now)), limit=limit)
        return Estimate(summed.totals, summed.first, warnings_of(container, policy, summed.totals))


def kept_past_limits(container: Container, policy: RetentionPolicy, *, now: datetime) -> int:
    """Return how many items are past a limit of the policy and stay for a pin or a hold alone."""
    with one_snapshot():
        return sum(exempt_past_limit(container, selection) for selection in select(container, policy, now=now))


def plan(
    container: Container,
    policy: RetentionPolicy,
    *,
    now: datetime,
    trigger: Trigger,
    actor: str,
    policy_version: PolicyVersion | None = None,
    as_of: datetime | None = None,
) -> Run:
    """Return a numbered preview of what the policy evicts as of a moment (default: now). Evicts nothing."""
    run = open_run(container, policy, now=now, trigger=trigger, actor=actor, policy_version=policy_version, as_of=as_of)
    return record(run, now=now)


def open_run(
    container: Container,
    policy: RetentionPolicy,
    *,
    now: datetime,
    trigger: Trigger,
    actor: str,
    policy_version: PolicyVersion | None = None,
    as_of: datetime | None = None,
) -> Run:
    """Return a run that has its number and no victims yet."""
    return Run.objects.create(
        container=container,
        trigger=trigger,
        policy_version=policy_version,
        document=canonical(policy),
        policy_digest=digest(policy),
        as_of=as_of or now,
        created_at=now,
        actor=actor,
    )


def open_version(version: PolicyVersion, *, now: datetime, trigger: Trigger, actor: str) -> Run:
    """Like `open_run`, for a published version, whose document is taken unread: one that cannot be read fails with its run."""
    return Run.objects.create(
        container=version.container,
        trigger=trigger,
        policy_version=version,
        document=version.document,
        policy_digest=version.digest,
        as_of=now,
        created_at=now,
        actor=actor,
    )


def record(run: Run, *, now: datetime, count_cap: int = COUNT_CAP) -> Run:
    """Record the victims of an open run; what an attempt that was cut off recorded is replaced. Raises NotPlanning."""
    policy = policy_of(run)
    planner.look_at_wrongly_empty(Session, WorkingMemory, LongTermMemory, HistoryEntry)
    with one_snapshot():
        if not Run.objects.filter(pk=run.pk, state=RunState.PLANNING).exists():
            raise NotPlanning
        RunVictim.objects.filter(run=run)._raw_delete(connection.alias)
        high_water = {source.kind.memory_type.value: _highest(source.table) for source in SOURCES.values()}
        selections = list(select(run.container, policy, now=run.as_of, count_cap=count_cap))
        terms = housekeeping.as_json(housekeeping.terms_of(run.container, policy))
        planned = 0
        for selection in selections:
            behind = planned
            planned += _insert(run, selection, behind=behind)
            if selection.kind is ItemKind.LONG_TERM:
                planned += choosing.choose(run, policy, behind=behind, planned=planned)
        totals = sum_run(run, selections)
    values = {"high_water": high_water, "totals": totals.as_json(), "planned": planned, "housekeeping": terms, "state": RunState.READY}
    with transaction.atomic():
        if not Run.objects.filter(pk=run.pk, state=RunState.PLANNING).update(**values):
            raise NotPlanning
        log.append(
            Action.RUN_PREVIEWED,
            actor=run.actor,
            target=f"runs/{run.number}",
            at=now,
            counts={str(memory_type): each.total for memory_type, each in totals.by_type.items()},
            payload={"policy_digest": run.policy_digest, "container": str(run.container.uid)},
        )
    run.refresh_from_db()
    return run


def policy_of(run: Run) -> RetentionPolicy:
    """Return the policy that a run was made under."""
    return parse_policy(json.loads(run.document))


def terms_have_changed(run: Run) -> bool:
    """Whether a run names working memories by other rules than those that hold now: a setting, or the container, was changed."""
    if not run.summary.of(MemoryType.WORKING).total:
        return False
    return housekeeping.as_json(housekeeping.terms_of(run.container, policy_of(run))) != run.housekeeping


def readable_policy(run: Run) -> RetentionPolicy | None:
    """Like `policy_of`, for showing: None for one that the rules of today do not read."""
    try:
        return policy_of(run)
    except (InvalidPolicy, json.JSONDecodeError):
        return None


def _insert(run: Run, selection: Selection, *, behind: int) -> int:
    """Record one type's victims, numbered on from `behind`, and return how many there are."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO lifecycle_runvictim (run_id, seq, item_kind, {COLUMNS}) "
            f"SELECT {run.pk}, {behind} + row_number() OVER (ORDER BY {_order(run, selection.kind)}), {selection.kind.value}, {COLUMNS} "
            f"FROM ({selection.sql}) s"
        )
        return int(cursor.rowcount)


def _order(run: Run, kind: ItemKind) -> str:
    """Return what victims are numbered by: in the order in which they go, a batch should touch few counters and few pages.

    So a user's victims stand together. But those of the users with very many, whose rows lie scattered over the whole table, stand
    in the order of the rows. One number says both, which sorts twice as fast as two.
    """
    counter = "working" if kind is ItemKind.WORKING else "long_term"
    large = f"SELECT id FROM store_subject WHERE container_id = {run.container_id} AND {counter} > {LARGE_USER}"
    return f"CASE WHEN subject_id IN ({large}) THEN item_id ELSE {1 << 62} + subject_id END"


def _highest(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COALESCE(MAX(id), 0) FROM {table}")
        return int(cursor.fetchone()[0])
