"""From a customer to the items of the store: which chats there were, when, and what was kept of each.

Everything follows from the seed and the customer. Only the times depend on `as_of`, so that ages are those of today.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random

from memadmin.demo import words
from memadmin.demo.customers import Customer
from memadmin.demo.scenes import Chat, Scene
from memadmin.demo.scribe import Scribe
from memadmin.demo.topics import Fact, Topic
from memadmin.store.ingest import Arrival
from memadmin.store.intake import IncomingUser

Outline = tuple[Topic, tuple[Fact, ...]]
KEPT = 0.85  # how often a fact that was said is kept


def write_customer(customer: Customer, scene: Scene) -> Iterator[Arrival]:
    """Yield everything that the store holds about one customer, the newest chat first."""
    rng = Random(f"{scene.seed}/{scene.name}/{customer.code}")
    if not customer.memories:
        yield IncomingUser(user_id=customer.user_id)
    outline = plan(customer, rng)
    scribe = Scribe(customer, scene, rng, planned=(fact for _, facts in outline for fact in facts))
    for chat in held(outline, customer, scene, rng):
        yield from scribe.write(chat)


def plan(customer: Customer, rng: Random) -> list[Outline]:
    """Return topics with what is kept of each: together all the memories of the customer."""
    outline: list[Outline] = []
    left = customer.memories
    while left > 0:
        for topic in customer.topics if customer.told_once else rng.choices(customer.topics, [each.weight for each in customer.topics]):
            kept = topic.outcome if customer.told_once else tuple(fact for fact in topic.outcome if rng.random() < KEPT)
            kept = kept[:left] or topic.outcome[:1]
            left -= len(kept)
            outline.append((topic, kept))
    return outline


def held(outline: list[Outline], customer: Customer, scene: Scene, rng: Random) -> Iterator[Chat]:
    """Yield the planned chats with their time and details, the newest first."""
    ages = sorted(_age(customer, rng) for _ in outline)
    for number, ((topic, facts), days) in enumerate(zip(outline, ages, strict=True)):
        ref = f"{customer.code}-{len(outline) - number:04}"
        yield Chat(topic, facts, ref, scene.as_of - timedelta(days=days), words.draw(rng))


def _age(customer: Customer, rng: Random) -> float:
    """Return the age of a chat in days."""
    at = rng.random()
    for share, youngest, oldest in customer.ages:
        if at < share:
            return youngest + (oldest - youngest) * at / share
        at -= share
    return customer.ages[-1][2]
