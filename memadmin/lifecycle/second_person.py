"""Which runs are so large that a second person must approve them, and putting a run before one.

Invariant: a run that takes more than the set share or number of its container goes from preview to eviction by way of WAITING and of
somebody else's approval alone, whatever caused it. While fewer than two people hold the right the rule is off, and everything says so.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Q

from memadmin.access.humans import human_with, humans_with
from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.audit.actions import Action
from memadmin.lifecycle.models import Approval, Run, RunCluster, RunState, RunVictim, Verdict
from memadmin.lifecycle.moves import move, record, version_of
from memadmin.lifecycle.totals import Totals
from memadmin.lifecycle.warned import Warned
from memadmin.store import configuration
from memadmin.store.models import Container
from memadmin.store.querysets import ContainerQuerySet

RULE_IS_OFF = "off"  # in a run's outcome: it was large and went without a second person
READ_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """From where on a run is large: above so many percent of one memory type, or above so many items of all types together."""

    percent: int
    items: int

    @classmethod
    def now(cls) -> Bounds:
        settings = configuration.values()
        return cls(percent=settings["approval_percent"], items=settings["approval_items"])

    def exceeded_by(self, totals: Totals) -> bool:
        return self.exceeded(totals.items, ((each.total, each.stored) for each in totals.by_type.values()))

    def exceeded(self, items: int, of_stored: Iterable[tuple[int, int]]) -> bool:
        """Whether so many items, or of any type so many of those stored, are a large run."""
        return items > self.items or any(going * 100 > stored * self.percent for going, stored in of_stored if going)

    def in_words(self) -> str:
        return f"more than {self.percent} % of one memory type, or more than {self.items:,} items"


def holders(container: Container) -> list[Person]:
    """Return the people who may approve runs of the container."""
    seeing = Person.objects.filter(Q(all_containers=True) | Q(containers=container), is_active=True).distinct().order_by("pk")
    return [person for person in seeing if person.may(Right.RUN_APPROVE)]


def without_one(containers: ContainerQuerySet) -> int:
    """Return in how many of the containers fewer than two people may approve, so that large runs go without a second person."""
    able = [person for person in Person.objects.filter(is_active=True) if person.may(Right.RUN_APPROVE)]
    everywhere = humans_with(person for person in able if person.all_containers)
    if len(everywhere) >= 2:
        return 0
    human = {person.pk: human_with(person) for person in able if not person.all_containers}
    by_container: defaultdict[int, set[str]] = defaultdict(set)
    for person, container in Person.containers.through.objects.filter(person__in=human).values_list("person", "container"):
        by_container[container].add(human[person])
    return sum(len(everywhere | by_container[pk]) < 2 for pk in containers.values_list("pk", flat=True))


def foresee(container: Container, totals: Totals) -> Warned | None:
    """Return what a page says first of a run with these totals: that it will wait for a second person, or that it goes without one.

    None: the run is not large. For whatever causes runs: a policy, a setting, pins that are removed.
    """
    bounds = Bounds.now()
    if not bounds.exceeded_by(totals):
        return None
    if is_active(container):
        return Warned(
            "second_person",
            f"{totals.items:,} items are a large run ({bounds.in_words()}): it waits until a second person has approved it.",
            loud=True,
        )
    who = "only one person may" if holders(container) else "nobody may"
    return Warned("no_second_person", f"{totals.items:,} items are a large run, and no second person is asked: {who} approve runs here.")


def is_active(container: Container) -> bool:
    """Whether large runs of the container wait: at least two people may approve them. Two accounts of one person are one."""
    return len(humans_with(holders(container))) >= 2


def wanted(run: Run) -> bool:
    """Whether the run must be put before a second person."""
    return Bounds.now().exceeded_by(run.summary) and is_active(run.container)


def is_large_without_one(run: Run) -> bool:
    """Whether the run is large and nobody is asked, because the rule is off."""
    return Bounds.now().exceeded_by(run.summary) and not is_active(run.container)


@transaction.atomic
def ask(run: Run, *, actor: str, now: datetime) -> None:
    """Put a preview before a second person, instead of an older run of the container that waits. Raises WrongState."""
    replace_waiting(run, actor=actor, now=now)
    move(run, RunState.READY, to=RunState.WAITING, started_by=actor, **version_of(run))
    hours = configuration.value("approval_valid_hours")
    asked = {"asked_by": actor, "asked_at": now, "expires_at": now + timedelta(hours=hours)}
    Approval.objects.create(run=run, items=run.planned, digest=list_digest(run), **asked)
    record(Action.RUN_APPROVAL_ASKED, run, actor=actor, now=now, counts={"planned": run.planned}, payload={"digest": run.approval.digest})


@transaction.atomic
def replace_waiting(by: Run, *, actor: str, now: datetime) -> None:
    """Drop a run of the same container that waits for a second person: a newer one has fresher numbers."""
    old = Run.objects.waiting().of_container(by.container).exclude(pk=by.pk).select_related("container").first()
    if old is None:
        return
    outcome = {**old.outcome, "superseded_by": by.number}
    move(old, RunState.WAITING, to=RunState.DISCARDED, finished_at=now, error_code="superseded", outcome=outcome)
    RunVictim.objects.filter(run=old)._raw_delete(connection.alias)
    RunCluster.objects.filter(run=old)._raw_delete(connection.alias)
    void(old)
    record(Action.RUN_CANCELLED, old, actor=actor, now=now, reason_code="superseded", counts={"by": by.number})


def void(run: Run) -> None:
    """Note that a question or an approval counts no more."""
    Approval.objects.filter(run=run, verdict__in=[Verdict.ASKED, Verdict.APPROVED]).update(verdict=Verdict.VOID)


def why_void(run: Run, *, now: datetime) -> str:
    """Return a code for why a run's approval counts no more: it is too old, or the list is not what was approved. "": it counts."""
    approval = Approval.objects.filter(run=run).first()
    if approval is None:
        return ""
    if approval.verdict != Verdict.APPROVED or run.planned > approval.items:
        return "approval_void"
    if approval.expires_at < now:
        return "approval_expired"
    return "" if approval.digest == list_digest(run) else "approval_void"


def list_digest(run: Run) -> str:
    """Return the SHA-256 over the run's policy and its victims in order: what an approval is bound to."""
    found = hashlib.sha256(f"{run.uid} {run.policy_digest}\n".encode())
    rows = RunVictim.objects.of_run(run).in_order().values_list("seq", "item_kind", "item_uid", "reasons")
    for seq, kind, uid, reasons in rows.iterator(chunk_size=READ_AT_ONCE):
        found.update(f"{seq} {kind} {uid} {reasons}\n".encode())
    return found.hexdigest()
