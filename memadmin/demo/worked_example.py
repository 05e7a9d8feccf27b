"""The example of "Memory Eviction Policies in ADK Java", section "Worked example", as one customer of the pharmacy.

498 memories of 70 tokens on average, and six new ones from a chat about a delayed order: 504 of at most 500. Under the
default relevance rule four have to go, and it is four old notes that go, not the new small talk, nor the pinned allergy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random

from memadmin.demo import chats, pharmacy, words
from memadmin.demo.customers import RECENT, Customer
from memadmin.demo.kinds import ADDRESS, ALLERGY, COMPLAINT, QUESTION, SMALL_TALK
from memadmin.demo.scenes import Chat, Scene
from memadmin.demo.scribe import Scribe
from memadmin.demo.topics import Fact, Topic
from memadmin.store.ingest import Arrival
from memadmin.store.intake import IncomingMemory, IncomingPin, IncomingSession

USER_ID = "rosa.delgado"
NEW, OLD_NOTES, ALLERGIES = 6, 4, 1
MEMORIES = 498 + NEW
_DULL = {"opening-hours", "allergy", "chit-chat", "price"}
_USUAL = tuple(topic for topic in pharmacy.PHARMACY if topic.name not in _DULL)
# A token more than the average: the notes written out below are shorter.
_CUSTOMER = Customer(USER_ID, "rosa", 498 - OLD_NOTES - ALLERGIES, _USUAL, RECENT, tokens=71, tidy=True)

_TODAY = Topic(
    name="delayed-order",
    weight=1,
    summary="Order D-48213 was delayed. New delivery address, and a complaint about the courier.",
    exchanges=(
        ("Good morning! What weather. My order D-48213 has not come.", "Good morning! It is with BlueVan and has not moved since Monday."),
        ("I have moved: 7 Orchard Close, Ashford. Did they go to the old door?", "They did. I have changed the address and sent it again."),
        ("The driver never rings, he only leaves a card. It is always the same one.", "That must not be. I have opened a complaint."),
        ("Thank you, you are a treasure. Have a lovely day!", "Thank you, and the same to you!"),
    ),
    facts=(
        Fact(ADDRESS, 1, "Delivery address: 7 Orchard Close, Ashford. Order D-48213 is sent there again."),
        Fact(COMPLAINT, 2, "The driver of BlueVan does not ring the bell but leaves a card; a complaint was opened under D-48213."),
        Fact(SMALL_TALK, 0, "Said good morning."),
        Fact(SMALL_TALK, 0, "Remarked on the weather."),
        Fact(SMALL_TALK, 3, "Called the agent a treasure."),
        Fact(SMALL_TALK, 3, "Wished a lovely day."),
    ),
)
_LONG_AGO = Topic(
    name="opening-hours",
    weight=1,
    summary="Asked for the opening hours of the Mill Lane branch.",
    exchanges=(
        ("Hello, the bus is late again. How long are you open on Saturday?", "The Mill Lane branch is open until 13:00 on Saturday."),
        ("Do you sell postage stamps, too?", "No, but the kiosk opposite does."),
        ("The new colour of your shop front is pretty.", "Thank you! We were not sure about the green."),
    ),
    facts=(
        Fact(QUESTION, 0, "Asked once how long the Mill Lane branch is open on Saturday (until 13:00)."),
        Fact(QUESTION, 1, "Asked whether the Mill Lane branch sells postage stamps."),
        Fact(SMALL_TALK, 0, "Mentioned that the bus was late again."),
        Fact(SMALL_TALK, 2, "Said that the new colour of the shop front is pretty."),
    ),
)
_FIRST_CALL = Topic(
    name="allergy",
    weight=1,
    summary="First contact: opened an account and told us about an allergy to penicillin.",
    exchanges=(
        ("I must not have penicillin: my lips swell and I get a rash.", "Thank you, it stands at the top of your record from now on."),
    ),
    facts=(Fact(ALLERGY, 0, "Allergic to penicillin: swollen lips and a rash. Never suggest or send anything that contains it."),),
)
# Hits, and days since the last recall (None: never recalled), of the memories written out above.
_USE: dict[str, tuple[int, int | None]] = {
    **{f"mem-rosa-today-{number}": (0, None) for number in range(NEW)},
    "mem-rosa-notes-0": (1, 247),  # the opening hours: read once, eight months ago
    "mem-rosa-notes-1": (0, None),
    "mem-rosa-notes-2": (0, None),
    "mem-rosa-notes-3": (1, 262),
    "mem-rosa-first-0": (37, 2),
}


def write_worked_example(scene: Scene) -> Iterator[Arrival]:
    """Yield everything about the customer: 504 memories with their chats, the newest first."""
    rng = Random(f"{scene.seed}/{USER_ID}")
    outline = chats.plan(_CUSTOMER, rng)
    scribe = Scribe(_CUSTOMER, scene, rng, planned=(fact for facts in (_TODAY.facts, *(kept for _, kept in outline)) for fact in facts))

    def told(topic: Topic, name: str, ago: timedelta) -> Iterator[Arrival]:
        chat = Chat(topic, topic.facts, f"rosa-{name}", scene.as_of - ago, words.draw(rng))
        return (_as_used(arrival, scene) for arrival in scribe.write(chat))

    yield from told(_TODAY, "today", timedelta(minutes=20))
    for chat in chats.held(outline, _CUSTOMER, scene, rng):
        yield from scribe.write(chat)
    yield from told(_LONG_AGO, "notes", timedelta(days=285))
    yield from told(_FIRST_CALL, "first", timedelta(days=1150))


def _as_used(arrival: Arrival, scene: Scene) -> Arrival:
    if isinstance(arrival, IncomingSession) and arrival.external_id == "chat-rosa-first":
        pin = IncomingPin(reason="First contact: this is where the allergy was told.", actor=scene.actor, created_at=scene.as_of)
        return replace(arrival, pin=pin)
    if not isinstance(arrival, IncomingMemory):
        return arrival
    hits, days = _USE[str(arrival.external_id)]
    return replace(arrival, hits=hits, last_accessed_at=None if days is None else scene.as_of - timedelta(days=days))
