"""What a request may name, found for somebody: single items by their ids, and what is about a topic as a fixed list.

Whoever names something sees it, or it does not exist for them. Nothing here is widened: an id is one item, and words become the items that
have them now, for a person to look through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from memadmin.access.visibility import Viewer, visible_memories, visible_sessions, visible_working
from memadmin.erasure.intake import MOST_ITEMS, NobodyMeant, Thing, TooMany
from memadmin.erasure.moves import Refusal
from memadmin.store.models import Container, ItemType, Subject
from memadmin.store.said import texts_of
from memadmin.store.text import clean

SHORTEST_TOPIC = 3  # characters: fewer are in every second text
LOOKED_THROUGH = 100_000  # messages of one search, which no index helps
VISIBLE = {ItemType.SESSION: visible_sessions, ItemType.WORKING: visible_working, ItemType.LONG_TERM: visible_memories}
WORDS_OF_TYPE = {ItemType.SESSION: "session", ItemType.WORKING: "message", ItemType.LONG_TERM: "long-term memory"}

HOW_TO_NAME = "This names no item: write sessions/UID, working/UID or long-term/UID."


class TopicTooShort(Refusal):
    """Words that are in every second text are no topic."""

    code = "topic_too_short"


def things_named(viewer: Viewer, names: Iterable[str]) -> list[Thing]:
    """Return the items named as `long-term/<uid>`, each once. Raises NobodyMeant, TooMany."""
    wanted = dict.fromkeys(names)
    if len(wanted) > MOST_ITEMS:
        raise TooMany(f"{len(wanted):,} are more than one request may name: {MOST_ITEMS:,}.")
    by_type: dict[ItemType, list[UUID]] = {}
    for name in wanted:
        item_type, uid = _read(name)
        by_type.setdefault(item_type, []).append(uid)
    return [thing for item_type, uids in by_type.items() for thing in _found(viewer, item_type, uids)]


def things_about(viewer: Viewer, topic: str, container: Container, subject: Subject | None = None) -> list[Thing]:
    """Return the sessions, messages and memories of a container, or of one user in it, that have these words, whatever their case.

    A session by its summary; what was said by its own message. Raises TopicTooShort, TooMany.
    """
    words = clean(topic).strip()
    if len(words) < SHORTEST_TOPIC:
        raise TopicTooShort(f"Give at least {SHORTEST_TOPIC} characters: fewer are in every second text.")
    mine = Q(container=container) if subject is None else Q(container=container, subject=subject)
    found = [*_having(visible_memories(viewer).filter(mine), ItemType.LONG_TERM, "text", words)]
    found += _having(visible_sessions(viewer).filter(mine), ItemType.SESSION, "summary", words)
    found += _said(visible_working(viewer).filter(mine), words)
    if len(found) > MOST_ITEMS:
        raise TooMany(f"More than {MOST_ITEMS:,} items have these words. Name a user, or more of the words.")
    return found


def _read(name: str) -> tuple[ItemType, UUID]:
    kind, _, uid = name.partition("/")
    try:
        item_type, named = ItemType(kind), UUID(uid)
    except ValueError:
        raise NobodyMeant(HOW_TO_NAME) from None
    if item_type not in VISIBLE:
        raise NobodyMeant(HOW_TO_NAME)
    return item_type, named


def _found(viewer: Viewer, item_type: ItemType, uids: list[UUID]) -> list[Thing]:
    columns = ("uid", "container_id", "subject_id")
    things: dict[UUID, Thing] = {}
    for at in range(0, len(uids), 500):
        rows = VISIBLE[item_type](viewer).filter(uid__in=uids[at : at + 500]).values_list(*columns)
        things |= {uid: Thing(item_type, uid, container, subject) for uid, container, subject in rows}
    missing = [uid for uid in uids if uid not in things]
    if missing:
        others = f" ({len(missing) - 1:,} more are missing.)" if len(missing) > 1 else ""
        raise NobodyMeant(f"There is no {WORDS_OF_TYPE[item_type]} {missing[0]}: it has gone, or is something else.{others}")
    return [things[uid] for uid in uids]


def _having(rows: QuerySet[Any], item_type: ItemType, column: str, words: str) -> list[Thing]:
    having = rows.filter(**{f"{column}__icontains": words}).order_by("pk").values_list("uid", "container_id", "subject_id")
    return [Thing(item_type, *row) for row in having[: MOST_ITEMS + 1]]


def _said(rows: QuerySet[Any], words: str) -> Iterator[Thing]:
    wanted = words.casefold()
    columns = ("messages", "uid", "container_id", "subject_id")
    for number, (messages, *named) in enumerate(rows.order_by("-pk").values_list(*columns).iterator(chunk_size=500)):
        if number >= LOOKED_THROUGH:
            raise TooMany(f"There are more than {LOOKED_THROUGH:,} messages to look through. Name a user.")
        if any(wanted in text.casefold() for text in texts_of(messages)):
            yield Thing(ItemType.WORKING, *named)
