"""Where a user stands: the user, the container, the policy in force and whether it will run, read with one query."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.shortcuts import get_object_or_404

from memadmin.access.models import Person
from memadmin.access.visibility import within
from memadmin.jobs.models import Schedule
from memadmin.lifecycle.models import Run
from memadmin.store.models import Container, PolicyState, PolicyStatus, PolicyVersion, Setting, Subject
from retention.policy import InvalidPolicy, RetentionPolicy, parse_policy
from retention.rules import RelevanceRule

NIGHTLY = "nightly"


@dataclass(frozen=True)
class Standing:
    """One user as at one moment. `policy` is None where none is in force; `rule` then is the default one, for scores only."""

    subject: Subject
    policy: RetentionPolicy | None
    policy_number: int | None
    next_run_at: datetime | None
    blocked: str  # why nothing will run; "" when it will
    waiting_run: int | None = None  # of the container, for a second person: what is past a limit does not go before

    @property
    def container(self) -> Container:
        return self.subject.container

    @property
    def rule(self) -> RelevanceRule:
        return (self.policy.relevance if self.policy else None) or RelevanceRule()

    @property
    def has_rule(self) -> bool:
        return self.policy is not None and self.policy.relevance is not None

    @property
    def with_which_run(self) -> str:
        """Say with which run goes what is past a limit now, to stand behind "goes"."""
        return with_which_run(self.waiting_run, self.next_run_at)

    @property
    def badge(self) -> str:
        """Say the same in the few words of a badge."""
        return "goes once approved" if self.waiting_run is not None else "goes at the next run"

    @property
    def over_records(self) -> int:
        """How many memories the user has over the cap, by the live counters."""
        return _over(self.subject.long_term, self.rule.max_records if self.has_rule else None)

    @property
    def over_tokens(self) -> int:
        return _over(self.subject.tokens, self.rule.max_tokens if self.has_rule else None)

    @property
    def over_by_pins(self) -> int:
        """How many memories the user has over the cap with pinned ones alone: no run changes that."""
        return _over(self.subject.pinned_long_term, self.rule.max_records if self.has_rule else None)


def with_which_run(waiting: int | None, at: datetime | None = None) -> str:
    """Say with which run goes what is past a limit. `waiting`: the run of its container that waits, `at`: when the next one is."""
    if waiting is not None:
        return f"with run {waiting}, which waits for a second person, or with a later one"
    return "at the next run" + (f", {at:%d %b %Y, %H:%M} UTC" if at else "")


def standing_of(person: Person, uid: UUID) -> Standing:
    """Return where the user stands, or 404 when there is no such user for this person."""
    subject = get_object_or_404(within(person, with_standing()), uid=uid)
    return standing(subject)


@cache  # putting it together takes longer than the database does to answer it
def with_standing() -> QuerySet[Subject]:
    """Return all subjects with what `standing` reads, so that it needs no query of its own."""
    in_force = PolicyVersion.objects.filter(container=OuterRef("container"), status=PolicyStatus.PUBLISHED)
    return Subject.objects.select_related("container").annotate(
        policy_document=Subquery(in_force.values("document")[:1]),
        policy_number=Subquery(in_force.values("number")[:1]),
        retention_enabled=_setting("retention_enabled"),
        multi_tenancy_enabled=_setting("multi_tenancy_enabled"),
        waiting_run=Subquery(Run.objects.waiting().filter(container=OuterRef("container")).values("number")[:1]),
        next_run_at=Subquery(Schedule.objects.filter(kind=NIGHTLY).values("next_run_at")[:1]),
        nightly_enabled=Subquery(Schedule.objects.filter(kind=NIGHTLY).values("enabled")[:1]),
    )


def standing(subject: Subject) -> Standing:
    row = vars(subject)
    policy, unreadable = _policy_in(row["policy_document"])
    return Standing(
        subject=subject,
        policy=policy,
        policy_number=row["policy_number"],
        next_run_at=row["next_run_at"] if row["nightly_enabled"] else None,
        blocked=_why_blocked(subject.container, row) or unreadable,
        waiting_run=row["waiting_run"],
    )


def _policy_in(document: str | None) -> tuple[RetentionPolicy | None, str]:
    """Return the policy of a stored document, or what keeps it from being carried out."""
    try:
        return parse_policy(json.loads(document)) if document else None, ""
    except (InvalidPolicy, json.JSONDecodeError):
        return None, "the policy in force says something that this program does not know"


def _setting(key: str) -> Subquery:
    return Subquery(Setting.objects.filter(key=key).values(state=F("value"))[:1])


def _why_blocked(container: Container, row: dict[str, object]) -> str:
    if not row["retention_enabled"]:
        return "retention is off"
    if row["multi_tenancy_enabled"]:
        return "multi-tenancy is on"
    if container.policy_state == PolicyState.OPTED_OUT:
        return "this container is opted out of retention"
    if container.policy_state == PolicyState.NEVER_SET:
        return "this container has no retention policy yet"
    if row["nightly_enabled"] is None:
        return "no run is planned before a worker has started for the first time"
    return "" if row["nightly_enabled"] else "the nightly run is switched off"


def _over(held: int, limit: int | None) -> int:
    return max(0, held - limit) if limit is not None else 0
