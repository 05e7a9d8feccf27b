"""Which memories are nearest to a vector: compared one by one, exactly, among those that a search has narrowed down to."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from django.db.models import QuerySet

from memadmin.store import embeddings

COMPARED = 20_000  # memories of one search, some two seconds of work
FETCHED = 500


class TooMany(Exception):
    """More memories than one search compares; the message says what to do."""


@dataclass(frozen=True, slots=True, order=True)
class Near:
    """`likeness` is the cosine of the angle between the two texts' vectors, -1 to 1. Ordered by it, then by key."""

    likeness: float
    memory_id: int


def nearest(rows: QuerySet[Any], vector: Sequence[float], *, model: str, k: int, least: float = -1.0) -> list[Near]:
    """Return the `k` rows nearest to the vector, best first, none below `least`. Only vectors of the same model are compared.

    Raises TooMany.
    """
    with_vector = rows.filter(embedding_model=model, embedding__isnull=False).order_by()
    if len(with_vector.values_list("id")[: COMPARED + 1]) > COMPARED:
        raise TooMany(f"More than {COMPARED:,} memories would have to be compared. Narrow the search, to a user or a session for example.")
    wanted = embeddings.unpacked(embeddings.packed(vector))
    found = (
        Near(_likeness(wanted, stored), -key) for key, stored in with_vector.values_list("id", "embedding").iterator(chunk_size=FETCHED)
    )
    best = heapq.nlargest(k, (near for near in found if near.likeness >= least))
    return [Near(near.likeness, -near.memory_id) for near in best]


def _likeness(wanted: array[float], stored: bytes | memoryview) -> float:
    """Return the sum of products of two vectors of length 1. One of another dimension comes from another model of the same name: unlike."""
    other = embeddings.unpacked(stored)
    return sum(map(mul, wanted, other)) if len(other) == len(wanted) else -1.0
