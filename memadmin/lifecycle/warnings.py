"""What a person should know before a policy is carried out: rules that do nothing, and runs that do very much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from memadmin.lifecycle.totals import Totals
from memadmin.store import configuration
from memadmin.store.models import Container, PolicyState, Subject
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import COUNT_CAP, Reason

MUCH_PERCENT = 10  # of what is stored of one type; from here on the warning is loud
MUCH_ROWS = 1_000
NOUNS = {MemoryType.SESSIONS: "sessions", MemoryType.LONG_TERM: "long-term memories", MemoryType.HISTORY: "history entries"}


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning: a code for machines, a sentence for people, and whether it must be seen before anything else."""

    code: str
    text: str
    loud: bool = False


def why_nothing_runs(container: Container) -> Warned | None:
    """Return what keeps every run of the container from evicting anything, or None."""
    settings = configuration.values()
    if settings["multi_tenancy_enabled"]:
        return Warned("multi_tenancy", "Nothing will run: multi-tenancy is on.")
    if not settings["retention_enabled"]:
        return Warned("retention_off", "Nothing will run: retention is off.")
    if container.policy_state == PolicyState.OPTED_OUT:
        return Warned("opted_out", "Nothing will run: this container is opted out of retention.")
    if container.policy_state == PolicyState.NEVER_SET:
        return Warned("never_set", "Nothing will run: no policy has been published for this container.")
    return None


def warnings_of(container: Container, policy: RetentionPolicy, totals: Totals) -> tuple[Warned, ...]:
    """Return the warnings about a policy and what it would evict now, the loud ones first."""
    blocked = why_nothing_runs(container)
    found = [
        *([blocked] if blocked else []),
        *_about_size(totals),
        *_about_idle_rules(container, policy, totals),
        *_about_contradictions(policy),
        *_about_pins(container, policy, totals),
    ]
    return tuple(sorted(found, key=lambda warned: not warned.loud))


def _about_size(totals: Totals) -> Iterator[Warned]:
    for memory_type, each in totals.by_type.items():
        noun = NOUNS[memory_type]
        if each.total > MUCH_ROWS or each.total * 100 > each.stored * MUCH_PERCENT:
            share = f"{each.total * 100 / each.stored:.0f} %" if each.stored else "all"
            yield Warned(f"much.{memory_type}", f"This would evict {each.total:,} of {each.stored:,} {noun} ({share}).", loud=True)
        if each.left_for_later:
            runs = 1 + ceil(each.left_for_later / COUNT_CAP)
            yield Warned(
                f"capped.{memory_type}",
                f"One run takes at most {COUNT_CAP:,} {noun} for the largest number: this is run 1 of {runs}, "
                f"{each.left_for_later:,} are left for later ones.",
            )
    oversized = totals.by_reason.get(Reason.OVERSIZED, 0)
    if oversized:
        yield Warned(
            "oversized", f"{_are(oversized, 'memory', 'memories')} alone larger than the token limit of a user and would go first."
        )


def _about_idle_rules(container: Container, policy: RetentionPolicy, totals: Totals) -> Iterator[Warned]:
    limited = {memory_type for memory_type, rule in policy.rules.items() if rule.age_limit is not None or rule.count_limit is not None}
    if not limited and (policy.relevance is None or _has_no_limit(policy)):
        yield Warned("no_limits", "This policy has no limit: it evicts nothing.")
    if MemoryType.SESSIONS in limited and not container.sessions_enabled:
        yield Warned("idle.sessions", "The rule for sessions does nothing: this container keeps no sessions.")
    if MemoryType.HISTORY in limited and not container.history_enabled:
        yield Warned("idle.history", "The rule for history does nothing new: this container writes no history.")
    if (MemoryType.LONG_TERM in limited or policy.relevance) and not totals.of(MemoryType.LONG_TERM).stored:
        yield Warned("idle.long_term", "The rules for long-term memories do nothing yet: there are none.")


def _has_no_limit(policy: RetentionPolicy) -> bool:
    rule = policy.relevance
    return rule is None or (rule.ttl_days is None and rule.max_records is None and rule.max_tokens is None)


def _about_contradictions(policy: RetentionPolicy) -> Iterator[Warned]:
    rule, relevance = policy.rule(MemoryType.LONG_TERM), policy.relevance
    if relevance is None:
        return
    if rule.age_limit is not None and relevance.ttl is not None and rule.age_limit >= relevance.ttl:
        yield Warned(
            "shadowed.age",
            f"The age limit of {rule.age_limit.days} days for long-term memories does nothing: the TTL of {relevance.ttl.days} days, "
            "which counts from creation, comes first.",
        )
    if rule.count_limit is not None and relevance.max_records is not None and rule.count_limit <= relevance.max_records:
        yield Warned(
            "shadowed.max_records",
            f"The limit of {relevance.max_records:,} memories for each user does nothing: the whole container keeps {rule.count_limit:,}.",
        )


def _about_pins(container: Container, policy: RetentionPolicy, totals: Totals) -> Iterator[Warned]:
    for memory_type, each in totals.by_type.items():
        limit = policy.rule(memory_type).count_limit
        if limit is not None and each.pinned > limit:
            text = f"pinned count ({each.pinned:,}) exceeds max_count ({limit:,}) for {memory_type}: they are neither evicted nor counted."
            yield Warned(f"pinned.{memory_type}", text)
    most = policy.relevance.max_records if policy.relevance else None
    users = Subject.objects.filter(container=container, pinned_long_term__gt=most).count() if most is not None else 0
    if users:
        yield Warned("pinned.max_records", f"{_are(users, 'user', 'users')} over the limit of {most:,} memories with pinned ones alone.")
    if totals.exempt_past_limit:
        yield Warned("pinned.past_limit", f"{_are(totals.exempt_past_limit, 'item', 'items')} past a limit and kept by a pin or a hold.")


def _are(number: int, one: str, many: str) -> str:
    return f"1 {one} is" if number == 1 else f"{number:,} {many} are"
