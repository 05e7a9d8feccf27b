"""What a person should know before a policy is carried out: rules that do nothing, and runs that do very much."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from django.db import connection
from django.db.models import Count, Max

from memadmin.lifecycle.housekeeping import acts_without_a_policy
from memadmin.lifecycle.second_person import Bounds, foresee
from memadmin.lifecycle.summarising.switch import why_inactive
from memadmin.lifecycle.totals import Totals, TypeTotals
from memadmin.lifecycle.warned import Warned
from memadmin.plurals import counted
from memadmin.store import configuration
from memadmin.store.models import Container, PolicyState, Subject
from retention.orphans import SESSIONS_CAP
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import COUNT_CAP, Reason

__all__ = ["NOUNS", "Warned", "about_rules", "warnings_of", "why_nothing_runs"]

NOUNS = {
    MemoryType.SESSIONS: "sessions",
    MemoryType.LONG_TERM: "long-term memories",
    MemoryType.HISTORY: "history entries",
    MemoryType.WORKING: "working memories",
}


def why_nothing_runs(container: Container) -> Warned | None:
    """Return what keeps every run of the container from evicting anything, or None."""
    settings = configuration.values()
    if settings["multi_tenancy_enabled"]:
        return Warned("multi_tenancy", "Nothing will run: multi-tenancy is on.")
    if not settings["retention_enabled"]:
        return Warned("retention_off", "Nothing will run: retention is off.")
    if container.policy_state == PolicyState.OPTED_OUT:
        return Warned("opted_out", "Nothing will run: this container is opted out of retention.")
    if container.policy_state == PolicyState.NEVER_SET and not acts_without_a_policy(container):
        return Warned("never_set", "Nothing will run: no policy has been published for this container.")
    return None


def warnings_of(container: Container, policy: RetentionPolicy, totals: Totals) -> tuple[Warned, ...]:
    """Return the warnings about a policy and what it would evict now, the loud ones first."""
    blocked, asked = why_nothing_runs(container), foresee(container, totals)
    found = [
        *([asked] if asked else []),
        *([blocked] if blocked else []),
        *_about_size(totals),
        *about_rules(container, policy, totals),
    ]
    return tuple(sorted(found, key=lambda warned: not warned.loud))


def about_rules(container: Container, policy: RetentionPolicy, totals: Totals) -> Iterator[Warned]:
    """Yield what is the matter with the rules themselves, whatever they take now: those that do nothing, contradict, or pins outdo."""
    yield from _about_idle_rules(container, policy, totals)
    yield from _about_contradictions(policy)
    yield from _about_pins(container, policy, totals)


def _about_size(totals: Totals) -> Iterator[Warned]:
    bounds = Bounds.now()
    for memory_type, each in totals.by_type.items():
        noun = NOUNS[memory_type]
        if each.total > bounds.items or each.total * 100 > each.stored * bounds.percent:
            share = f"{each.total * 100 / each.stored:.0f} %" if each.stored else "all"
            yield Warned(f"much.{memory_type}", f"This would evict {each.total:,} of {each.stored:,} {noun} ({share}).", loud=True)
        if each.left_for_later:
            yield Warned(f"capped.{memory_type}", f"One run takes at most {_most_of(memory_type)}: {backlog_in_words(each)}")
    oversized = totals.by_reason.get(Reason.OVERSIZED, 0)
    if oversized:
        yield Warned(
            "oversized", f"{_are(oversized, 'memory', 'memories')} alone larger than the token limit of a user and would go first."
        )


def _most_of(memory_type: MemoryType) -> str:
    if memory_type is MemoryType.WORKING:
        return f"the working memories of {SESSIONS_CAP:,} sessions that have gone"
    return f"{COUNT_CAP:,} {NOUNS[memory_type]} for the largest number"


def backlog_in_words(totals: TypeTotals) -> str:
    """Say how many runs it takes until nothing is left. Of working memories the sessions that have gone are counted."""
    return f"this is run 1 of {1 + ceil(totals.left_for_later / COUNT_CAP)}, {totals.left_for_later:,} are left for later ones."


def _about_idle_rules(container: Container, policy: RetentionPolicy, totals: Totals) -> Iterator[Warned]:
    limited = {memory_type for memory_type, rule in policy.rules.items() if rule.age_limit is not None or rule.count_limit is not None}
    if not limited and (policy.relevance is None or _has_no_limit(policy)):
        yield Warned("no_limits", "This policy has no limit: it evicts nothing.")
    sessions, history = totals.of(MemoryType.SESSIONS).stored, totals.of(MemoryType.HISTORY).stored
    if MemoryType.SESSIONS in limited and not container.sessions_enabled:
        old = f"It acts on the {sessions:,} that are there." if sessions else "There is none, so the rule does nothing."
        yield Warned("idle.sessions", f"The rule for sessions finds no new ones: this container keeps no sessions. {old}")
    if MemoryType.HISTORY in limited and not container.history_enabled:
        old = f"It acts on the {counted(history, 'entry', 'entries')} there." if history else "There is none, so the rule does nothing."
        yield Warned("idle.history", f"The rule for history finds no new entries: this container writes no history. {old}")
    summaries = why_inactive(container, policy)
    if summaries:
        yield summaries
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
            f"The TTL of {relevance.ttl.days} days counts from creation, the age limit of {rule.age_limit.days} days from the last change. "
            "So the age limit takes only what the TTL takes as early, and what has no time of creation or one after its last change.",
        )
    if rule.count_limit is not None and relevance.max_records is not None and rule.count_limit <= relevance.max_records:
        yield Warned(
            "shadowed.max_records",
            f"The whole container keeps {rule.count_limit:,} memories that are not pinned. So the limit of {relevance.max_records:,} "
            "for each user matters only to users with pinned ones, which it counts.",
        )


def _about_pins(container: Container, policy: RetentionPolicy, totals: Totals) -> Iterator[Warned]:
    for memory_type, each in totals.by_type.items():
        limit = policy.rule(memory_type).count_limit
        if limit is not None and each.pinned > limit:
            text = f"pinned count ({each.pinned:,}) exceeds max_count ({limit:,}) for {memory_type}: they are neither evicted nor counted."
            yield Warned(f"pinned.{memory_type}", text)
    yield from _about_pins_over_caps(container, policy)
    if totals.exempt_past_limit:
        yield Warned("pinned.past_limit", f"{_are(totals.exempt_past_limit, 'item', 'items')} past a limit and kept by a pin or a hold.")


def _about_pins_over_caps(container: Container, policy: RetentionPolicy) -> Iterator[Warned]:
    """Users whose pinned memories alone exceed a cap: no run can bring them under it."""
    rule = policy.relevance
    if rule is not None and rule.max_records is not None:
        over = Subject.objects.of_container(container).filter(pinned_long_term__gt=rule.max_records)
        users, held = over.aggregate(users=Count("id"), held=Max("pinned_long_term")).values()
        if users:
            yield Warned("pinned.max_records", _over_cap(users, held - rule.max_records, f"{rule.max_records:,} memories"))
    if rule is not None and rule.max_tokens is not None:
        weights = _tokens_of_pinned(container, over=rule.max_tokens)
        if weights:
            yield Warned("pinned.max_tokens", _over_cap(len(weights), max(weights) - rule.max_tokens, f"{rule.max_tokens:,} tokens"))


def _tokens_of_pinned(container: Container, *, over: int) -> list[int]:
    """Return what the pinned memories of each user weigh, where it is more than `over`. Found through the pins: no index lists them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT SUM(m.tokens) FROM store_pin p JOIN store_subject s ON s.id = p.subject_id AND s.tokens > %s "
            "JOIN store_longtermmemory m ON m.uid = p.target_uid AND m.subject_id = p.subject_id "
            "WHERE p.container_id = %s AND p.target_type = %s AND m.pinned GROUP BY p.subject_id HAVING SUM(m.tokens) > %s",
            [over, container.pk, MemoryType.LONG_TERM.value, over],
        )
        return [int(row[0]) for row in cursor.fetchall()]


def _over_cap(users: int, by: int, cap: str) -> str:
    if users == 1:
        return f"1 user stays over cap by {by:,}, all pinned: the cap is {cap}, and no run evicts a pinned one."
    return f"{users:,} users stay over cap, the worst by {by:,}, all pinned: the cap is {cap}, and no run evicts a pinned one."


def _are(number: int, one: str, many: str) -> str:
    return counted(number, f"{one} is", f"{many} are")
