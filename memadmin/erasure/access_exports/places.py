"""Which places are content for the person, and in which order a reader wants them. What is not here comes last, as it is described."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.apps import apps

from memadmin.store import locations
from memadmin.store.locations import ItemClass, Location

READING_ORDER = (
    "store.subjects",
    "store.long_term",
    "store.sessions",
    "store.working",
    "store.history",
    "store.archive",
    "store.feedback",
    "store.recalls",
    "store.pins",
    "store.holds",
    "store.returned",
)
# What the register of places calls them is said for those who erase.
TITLES = {
    "store.subjects": "Who you are to the agents",
    "store.long_term": "What agents remember about you",
    "store.sessions": "Conversations, with their messages",
    "store.working": "Messages and data outside of a conversation",
    "store.history": "How these memories were changed",
    "store.archive": "Memories that are not used any more, kept for some days",
    "store.feedback": "What people reported about the agent's answers to you",
    "store.recalls": "When agents looked up memories of you",
    "store.pins": "Memories that somebody marked to be kept",
    "store.holds": "Restrictions on the use of your data",
    "store.returned": "What came back after an erasure and waits for a decision",
    "store.provenance": "Which memory came out of which",
}


def content_places() -> list[Location]:
    """Return the places whose rows are given to the person, in reading order: those with any column that is the person's own."""
    every = [place for place in locations.in_order() if is_content(place)]
    known = {name: at for at, name in enumerate(READING_ORDER)}
    return sorted(every, key=lambda place: known.get(place.name, len(known)))


def is_content(place: Location) -> bool:
    return place.find is not None and place.table in models_by_table() and ItemClass.OWNED in place.columns.values()


def title_of(name: str) -> str:
    known = locations.LOCATIONS.get(name)
    return TITLES.get(name) or (known.title if known else name)


@cache
def models_by_table() -> dict[str, Any]:
    return {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
