"""Vectors of long-term memories, kept in their rows, so that they go where the memory goes. A memory with a new text waits again."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from memadmin.store.models import LongTermMemory

WAITS = ""  # in the place of the model


def missing() -> dict[str, Any]:
    """Return the columns of a memory whose text is new: waiting for a vector, where there is an endpoint to make one."""
    return {"embedding": None, "embedding_model": WAITS if settings.EMBEDDING_URL else None}


def waiting() -> QuerySet[Any]:
    """Return the memories that wait for a vector, the oldest rows first."""
    return LongTermMemory.objects.filter(embedding_model=WAITS).order_by("id")


def ask_again(model: str, *, after: int, limit: int) -> int | None:
    """Let the next `limit` memories behind a key wait that have no vector of this model; return the last key looked at, None at the end."""
    keys = list(LongTermMemory.objects.filter(id__gt=after).order_by("id").values_list("id", flat=True)[:limit])
    others = Q(embedding_model=None) | ~Q(embedding_model__in=[model, WAITS])
    LongTermMemory.objects.filter(others, id__in=keys).update(embedding=None, embedding_model=WAITS)
    return keys[-1] if keys else None


@transaction.atomic
def keep(memories: Iterable[LongTermMemory], vectors: Iterable[Sequence[float]], *, model: str) -> int:
    """Store a vector for each memory whose text is still the one it was made of; return how many there were."""
    kept = 0
    for memory, vector in zip(memories, vectors, strict=True):
        rows = LongTermMemory.objects.filter(pk=memory.pk, text=memory.text)
        kept += rows.update(embedding=packed(vector), embedding_model=model)
    return kept


def give_up(memories: Iterable[LongTermMemory], *, model: str) -> None:
    """Let memories that the model does not take wait no longer. They have no vector until their text changes."""
    for memory in memories:
        LongTermMemory.objects.filter(pk=memory.pk, text=memory.text).update(embedding_model=model)


def packed(vector: Sequence[float]) -> bytes:
    """Return the vector at length 1, as 4-byte floats: the likeness of two is then a sum of products. A vector of zeros stays one."""
    length = math.sqrt(math.fsum(number * number for number in vector))
    return array("f", [number / length for number in vector] if length else vector).tobytes()


def unpacked(stored: bytes | memoryview) -> array[float]:
    numbers = array("f")
    numbers.frombytes(bytes(stored))
    return numbers
