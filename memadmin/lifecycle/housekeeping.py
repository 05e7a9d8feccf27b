"""Working memories that no session carries away: those of containers without sessions, and those whose session has gone.

Source: OpenSearch memory retention, working memory TTL and orphan sweep. Only containers with a policy in force are looked at. What
names no session, user or agent at all is unattributed: it is shown to people, and no rule takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import configuration, policies
from memadmin.store.models import Container, ItemType, PolicyState, Session, WorkingMemory
from memadmin.store.removal import remove_by_hand
from retention.policy import RetentionPolicy

AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Kept:
    """What housekeeping would remove now."""

    ttl: int = 0
    orphan: int = 0


def estimate(container: Container, *, now: datetime) -> Kept:
    """Count what would go. Writes nothing."""
    return Kept(ttl=_expired(container, now=now).count(), orphan=_orphans(container, now=now).count())


def tidy(container: Container, *, actor: str, now: datetime) -> bool:
    """Remove some of what has had its time, and return True when nothing is left. The first visit only starts the clock for orphans."""
    if _starts_the_clock(container, now=now):
        return True
    for rule, rows in (("ttl", _expired(container, now=now)), ("orphan", _orphans(container, now=now))):
        ids = list(rows.order_by("created_at", "pk").values_list("pk", flat=True)[:AT_ONCE])
        if ids:
            _remove(container, ids, rule=rule, actor=actor, now=now)
            return False
    return True


def has_limits(policy: RetentionPolicy) -> bool:
    """Whether a policy has any rule that is not cleared: orphans of the others are left alone."""
    limited = any(rule.age_limit is not None or rule.count_limit is not None for rule in policy.rules.values())
    return limited or policy.relevance is not None


def grace_is_over(container: Container, *, now: datetime) -> bool:
    """Whether orphans have been looked for long enough to be taken."""
    return container.orphan_baseline_at is not None and now >= container.orphan_baseline_at + _grace()


def _grace() -> timedelta:
    return timedelta(days=configuration.value("orphan_ttl_days"))


@transaction.atomic
def _remove(container: Container, ids: list[int], *, rule: str, actor: str, now: datetime) -> None:
    gone = remove_by_hand(ItemType.WORKING, ids)
    target = f"containers/{container.uid}"
    log.append(Action.WORKING_TIDIED, actor=actor, target=target, at=now, reason_code=rule, counts={"working": gone.items})


def _starts_the_clock(container: Container, *, now: datetime) -> bool:
    """Note when orphans of the container were first looked for; it never moves again."""
    if not container.sessions_enabled or container.policy_state != PolicyState.SET or container.orphan_baseline_at is not None:
        return False
    Container.objects.filter(pk=container.pk, orphan_baseline_at__isnull=True).update(orphan_baseline_at=now)
    return True


def _expired(container: Container, *, now: datetime) -> QuerySet[WorkingMemory]:
    days = configuration.value("working_memory_ttl_days")
    rows = WorkingMemory.objects.filter(container=container)
    if container.sessions_enabled or days <= 0 or container.policy_state != PolicyState.SET:
        return rows.none()
    return rows.filter(created_at__lt=now - timedelta(days=days))


def _orphans(container: Container, *, now: datetime) -> QuerySet[WorkingMemory]:
    rows = WorkingMemory.objects.filter(container=container)
    policy = policies.current(container)
    if not container.sessions_enabled or policy is None or not has_limits(policy) or not grace_is_over(container, now=now):
        return rows.none()
    session = Session.objects.filter(container=container, external_id=OuterRef("session_ref"))
    lost = rows.filter(session__isnull=True, session_ref__isnull=False, created_at__lt=now - _grace())
    return lost.filter(~Exists(session))
