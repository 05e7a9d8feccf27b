"""How two policies differ, in sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memadmin.lifecycle.warnings import NOUNS
from retention.differing import RELEVANCE, RULE_FIELDS, Change, Effect, Value, changes
from retention.rules import MemoryType, RetentionPolicy

SAME = "Both say the same."


@dataclass(frozen=True, slots=True)
class Difference:
    """One change, and the sentence that a person reads."""

    change: Change
    sentence: str

    @property
    def effect(self) -> Effect:
        return self.change.effect


def differences(old: RetentionPolicy | None, new: RetentionPolicy | None) -> tuple[Difference, ...]:
    """Return what the new policy changes in the old one. None: no policy, which limits nothing."""
    return tuple(Difference(change, _sentence(change, new)) for change in changes(old, new))


def sentences_on(old: RetentionPolicy | None, new: RetentionPolicy | None) -> list[str]:
    """Return the sentences alone; that both say the same where nothing differs."""
    return [difference.sentence for difference in differences(old, new)] or [SAME]


def shown_value(field: str, value: Value) -> str:
    """Return the value of a field with its unit, as a table shows it."""
    if value is None:
        return "no rule" if field == RELEVANCE else "no limit"
    if field == RELEVANCE:
        return "a rule"
    return _UNITS[field.rpartition(".")[2]](value)


def label_of(field: str) -> str:
    """Return what a table calls a field."""
    if field in RULE_FIELDS:
        memory_type, name = RULE_FIELDS[field]
        return f"{NOUNS[memory_type].capitalize()}: {'age' if name == 'retention_days' else 'number'}"
    return _LABELS[field.rpartition(".")[2]]


def _sentence(change: Change, new: RetentionPolicy | None) -> str:
    if change.field in RULE_FIELDS:
        memory_type, name = RULE_FIELDS[change.field]
        return _on_age(NOUNS[memory_type], change) if name == "retention_days" else _on_number(memory_type, change)
    if change.field == RELEVANCE:
        return _on_relevance(new)
    return _of_each_user(change)


def _on_age(noun: str, change: Change) -> str:
    before, after = (_days(value) if value is not None else "" for value in (change.before, change.after))
    if not after:
        return f"{noun.capitalize()} no longer go by age; so far they went {before} after their last change."
    if not before:
        return f"{noun.capitalize()} now go {after} after their last change; so far they did not go by age."
    return f"{noun.capitalize()} go {after} after their last change instead of {before}."


def _on_number(memory_type: MemoryType, change: Change) -> str:
    unpinned = " that are not pinned" if memory_type is not MemoryType.HISTORY else ""
    noun = NOUNS[memory_type]
    if change.after is None:
        return f"{noun.capitalize()} no longer go by number; so far at most {change.before:,}{unpinned} were kept."
    if change.before is None:
        return f"At most {change.after:,} {noun}{unpinned} are kept now; so far they did not go by number."
    return f"At most {change.after:,} {noun}{unpinned} are kept instead of {change.before:,}."


def _on_relevance(new: RetentionPolicy | None) -> str:
    rule = new.relevance if new else None
    if rule is None:
        return "Scores decide nothing any more: the relevance rule is gone, and no user's memories go by it."
    limits = [f"{rule.max_records:,} memories"] if rule.max_records is not None else []
    limits += [f"{rule.max_tokens:,} tokens"] if rule.max_tokens is not None else []
    limits += [f"a life of {_days(rule.ttl_days)}"] if rule.ttl_days is not None else []
    most = f", at most {' and '.join(limits)}" if limits else ", without a limit"
    return f"Each user's long-term memories are judged by a relevance rule now{most}; so far there was none."


def _of_each_user(change: Change) -> str:
    name = change.field.rpartition(".")[2]
    if name in {"recency", "frequency", "importance"}:
        return f"{name.capitalize()} weighs {change.after:g} in a score instead of {change.before:g}."
    if name == "half_life_hours":
        return f"Recency halves after {_hours(change.after)} without a recall instead of {_hours(change.before)}."
    if name == "ttl_days":
        return _on_life(change)
    noun = "memories" if name == "max_records" else "tokens"
    if change.after is None:
        return f"A user may keep any number of {noun}; so far at most {change.before:,}."
    if change.before is None:
        return f"A user keeps at most {change.after:,} {noun} now; so far any number."
    return f"A user keeps at most {change.after:,} {noun} instead of {change.before:,}."


def _on_life(change: Change) -> str:
    if change.after is None:
        return f"A memory lives without an end now, as far as its age goes; so far for {_days(change.before)}."
    if change.before is None:
        return f"A memory lives for {_days(change.after)} now; so far its age since it was made did not count."
    return f"A memory lives for {_days(change.after)} instead of {_days(change.before)}."


def _days(value: Value) -> str:
    return "1 day" if value == 1 else f"{value:,} days"


def _hours(value: Value) -> str:
    days = float(value or 0) / 24
    return "1 day" if days == 1 else f"{days:,.12g} days"


_UNITS: dict[str, Callable[[Value], str]] = {
    "retention_days": _days,
    "ttl_days": _days,
    "max_count": lambda value: f"{value:,}",
    "max_records": lambda value: f"{value:,} memories",
    "max_tokens": lambda value: f"{value:,} tokens",
    "half_life_hours": _hours,
    "recency": lambda value: f"{value:g}",
    "frequency": lambda value: f"{value:g}",
    "importance": lambda value: f"{value:g}",
}
_LABELS = {
    "relevance": "Each user: relevance rule",
    "ttl_days": "Each user: life of a memory",
    "max_records": "Each user: memories",
    "max_tokens": "Each user: tokens",
    "half_life_hours": "Score: half-life",
    "recency": "Score: weight of recency",
    "frequency": "Score: weight of frequency",
    "importance": "Score: weight of importance",
}
