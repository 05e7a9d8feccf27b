"""The policy that a container gets when nobody has set one: made of the installation's default limits, once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from memadmin.store import configuration, policies
from memadmin.store.models import Container, PolicyState, PolicyVersion
from retention.policy import RetentionPolicy, parse_policy

LIMITS = {
    "default_session_retention_days": ("sessions", "retention_days"),
    "default_session_max_count": ("sessions", "max_count"),
    "default_long_term_max_count": ("long-term", "max_count"),
    "default_history_max_count": ("history", "max_count"),
}


def default_policy(settings: Mapping[str, Any] | None = None) -> RetentionPolicy | None:
    """Return the policy that the default settings make, or None where none of them is above 0."""
    values = configuration.values() if settings is None else settings
    rules: dict[str, dict[str, int]] = {}
    for key, (memory_type, limit) in LIMITS.items():
        if values[key] > 0:
            rules.setdefault(memory_type, {})[limit] = values[key]
    return parse_policy({"retention": rules}) if rules else None


@transaction.atomic
def stamp(container: Container, *, actor: str, now: datetime) -> PolicyVersion | None:
    """Put the defaults in force in a container that has never had a policy. Raises RetentionIsOff."""
    policy = default_policy()
    locked = Container.objects.select_for_update().get(pk=container.pk)
    if policy is None or locked.policy_state != PolicyState.NEVER_SET:
        return None
    return policies.publish(container, policy, actor=actor, now=now, base=None, note="From the default settings")
