"""Why a memory is kept or about to go, in words, numbers and dates. All dates are of the case that nobody recalls it meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memadmin.lifecycle import explain
from memadmin.pages import wording
from memadmin.pages.standing import Standing
from memadmin.pages.times import span
from memadmin.store import hard_limits
from memadmin.store.models import Container, LongTermMemory, Session
from retention.rules import MemoryType
from retention.scoring import AccessBasis, Score, score
from retention.victims import Reason

SOON = timedelta(days=30)


@dataclass(frozen=True)
class Row:
    """One line of the sum, as a page shows it: points add up to the total to the last digit."""

    name: str
    raw: str
    weight: str
    points: str


@dataclass(frozen=True)
class Outlook:
    sentence: str
    words: str
    terms: list[Row]
    total: str
    line: str | None = None
    no_line: str = ""
    below: bool = False  # now, and nothing keeps it
    falls_below_at: datetime | None = None  # later than now
    marks: list[tuple[str, str]] = field(default_factory=list)  # text and tone of badges


def outlook_of(memory: LongTermMemory, standing: Standing, *, now: datetime) -> Outlook:
    """Return what the panel says of one memory."""
    rule = standing.rule
    facts = explain.facts_of(memory)
    scored = score(facts, weights=rule.weights, half_life=rule.half_life, now=now)
    line = explain.cut_line(standing.subject, standing.policy, now=now) if standing.policy else None
    reasons = explain.reasons_now(memory, standing.subject, standing.policy, now=now) if standing.policy else ()
    below = line is not None and scored.millionths < line and not (memory.pinned or memory.held)
    falls_below_at = None if line is None or memory.pinned or below else explain.falls_below(facts, line, rule, now=now)
    shown = scored.shown(places=3)
    points = shown.points
    return Outlook(
        sentence=sentence(memory, standing, reasons, now=now),
        words=in_words(memory, scored, now=now),
        terms=[
            Row(name=term.name, raw=f"{term.raw:.3f}", weight=f"{term.weight:g}", points=f"{100 * value:.1f}")
            for term, value in zip(scored.terms, points, strict=True)
        ],
        total=f"{100 * shown.total:.1f}",
        line=None if line is None else f"{line / 10_000:.1f}",
        no_line=_no_line(standing) if line is None else "",
        below=below,
        marks=[] if standing.blocked else _marks(reasons, falls_below_at, goes=standing.badge, now=now),
        falls_below_at=falls_below_at if falls_below_at and falls_below_at > now else None,
    )


def in_words(memory: LongTermMemory, scored: Score, *, now: datetime) -> str:
    """Say what the numbers say: "Last recalled 8 months ago, recalled once, low importance."."""
    read = {
        AccessBasis.UNDATED: "It has no date, which counts as just recalled",
        AccessBasis.FUTURE: "Its last recall lies in the future, which counts as now",
        AccessBasis.NEVER_READ: "Never recalled by an agent, which counts as recalled one half-life before it was made",
    }.get(scored.basis)
    if scored.basis is AccessBasis.NEVER_READ and memory.hits:
        read = "When it was last recalled is unknown, which counts as one half-life before it was made"
    if read is None and memory.last_accessed_at:
        read = f"Last recalled {span((now - memory.last_accessed_at).total_seconds())} ago"
    times = {0: "", 1: ", recalled once"}.get(memory.hits, f", recalled {memory.hits:,} times")
    level = "low" if memory.importance < 0.34 else "high" if memory.importance > 0.66 else "middling"
    return f"{read}{times}; {level} importance."


def sentence(memory: LongTermMemory, standing: Standing, reasons: tuple[Reason, ...], *, now: datetime) -> str:
    due = limit_dates(memory, standing)
    passed = limits_passed(memory, standing, now=now)
    if memory.pinned:
        return f"Pinned: no run evicts it{although_past(passed)}."
    if memory.restricted:
        return "Restricted: it stays as it is, no agent is given it, and nothing removes it."
    if memory.held:
        return "Held: nothing removes it."
    if standing.blocked:
        return f"It stays: {standing.blocked}."
    if reasons:
        return f"It goes {standing.with_which_run}, unless somebody pins it: {wording.reason_in_words(reasons[0])}."
    if due:
        name, at = min(due.items(), key=lambda item: item[1])
        return f"It stays for now. It reaches its {name} on {at:%d %b %Y}."
    return "It stays for now: no limit reaches it as things are."


def _marks(reasons: tuple[Reason, ...], falls_below_at: datetime | None, *, goes: str, now: datetime) -> list[tuple[str, str]]:
    """Return the flags of the panel: goes, or at risk because the line is near."""
    if reasons:
        return [("expired" if Reason.TTL in reasons else goes, "red")]
    return [("at risk", "yellow")] if falls_below_at and falls_below_at < now + SOON else []


def limits_passed(item: LongTermMemory | Session, standing: Standing, *, now: datetime) -> list[str]:
    """Return the names of the limits that a memory or session is past, whether or not a pin keeps it."""
    return [name for name, at in limit_dates(item, standing).items() if at < now]


def although_past(passed: list[str]) -> str:
    """Return what ends a sentence on a pin: that it is all that keeps the item."""
    return f", although it is past its {passed[0]}" if passed else ""


def is_past_hard_limit(item: LongTermMemory | Session, container: Container, *, now: datetime) -> bool:
    """Tell whether an item is put before people to be erased for its age, whatever keeps it from runs."""
    at = hard_limits.passes_at(item, container.hard_limit_days, now=now)
    return at is not None and at < now


def pinned_in_vain(item: LongTermMemory | Session, container: Container, *, now: datetime) -> str:
    """Return what to add to the words that something is pinned now, where the hard limit takes it all the same."""
    if not is_past_hard_limit(item, container, now=now):
        return ""
    return f" It is past the hard limit of {container.hard_limit_days:,} days, which a pin does not save it from."


def limit_dates(item: LongTermMemory | Session, standing: Standing) -> dict[str, datetime]:
    """Return the days on which a limit reaches a memory or session, by the limit's name. One that no calendar holds is left out."""
    is_session = isinstance(item, Session)
    ttl = standing.rule.ttl if standing.has_rule and not is_session else None
    rule = standing.policy.rule(MemoryType.SESSIONS if is_session else MemoryType.LONG_TERM) if standing.policy else None
    dates = {"time to live": _after(item.created_at, ttl), "age limit": _after(item.last_updated_at, rule.age_limit if rule else None)}
    return {name: at for name, at in dates.items() if at is not None}


def _after(since: datetime | None, limit: timedelta | None) -> datetime | None:
    if since is None or limit is None:
        return None
    try:
        return since + limit
    except OverflowError:  # past the year 9999
        return None


def _no_line(standing: Standing) -> str:
    rule, subject = standing.rule, standing.subject
    if not standing.has_rule:
        return "No relevance rule is in force, so no score decides anything here."
    if rule.max_records is None and rule.max_tokens is None:
        return "The policy sets no cap per user, so no score decides anything here."
    if standing.over_records or standing.over_tokens:
        return "There is no line, although this user is over a cap: without the expired ones the caps hold, or only pinned ones are left."
    held = [f"{subject.long_term:,} of {rule.max_records:,} memories"] if rule.max_records else []
    held += [f"{subject.tokens:,} of {rule.max_tokens:,} tokens"] if rule.max_tokens else []
    return f"There is no line: this user has {' and '.join(held)}. Scores decide only beyond the caps."
