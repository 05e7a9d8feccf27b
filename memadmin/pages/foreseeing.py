"""What the next runs would do if a setting had another value: said before it is changed, with the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers
from memadmin.lifecycle import housekeeping, nightly, planning, second_person
from memadmin.lifecycle.totals import Totals
from memadmin.lifecycle.warned import Warned
from memadmin.store import configuration, defaults, policies
from memadmin.store.models import Container, PolicyState
from retention.rules import RetentionPolicy

LOOKED_AT = 10  # containers: looking at one costs what a preview costs
MORE_GOES = {  # settings by which more can go, and whether a higher value does it
    "multi_tenancy_enabled": False,
    "retention_enabled": True,
    "orphan_ttl_days": False,
    "working_memory_ttl_days": False,
    "default_session_retention_days": False,
    "default_session_max_count": False,
    "default_long_term_max_count": False,
    "default_history_max_count": False,
}


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the next run of one container would evict, and how many of that only for the change. `items` None: its policy cannot be read."""

    container: Container
    items: int | None
    more: int
    asked: Warned | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The containers that were looked at, and how many were not."""

    looked_at: list[Foreseen]
    left_out: int

    @property
    def more(self) -> int:
        return sum(each.more for each in self.looked_at)

    def sentences(self) -> Iterable[str]:
        """Yield what must be seen first: each container that loses something by the change, those that wait for a second person before."""
        for each in sorted(self.looked_at, key=lambda one: not (one.asked and one.asked.loud)):
            if each.more:
                told = each.asked.text if each.asked else f"{each.items:,} would go at the next run."
                yield f"{each.container.name}: {told}"


def foresee(person: Person, changes: Mapping[str, Any], *, now: datetime) -> Outcome:
    """Return what the next runs would evict with these settings, in the containers that this person sees."""
    runs_now = nightly.may_evict()
    with configuration.as_if(changes):
        due = nightly.due().filter(pk__in=visible_containers(person)).order_by("id")
        seen, number = list(due[:LOOKED_AT]), due.count()
        then = {container: would_go(container, now=now) for container in seen}
        asked = {container: second_person.foresee(container, totals) for container, totals in then.items() if totals}
    found = []
    for container, totals in then.items():
        before = would_go(container, now=now) if runs_now else None
        more = max(0, (totals.items if totals else 0) - (before.items if before else 0))
        found.append(Foreseen(container, totals.items if totals else None, more, asked.get(container)))
    return Outcome(found, number - len(seen))


def would_go(container: Container, *, now: datetime) -> Totals | None:
    """Return what the next run of a container would evict; None where its policy cannot be read. Where none was set the defaults count."""
    policy: RetentionPolicy | None = policies.readable(policies.published(container))
    if container.policy_state == PolicyState.NEVER_SET:
        policy = defaults.default_policy() or housekeeping.NO_POLICY
    return None if policy is None else planning.estimate(container, policy, now=now, limit=0).totals


def lets_more_go(key: str, before: Any, after: Any) -> bool:
    """Whether the change of a setting can make runs take more."""
    if key not in MORE_GOES or before == after:
        return False
    if isinstance(after, bool):
        return after is MORE_GOES[key]
    return after > 0 and (before <= 0 or after < before)
