"""How large a demo, from which seed, as of when: all that its rows follow from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from memadmin.demo import chats, customers, oddities, pharmacy, side_shops, worked_example
from memadmin.demo.scenes import Scene
from memadmin.store.ingest import Arrival

MAIN, CLINIC, LOYALTY = "pharmacy-support", "clinic-booking", "loyalty-chat"
MEMORIES_PER_USER = 25
MOST = 100_000_000
_NAMESPACE = UUID("5b1f3c0e-9a64-5d0b-8c1e-6f2d7a904b11")
_CAST_MEMORIES = worked_example.MEMORIES + oddities.MEMORIES + sum(customer.memories for customer in customers.CAST)
_CAST_USERS = 1 + len(customers.CAST)
# From here on only some chats of ordinary customers come with their messages and history; of the others the memories alone are left.
WHOLE_UP_TO, WHOLE_BEYOND = 50_000, 0.25
CAST_FROM_USERS, CAST_FROM_MEMORIES = 40, 1_500  # below this everybody is an ordinary customer


class BadRecipe(ValueError):
    """A number is out of range; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Recipe:
    users: int
    memories: int
    seed: int
    as_of: datetime

    @classmethod
    def of(cls, *, users: int | None, memories: int | None, seed: int | None, as_of: datetime) -> Recipe:
        """Return the recipe for what is given; the rest takes its default. Raises BadRecipe."""
        if users is None:
            users = 200 if memories is None else max(1, memories // MEMORIES_PER_USER)
        memories = users * MEMORIES_PER_USER if memories is None else memories
        if not 1 <= users <= MOST or not 0 <= memories <= MOST:
            raise BadRecipe(f"A demo has 1 to {MOST:,} users and 0 to {MOST:,} memories, not {users:,} and {memories:,}.")
        return cls(users, memories, 1 if seed is None else seed, as_of)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Recipe:
        return cls(**{**document, "as_of": datetime.fromisoformat(document["as_of"])})

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "as_of": self.as_of.isoformat()}

    @property
    def has_cast(self) -> bool:
        """True when it is large enough for the worked example and the customers with special ids."""
        return self.users >= CAST_FROM_USERS and self.memories >= CAST_FROM_MEMORIES

    @property
    def whole(self) -> float:
        """Return the share of ordinary chats of which everything is kept."""
        return 1.0 if self.memories <= WHOLE_UP_TO else WHOLE_BEYOND

    def uid(self, name: str) -> UUID:
        """Return the uid of a container: the same recipe makes the same rows, whatever the day."""
        return uuid5(_NAMESPACE, f"{name}/{self.seed}/{self.users}/{self.memories}")

    def items(self, name: str, *, actor: str) -> Iterator[Arrival]:
        """Yield everything that one of the containers holds."""
        scene = Scene(self.uid(name), name, self.seed, self.as_of, actor)
        if name == MAIN and self.has_cast:
            yield from worked_example.write_worked_example(scene)
            yield from oddities.write_oddities(scene)
            for customer in customers.CAST:
                yield from chats.write_customer(customer, scene)
        scene = replace(scene, whole=self.whole)
        users, memories = self.ordinary(name)
        topics = {MAIN: pharmacy.PHARMACY, CLINIC: side_shops.CLINIC, LOYALTY: side_shops.LOYALTY}[name]
        for customer in customers.ordinary_customers(users, memories, seed=self.seed, topics=topics):
            yield from chats.write_customer(customer, scene)

    def ordinary(self, name: str) -> tuple[int, int]:
        """Return how many ordinary customers a container has, and how many memories these have together."""
        clinic, loyalty = min(12, self.users * 6 // 100), min(8, self.users * 4 // 100)
        each = min(5, self.memories // self.users)
        if name != MAIN:
            return (clinic, clinic * each) if name == CLINIC else (loyalty, loyalty * each)
        cast_users, cast_memories = (_CAST_USERS, _CAST_MEMORIES) if self.has_cast else (0, 0)
        return self.users - clinic - loyalty - cast_users, self.memories - (clinic + loyalty) * each - cast_memories
