"""Which memories a new fact may repeat or contradict: those of the same user, owner, strategy and scope, the most alike first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memadmin.lifecycle.inference.strategies import Strategy
from memadmin.store.models import LongTermMemory, WorkingMemory

LOOKED_AT = 500  # the newest ones of the scope
SHOWN = 20  # to the model


def similar_memories(working: WorkingMemory, strategy: Strategy, facts: Sequence[str]) -> list[LongTermMemory]:
    """Return at most SHOWN memories that share something with one of the facts, best first."""
    scope = strategy.scope(working.namespace)
    newest = (
        LongTermMemory.objects.filter(subject=working.subject_id, container=working.container_id)
        .filter(strategy_id=strategy.id, owner=working.owner, restricted=False)
        .order_by("-id")[:LOOKED_AT]
    )
    wanted = [grams(fact) for fact in facts]
    likeness = {memory: max(shared(grams(memory.text), fact) for fact in wanted) for memory in newest if _is_of(memory, scope)}
    alike = [memory for memory, share in likeness.items() if share > 0]
    return sorted(alike, key=lambda memory: (-likeness[memory], memory.pk))[:SHOWN]


def _is_of(memory: LongTermMemory, scope: Mapping[str, Any]) -> bool:
    return bool(memory.namespace == scope)


def grams(text: str) -> frozenset[str]:
    """Return a text's letters in threes, which serves scripts with and without blanks."""
    folded = " ".join(text.casefold().split())
    return frozenset(folded[at : at + 3] for at in range(max(len(folded) - 2, 1)))


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the shared part of both, 0 to 1 (Jaccard's index)."""
    return len(one & other) / len(one | other)
