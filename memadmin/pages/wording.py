"""Rules and reasons in plain words."""

from __future__ import annotations

from datetime import timedelta

from memadmin.lifecycle.warnings import NOUNS
from memadmin.plurals import counted
from retention.rules import RULED, MemoryType, RelevanceRule, RetentionPolicy, RetentionRule
from retention.victims import Reason

_REASONS = {
    Reason.AGE: "older than the retention rule keeps",
    Reason.COUNT: "beyond the number that the retention rule keeps",
    Reason.TTL: "past its time to live",
    Reason.OVERSIZED: "larger than the user's whole token cap",
    Reason.MAX_RECORDS: "lowest score, beyond the user's cap of memories",
    Reason.MAX_TOKENS: "lowest score, beyond the user's cap of tokens",
    Reason.ORPHAN: "its session has gone",
    Reason.UNATTRIBUTED: "names no session, user or agent",
}
# The same behind a number above one, where that reads differently.
_OF_MANY = {
    Reason.TTL: "past their time to live",
    Reason.OVERSIZED: "larger than their user's whole token cap",
    Reason.MAX_RECORDS: "with the lowest scores, beyond a user's cap of memories",
    Reason.MAX_TOKENS: "with the lowest scores, beyond a user's cap of tokens",
    Reason.ORPHAN: "whose session has gone",
    Reason.UNATTRIBUTED: "that name no session, user or agent",
}


_OTHERS = {"summarised": "became part of a summary", "contradicted": "contradicted by what was said later"}  # not of a rule

UNREADABLE = "It says something that this program does not know, so no run carries it out."


def reason_in_words(name: str, *, number: int = 1) -> str:
    """Return what a reason means, of one item or of a number of them; a name that is no reason of ours is shown as it is."""
    if name not in set(Reason):
        return _OTHERS.get(name, name)
    reason = Reason(name)
    return _OF_MANY.get(reason, _REASONS[reason]) if number > 1 else _REASONS[reason]


_STOPS = {
    "InvalidPolicy": "the policy says something that this program does not know",
    "OperationalError": "the database failed (OperationalError)",
    "superseded": "a newer run of the container has taken its place",
    "approval_expired": "it had waited too long, for a second person or after their approval",
    "approval_void": "its list is not the one that was approved",
}


def stop_in_words(code: str) -> str:
    """Return why a run stopped; a code that has no words is shown as it is."""
    return _STOPS.get(code, code)


def strategy_in_words(name: str | None) -> str:
    """Return the kind of a memory as people say it: USER_PREFERENCE is "user preference"."""
    return " ".join((name or "").replace("_", " ").lower().split())


def sentences_of(policy: RetentionPolicy | None) -> list[str]:
    """Return what a policy does, one sentence for each memory type and rule kind. Pins are named where they matter.

    None is a stored policy that cannot be read.
    """
    if policy is None:
        return [UNREADABLE]
    said = [_rule_sentence(memory_type, policy.rule(memory_type)) for memory_type in RULED]
    said.append(_relevance_sentence(policy.relevance))
    if policy.relevance is not None:
        said.append(_score_sentence(policy.relevance))
    said.append("Pinned memories and sessions always stay.")
    return said


def _rule_sentence(memory_type: MemoryType, rule: RetentionRule) -> str:
    noun, age, count = NOUNS[memory_type], rule.age_limit, rule.count_limit
    since = "since their last change" if memory_type != MemoryType.HISTORY else "since they were written"
    messages = ", with their messages," if memory_type == MemoryType.SESSIONS else ""
    if age is None and count is None:
        return f"{noun.capitalize()} are kept, whatever their age and number."
    limits = []
    if age is not None:
        limits.append(f"when {days_in_words(age)} {'has' if age.days == 1 else 'have'} passed {since}")
    if count is not None:
        unpinned = " that are not pinned" if memory_type != MemoryType.HISTORY else ""
        limits.append(f"when there are more than {count:,} of them{unpinned}, the oldest first")
    return f"{noun.capitalize()}{messages} go {', or '.join(limits)}."


def _relevance_sentence(rule: RelevanceRule | None) -> str:
    if rule is None:
        return "No relevance rule: scores decide nothing."
    parts = []
    if rule.ttl is not None:
        parts.append(f"a long-term memory goes {days_in_words(rule.ttl)} after it was created")
    caps = [f"{rule.max_records:,} memories"] if rule.max_records is not None else []
    caps += [f"{rule.max_tokens:,} tokens"] if rule.max_tokens is not None else []
    if caps:
        parts.append(f"no user keeps more than {' or '.join(caps)}: the lowest scores go first")
    if not parts:
        return "The relevance rule has no limit: it scores memories and evicts none."
    return f"For each user, {', and '.join(parts)}."


def _score_sentence(rule: RelevanceRule) -> str:
    weights, days = rule.weights, rule.half_life_hours / 24
    shares = f"recency {weights.recency:g}, frequency {weights.frequency:g} and importance {weights.importance:g}"
    return f"Scores weigh {shares}; recency halves after {days:g} day{'' if days == 1 else 's'} without a recall."


def days_in_words(length: timedelta) -> str:
    return counted(length.days, "day")


def working_memories(number: int) -> str:
    return counted(number, "working memory", "working memories")


def changes_between(old: RetentionPolicy | None, new: RetentionPolicy) -> list[str]:
    """Return the sentences that a new policy says and the old one does not."""
    before = set(sentences_of(old)) if old else set()
    return [sentence for sentence in sentences_of(new) if sentence not in before]


_SUPPRESSED = {
    "fence": "An erasure of this person is running: nothing new is taken.",
    "block": "Somebody of this id was erased: nothing new is taken.",
    "quarantine": "Somebody of this id was erased: what arrives is set aside for a person to decide on.",
    "flag": "Somebody of this id was erased before. What is here came afterwards.",
}


def suppressed_in_words(mode: str) -> str:
    """Return what a page says of a user whose id was erased once; "" of anybody else."""
    return _SUPPRESSED.get(mode, "")
