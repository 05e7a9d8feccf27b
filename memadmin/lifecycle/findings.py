"""Rules that do nothing, contradict each other or keep nothing, over all containers: what nobody would look for one by one."""

from __future__ import annotations

from collections.abc import Iterator

from memadmin.lifecycle import housekeeping
from memadmin.lifecycle.summing import sum_selections
from memadmin.lifecycle.totals import Totals
from memadmin.lifecycle.warned import Warned
from memadmin.lifecycle.warnings import about_rules
from memadmin.plurals import counted
from memadmin.store import configuration, defaults, drafts, policies
from memadmin.store.models import Container, PolicyState
from retention.rules import MemoryType, RetentionPolicy

SHORT_ARCHIVE = 7  # days: over a week somebody is there to notice what is missing


def findings_of(container: Container) -> list[Warned]:
    """Return what a person should look at in a container's rules, the loud ones first. Reads counters, looks for no victims."""
    totals = sum_selections(container, [], limit=0).totals
    found = [*_about_policy(container, totals), *_about_working(container), *_about_archive(container), *_about_schedule(container)]
    return sorted(found, key=lambda warned: not warned.loud)


def _about_policy(container: Container, totals: Totals) -> Iterator[Warned]:
    if container.policy_state == PolicyState.OPTED_OUT:
        yield Warned("opted_out", "Opted out: nothing is evicted by any rule, whatever the defaults say.")
    elif container.policy_state == PolicyState.NEVER_SET:
        yield from _without_policy(container)
    else:
        policy = policies.current(container)
        if policy is None:
            yield Warned("unreadable", "The policy in force cannot be read, so each run fails. Publish another one.", loud=True)
        else:
            yield from about_rules(container, policy, totals)
            yield from _about_strategies(container, policy, totals)


def _without_policy(container: Container) -> Iterator[Warned]:
    if defaults.default_policy():
        yield Warned("no_policy", "No policy yet: the next nightly run gives it the defaults, once.")
    elif not housekeeping.acts_without_a_policy(container):
        yield Warned("no_policy", "No policy, and there are no defaults: nothing is evicted, however much is stored.", loud=True)


def _about_strategies(container: Container, policy: RetentionPolicy, totals: Totals) -> Iterator[Warned]:
    """A container without strategies gets long-term memories and history from agents that write them by themselves, or not at all."""
    if isinstance(container.configuration, dict) and container.configuration.get("strategies"):
        return
    for memory_type, noun in ((MemoryType.LONG_TERM, "long-term memories"), (MemoryType.HISTORY, "history")):
        rule = policy.rule(memory_type)
        limited = rule.age_limit is not None or rule.count_limit is not None or (memory_type is MemoryType.LONG_TERM and policy.relevance)
        if limited and not totals.of(memory_type).stored:
            text = f"There are rules for {noun}, but none is stored, and the container has no strategy that would draw any from sessions."
            yield Warned(f"no_strategies.{memory_type}", text)


def _about_working(container: Container) -> Iterator[Warned]:
    off = configuration.value("working_memory_ttl_days") <= 0
    if not container.sessions_enabled and off and container.policy_state != PolicyState.OPTED_OUT:
        text = "It keeps no sessions, and no limit for working memories is set: they stay for ever. Set working_memory_ttl_days."
        yield Warned("no_working_ttl", text, loud=True)


def _about_archive(container: Container) -> Iterator[Warned]:
    if container.policy_state == PolicyState.OPTED_OUT:
        return
    days = container.archive_days
    if days is None:
        yield Warned("no_archive", "It keeps no archive: what is evicted is gone at once and cannot be restored.")
    elif days < SHORT_ARCHIVE:
        text = f"What is evicted can be restored for {counted(days, 'day')} only: shorter than a week, in which nobody may look."
        yield Warned("short_archive", text)


def _about_schedule(container: Container) -> Iterator[Warned]:
    version = drafts.scheduled(container)
    if version and version.base != policies.number_in_force(container):
        text = f"Version {version.number} is scheduled for {version.publish_at:%d %b %Y, %H:%M} UTC and will be refused: its base changed."
        yield Warned("schedule_refused", text, loud=True)
    elif version and not configuration.value("retention_enabled"):
        yield Warned("schedule_refused", f"Version {version.number} is scheduled and will be refused while retention is off.", loud=True)
