"""Put the loaded demo under retention, step by step as people would have done it: so there is something to see on every page.

First a policy that keeps for two years, and its run, whose victims lie in the archive; then the stricter policy that is in
force now, with a preview that waits. Each step looks whether it has been taken: an interrupted load goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memadmin.demo.recipe import Recipe
from memadmin.lifecycle import planning
from memadmin.lifecycle.models import Run, Trigger
from memadmin.lifecycle.stepping import advance
from memadmin.store import configuration, policies
from memadmin.store.models import Container, PolicyVersion
from retention.policy import MemoryType, RelevanceRule, RetentionPolicy, RetentionRule, digest

MOST_COUNT = 10_000_000
FIRST = RetentionPolicy(
    rules={MemoryType.SESSIONS: RetentionRule(retention_days=730, max_count=None)},
    relevance=RelevanceRule(ttl_days=730, max_records=None, max_tokens=None),
)


def present_policy(recipe: Recipe) -> RetentionPolicy:
    """Return the policy that is in force in the end: the default relevance rule, and limits of which each has victims."""
    history = int(recipe.memories * recipe.whole)
    return RetentionPolicy(
        rules={
            MemoryType.SESSIONS: RetentionRule(retention_days=180, max_count=None),
            MemoryType.LONG_TERM: RetentionRule(retention_days=None, max_count=None),
            MemoryType.HISTORY: RetentionRule(retention_days=None, max_count=min(max(history, 1), MOST_COUNT)),
        },
        relevance=RelevanceRule(),
    )


def has_begun(container: Container) -> bool:
    """True when all rows of the demo were there: from then on what is missing was evicted."""
    return PolicyVersion.objects.filter(container=container).exists()


def govern(container: Container, recipe: Recipe, *, demo: Iterable[Container], actor: str, now: datetime) -> bool:
    """Switch retention on, publish and run as told above; return whether the policy is in force.

    Where other containers live beside the `demo`'s, a switch that is off stays off, since turning it on could evict theirs.
    """
    alone = not Container.objects.exclude(pk__in=[each.pk for each in demo]).exists()
    if alone:
        configuration.change("retention_enabled", True, actor=actor, now=now)
    in_force = bool(configuration.value("retention_enabled"))
    policy = present_policy(recipe)
    if in_force:
        version = _publish_in_turn(container, policy, actor=actor, now=now)
    else:
        version = policies.save_draft(container, policy, actor=actor, now=now, note="Waits until retention is on")
    if not Run.objects.filter(policy_version=version).exists():
        planning.plan(container, policy, now=now, trigger=Trigger.PREVIEW, actor=actor, policy_version=version)
    return in_force


def _publish_in_turn(container: Container, policy: RetentionPolicy, *, actor: str, now: datetime) -> PolicyVersion:
    version = policies.published(container)
    if version is None:
        version = policies.publish(container, FIRST, actor=actor, now=now, base=None, note="Two years, to begin with")
    if version.digest == digest(FIRST):
        _carry_out(version, actor=actor, now=now)
        note = "Half a year of sessions, one year of memories"
        version = policies.publish(container, policy, actor=actor, now=now, base=version.number, note=note)
    return version


def _carry_out(version: PolicyVersion, *, actor: str, now: datetime) -> None:
    run = Run.objects.filter(policy_version=version).select_related("container").first()
    if run is None:
        run = planning.open_version(version, now=now, trigger=Trigger.COMMAND, actor=actor)
    while not advance(run, actor=actor, now=now):
        continue
