"""What an agent is given when it asks what it knows of a user: the memories that hold its words, the worthiest first.

Nothing that is past its time or superseded is found, and nothing in the archive. Reading here is what counts as an access.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, IntegerField, Value, When

from memadmin.recall.finding import HasWord
from memadmin.recall.touching import NOT_SAID, Occasion, touch
from memadmin.store import configuration, policies
from memadmin.store.models import Container, LongTermMemory, Subject
from memadmin.store.querysets import LongTermQuerySet
from memadmin.store.words import words_of
from retention.rules import RelevanceRule

MOST_WORDS = 64  # of a question; the rest adds nothing


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory, how many different words of the question it holds, and its retention score in millionths as before this recall."""

    memory: LongTermMemory
    words: int
    score: int


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent asks, of whom, and how much it takes. `owner` narrows to one writer's memories."""

    words: str
    user_id: str | None
    limit: int = 10
    owner: str | None = None
    occasion: Occasion = NOT_SAID


def recall(container: Container, question: Question, *, now: datetime) -> list[Recalled]:
    """Return the user's memories that answer a question, by words found, then by score, and note that they were recalled.

    Without a word in the question: the best by score.
    """
    subject = Subject.objects.filter(container=container, user_id=question.user_id).first()
    if subject is None:
        return []
    policy = policies.current(container)
    rule = policy.relevance if policy else None
    rows = _standing(LongTermMemory.objects.filter(container=container, subject=subject), rule, now=now)
    rows = rows if question.owner is None else rows.filter(owner=question.owner)
    words = words_of(question.words)[:MOST_WORDS]
    ranked = _ranked(rows.scored(rule or RelevanceRule(), now=now), words, asked=bool(question.words.strip()))
    found = [Recalled(memory, memory.words, memory.score) for memory in ranked.select_related("container", "subject")[: question.limit]]
    touch((one.memory.pk for one in found), now=now, occasion=question.occasion)
    return found


def _standing(rows: LongTermQuerySet, rule: RelevanceRule | None, *, now: datetime) -> LongTermQuerySet:
    """Leave out what a newer memory replaces, what is restricted, and what the policy will evict for its age as soon as it runs."""
    rows = rows.filter(superseded_by__isnull=True, restricted=False)
    if rule is None or rule.ttl is None or not configuration.value("retention_enabled"):
        return rows
    return rows.exclude(pinned=False, held=False, created_at__lt=now - rule.ttl)


def _ranked(rows: LongTermQuerySet, words: Iterable[str], *, asked: bool) -> LongTermQuerySet:
    holds = [HasWord("text", word) for word in words]
    found: Any = Value(0, IntegerField())
    for condition in holds:
        found = found + Case(When(condition, then=Value(1)), default=Value(0), output_field=IntegerField())
    rows = rows.annotate(words=found)
    return rows.filter(words__gt=0).order_by("-words", "-score", "id") if asked else rows.order_by("-score", "id")
