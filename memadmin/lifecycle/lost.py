"""Working memories without a session, as people look at them: which there are, when they would go, and why not.

The groups are disjoint and name all of them, also those that no rule takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models
from django.db.models.expressions import RawSQL

from memadmin.lifecycle import housekeeping
from memadmin.lifecycle.items import moment_of
from memadmin.lifecycle.warnings import why_nothing_runs
from memadmin.plurals import counted
from memadmin.store import policies
from memadmin.store.lost import LOST, names_nobody_sql
from memadmin.store.models import Container, WorkingMemory
from memadmin.store.querysets import WorkingQuerySet
from retention.orphans import Terms


class Group(models.TextChoices):
    EXPIRING = "expiring", "of a container without sessions"
    ORPHANS = "orphans", "whose session has gone"
    UNATTRIBUTED = "unattributed", "that name nobody"
    ATTRIBUTED = "attributed", "of a user or an agent, without a session"


@dataclass(frozen=True, slots=True)
class Tally:
    """How much there is of one group in one container."""

    rows: int
    messages: int
    held: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """When a group goes. `age` is how old one must be (None: none goes), `not_before` the end of the grace, `why` the sentence."""

    why: str
    age: timedelta | None = None
    not_before: datetime | None = None

    def goes_from(self, memory: WorkingMemory) -> datetime | None:
        """Return the moment from which a run may take it, None: it stays."""
        if self.age is None or memory.held or memory.created_at is None:
            return None
        return max(memory.created_at + self.age, self.not_before or memory.created_at)


def tallies(container_ids: list[int]) -> Mapping[int, Mapping[Group, Tally]]:
    """Return what there is in each of these containers; a container without any is left out."""
    found: defaultdict[int, dict[Group, Tally]] = defaultdict(dict)
    if not container_ids:
        return found
    ids = ", ".join(map(str, container_ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT m.container_id, {_group_sql()} AS kind, COUNT(*), SUM(m.message_count), SUM(CASE WHEN m.held THEN 1 ELSE 0 END), "
            f"MIN(m.created_at) FROM store_workingmemory m JOIN store_container c ON c.id = m.container_id "
            f"WHERE m.container_id IN ({ids}) AND {LOST} GROUP BY 1, 2"
        )
        for container_id, kind, rows, messages, held, oldest in cursor.fetchall():
            moment = None if oldest is None else moment_of(oldest)
            found[container_id][Group(kind)] = Tally(int(rows), int(messages), int(held), moment)
    return found


def rows_of(container: Container, group: Group) -> WorkingQuerySet:
    """Return the rows of one group."""
    ids = (
        f"SELECT m.id FROM store_workingmemory m JOIN store_container c ON c.id = m.container_id "
        f"WHERE m.container_id = %s AND {LOST} AND {_group_sql()} = %s"
    )
    rows: WorkingQuerySet = WorkingMemory.objects.filter(pk__in=RawSQL(ids, [container.pk, group.value]))
    return rows


def exist(container_ids: list[int]) -> bool:
    """Return whether any of these containers has one, at the cost of a look."""
    rows: Any = WorkingMemory.objects.filter(container_id__in=container_ids, session__isnull=True)
    return bool(rows.exists())


def outlook(container: Container, group: Group, *, now: datetime) -> Outlook:
    """Return when the rows of a group go, or what keeps them."""
    if group is Group.ATTRIBUTED:
        return Outlook("They stay: they name a user or an agent, and no rule takes them.")
    terms = housekeeping.terms_of(container, policies.current(container) or housekeeping.NO_POLICY)
    blocked = why_nothing_runs(container)
    if group is Group.EXPIRING and terms.ttl is None:
        return Outlook("They stay: no age is set for working memories of containers without sessions (working_memory_ttl_days).")
    if blocked:
        return Outlook(f"They stay. {blocked.text}")
    if group is Group.EXPIRING and terms.ttl is not None:
        return Outlook(f"They go {_days(terms.ttl)} after they were written.", age=terms.ttl)
    if group is Group.UNATTRIBUTED and not container.removes_unattributed:
        return Outlook("They stay: this container has not agreed that what names no session, user or agent is deleted.")
    return _watched(terms, now=now)


def _watched(terms: Terms, *, now: datetime) -> Outlook:
    if terms.orphan_age is None:
        return Outlook("They stay: the policy in force has no limit, so no run looks for them.")
    days = _days(terms.orphan_age)
    if terms.baseline_at is None:
        return Outlook(f"They stay for now: the next run starts the clock, and {days} later they can go.")
    ends = terms.baseline_at + terms.orphan_age
    if now < ends:
        return Outlook(f"They stay until {ends:%d %b %Y %H:%M} UTC, {days} after a run first looked.", terms.orphan_age, ends)
    return Outlook(f"They go {days} after they were written.", terms.orphan_age, ends)


def _group_sql() -> str:
    return (
        f"CASE WHEN NOT c.sessions_enabled THEN '{Group.EXPIRING}' WHEN m.session_ref IS NOT NULL THEN '{Group.ORPHANS}' "
        f"WHEN {names_nobody_sql()} THEN '{Group.UNATTRIBUTED}' ELSE '{Group.ATTRIBUTED}' END"
    )


def _days(length: timedelta) -> str:
    return counted(length.days, "day")
