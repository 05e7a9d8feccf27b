"""What a container goes by for working memories that no session carries away: those of containers without sessions, those whose session
has gone, and those that name nobody.

Source: OpenSearch memory retention, working memory TTL and orphan sweep. The TTL needs no policy, only that the container is not opted
out; orphans are looked for where a policy has a limit. What names no session, user or agent goes only where the container opted in.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from memadmin.store import configuration, policies
from memadmin.store.models import Container, PolicyState
from retention.orphans import Terms
from retention.policy import RetentionPolicy, digest

NO_POLICY = RetentionPolicy()  # what a container without a policy is judged by: only the TTL of working memories acts
NO_POLICY_DIGEST = digest(NO_POLICY)


def terms_of(container: Container, policy: RetentionPolicy) -> Terms:
    """Return what the container goes by if the policy were in force."""
    settings = configuration.values()
    if not container.sessions_enabled:
        return Terms(ttl=_limit(settings["working_memory_ttl_days"]))
    if not has_limits(policy):
        return Terms()
    return Terms(
        orphan_age=timedelta(days=settings["orphan_ttl_days"]),
        baseline_at=container.orphan_baseline_at,
        unattributed=container.removes_unattributed,
    )


def has_limits(policy: RetentionPolicy) -> bool:
    """Whether a policy has any rule that is not cleared: orphans of the others are left alone."""
    limited = any(rule.age_limit is not None or rule.count_limit is not None for rule in policy.rules.values())
    return limited or policy.relevance is not None


def acts_without_a_policy(container: Container) -> bool:
    """Whether working memories of a container expire although no policy was ever set for it."""
    return container.policy_state == PolicyState.NEVER_SET and terms_of(container, NO_POLICY).ttl is not None


def digest_in_force(container: Container) -> str | None:
    """Return the digest of what a run of the container goes by: the published policy, or none at all; None where nothing may run."""
    published = policies.published(container)
    if published is not None:
        return published.digest
    return NO_POLICY_DIGEST if acts_without_a_policy(container) else None


def start_clock(container: Container, policy: RetentionPolicy, *, now: datetime) -> None:
    """Note when orphans of the container were first looked for; it never moves again."""
    if container.sessions_enabled and has_limits(policy):
        Container.objects.filter(pk=container.pk, orphan_baseline_at__isnull=True).update(orphan_baseline_at=now)


def as_json(terms: Terms) -> dict[str, Any]:
    """Return the terms as a run keeps them. The baseline is left out: once set, it never moves."""
    return {"ttl_days": _days(terms.ttl), "orphan_days": _days(terms.orphan_age), "unattributed": terms.unattributed}


def _limit(days: int) -> timedelta | None:
    return timedelta(days=days) if days > 0 else None


def _days(length: timedelta | None) -> int | None:
    return None if length is None else length.days
