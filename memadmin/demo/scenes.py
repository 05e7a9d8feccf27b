"""Where and about what the scribe writes: one container, and one chat in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memadmin.demo.topics import Fact, Topic

BETWEEN_EXCHANGES = timedelta(seconds=90)


@dataclass(frozen=True, slots=True)
class Scene:
    """What all items of one container have in common."""

    container_uid: UUID
    name: str
    seed: int
    as_of: datetime
    actor: str
    whole: float = 1.0  # the share of chats that are kept with session, messages and history

    @property
    def agent(self) -> str:
        return f"{self.name}-agent"


@dataclass(frozen=True, slots=True)
class Chat:
    topic: Topic
    facts: tuple[Fact, ...]  # what the agent kept of it
    ref: str
    began_at: datetime
    slots: dict[str, str]

    @property
    def session_ref(self) -> str:
        return f"chat-{self.ref}"

    def message_ref(self, exchange: int) -> str:
        return f"chat-{self.ref}-m{exchange}"

    def said_at(self, exchange: int) -> datetime:
        return self.began_at + exchange * BETWEEN_EXCHANGES

    def fill(self, text: str) -> str:
        filled = text.format_map(self.slots)
        return filled[0].upper() + filled[1:]
