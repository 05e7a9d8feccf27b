"""What one chat leaves behind: the session, its messages, the memories that came out of them, and their history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from memadmin.demo import words
from memadmin.demo.customers import Customer
from memadmin.demo.kinds import SMALL_TALK, SUMMARY, Kind
from memadmin.demo.scenes import Chat, Scene
from memadmin.demo.topics import Fact
from memadmin.store.identity import item_uid
from memadmin.store.ingest import Arrival
from memadmin.store.intake import IncomingHistory, IncomingMemory, IncomingPin, IncomingSession, IncomingWorking, Source
from memadmin.store.models import HistoryAction, ItemType, TimeNote

EXTRACTOR = "job/consolidate"
EXTRACTION = timedelta(seconds=40)
SESSION_PINNED, CHANGED, DOUBLE = 0.15, 0.08, 0.02
Sources = Mapping[int, tuple[Source, ...]]  # by exchange, and of the whole chat
ALL = -1
WRONG_CLOCK, UNDATED, DAY_ONLY = 0.003, 0.003, 0.005  # what agents send is not always perfect


class Scribe:
    """Writes down the chats of one customer from the newest to the oldest, so that of a changing fact it meets first what holds now."""

    def __init__(self, customer: Customer, scene: Scene, rng: Random, *, planned: Iterable[Fact] = ()) -> None:
        self.customer = customer
        self.scene = scene
        self.rng = rng
        self.common: dict[str, Any] = {"user_id": customer.user_id, "owner": scene.agent}
        self.user = {"user_id": customer.user_id}
        self.versions = Counter(fact.kind.fact_key for fact in planned)
        self.newer: dict[str, UUID] = {}

    def write(self, chat: Chat) -> Iterator[Arrival]:
        if self.scene.whole < 1 and self.rng.random() >= self.scene.whole:
            yield from (memory for _, memory in self._memories(chat, {}))
            return
        session = self._uid(ItemType.SESSION, chat.session_ref)
        messages = [self._uid(ItemType.WORKING, chat.message_ref(number)) for number in range(len(chat.topic.exchanges))]
        yield self.session(chat, session)
        for number, uid in enumerate(messages):
            yield self.working(chat, number, uid)
        whole = Source(item_type=ItemType.SESSION, uid=session)
        sources = {number: (Source(item_type=ItemType.WORKING, uid=uid), whole) for number, uid in enumerate(messages)}
        for fact, memory in self._memories(chat, {ALL: (whole,), **sources}):
            yield memory
            yield from self.history(chat, fact, memory)

    def _memories(self, chat: Chat, sources: Sources) -> Iterator[tuple[Fact, IncomingMemory]]:
        """A summary comes from the whole session, any other fact also from the message in which it was said."""
        for number, fact in enumerate(chat.facts):
            source = sources.get(ALL if fact.kind is SUMMARY else fact.exchange, ())
            yield fact, self.memory(chat, fact, f"mem-{chat.ref}-{number}", source)

    def session(self, chat: Chat, uid: UUID) -> IncomingSession:
        reason = chat.topic.pin_reason if self.rng.random() < SESSION_PINNED else None
        return IncomingSession(
            **self.common,
            external_id=chat.session_ref,
            uid=uid,
            namespace={**self.user, "session_id": chat.session_ref},
            created_at=chat.began_at,
            last_updated_at=chat.said_at(len(chat.topic.exchanges) - 1),
            summary=chat.fill(chat.topic.summary),
            agents={"agent_ids": [self.scene.agent]},
            metadata={"channel": words.pick(self.rng, ("web", "app", "phone")), "language": chat.topic.language},
            additional_info={"topic": chat.topic.name},
            state={"open": False},
            pin=self._pin(reason, chat.began_at, review_after=timedelta(days=365)) if reason else None,
        )

    def working(self, chat: Chat, number: int, uid: UUID) -> IncomingWorking:
        question, answer = chat.topic.exchanges[number]
        said_at = chat.said_at(number)
        return IncomingWorking(
            **self.common,
            external_id=chat.message_ref(number),
            uid=uid,
            session_ref=chat.session_ref,
            sequence=number,
            message_id=number,
            namespace={**self.user, "session_id": chat.session_ref},
            messages=[{"role": "user", "content": chat.fill(question)}, {"role": "assistant", "content": chat.fill(answer)}],
            created_at=said_at,
            last_updated_at=said_at,
            infer=True,
            tags={"topic": chat.topic.name},
        )

    def memory(self, chat: Chat, fact: Fact, ref: str, sources: tuple[Source, ...]) -> IncomingMemory:
        kind = fact.kind
        uid = self._uid(ItemType.LONG_TERM, ref)
        created_at = chat.said_at(fact.exchange) + EXTRACTION
        hits, last_accessed_at = self._use(created_at, kind.importance)
        text, tokens = self._sized(chat, fact)
        memory = IncomingMemory(
            **self.common,
            external_id=ref,
            uid=uid,
            namespace=self.user,
            created_at=created_at,
            last_updated_at=self._last_change(created_at),
            text=text,
            author=self.scene.agent,
            strategy_id=kind.strategy_id,
            strategy_type=kind.strategy,
            tags={"topic": chat.topic.name, "kind": kind.name},
            tokens=tokens,
            importance=kind.importance,
            importance_source=f"rule:{kind.name}",
            hits=hits,
            last_accessed_at=last_accessed_at,
            pin=self._pin(kind.pin_reason, created_at) if kind.pin_reason else None,
            sources=sources,
            **self._succession(kind, uid),
        )
        return self._with_flaw(memory)

    def history(self, chat: Chat, fact: Fact, memory: IncomingMemory) -> Iterator[IncomingHistory]:
        """Every memory was added; some were changed later; of some there was a second copy, which was deleted."""
        ref, added_at = str(memory.external_id), memory.created_at
        if memory.last_updated_at == added_at:
            yield self._change(memory, f"add-{ref}", at=added_at, after=memory.text)
        else:
            former = replace(chat, slots=words.draw(self.rng)).fill(fact.text)
            yield self._change(memory, f"add-{ref}", at=added_at, after=former)
            yield self._change(memory, f"update-{ref}", at=memory.last_updated_at, before=former, after=memory.text)
        if self.rng.random() < DOUBLE:
            double = replace(memory, uid=self._uid(ItemType.LONG_TERM, f"{ref}-double"), external_id=f"{ref}-double")
            yield self._change(double, f"add-{ref}-double", at=added_at, after=memory.text)
            yield self._change(double, f"delete-{ref}-double", at=added_at and added_at + EXTRACTION, before=memory.text)

    def _change(
        self, memory: IncomingMemory, ref: str, *, at: datetime | None, before: str | None = None, after: str | None = None
    ) -> IncomingHistory:
        action = HistoryAction.ADD if before is None else HistoryAction.DELETE if after is None else HistoryAction.UPDATE
        return IncomingHistory(
            **self.common,
            external_id=ref,
            namespace=self.user,
            created_at=at,
            memory_uid=memory.uid,
            memory_ref=memory.external_id,
            action=action,
            before=None if before is None else {"memory": before},
            after=None if after is None else {"memory": after},
            actor=EXTRACTOR,
            tags=memory.tags,
        )

    def _uid(self, item_type: ItemType, ref: str) -> UUID:
        return item_uid(self.scene.container_uid, item_type, self.customer.user_id, ref)

    def _pin(self, reason: str, at: datetime, *, review_after: timedelta | None = None) -> IncomingPin:
        return IncomingPin(
            reason=reason, actor=self.scene.actor, created_at=at, review_on=(at + review_after).date() if review_after else None
        )

    def _succession(self, kind: Kind, uid: UUID) -> dict[str, Any]:
        """A fact that changes has versions, and each is superseded by the next."""
        key = kind.fact_key
        if key is None:
            return {}
        version, superseded_by = self.versions[key], self.newer.get(key)
        self.versions[key] -= 1
        self.newer[key] = uid
        return {"fact_key": key, "fact_version": version, "superseded_by": superseded_by}

    def _use(self, created_at: datetime, importance: float) -> tuple[int, datetime | None]:
        """Return hits and last access: what matters more is recalled more often, and has been recalled lately."""
        if self.rng.random() < 0.35 * (1.4 - importance):
            return 0, None
        hits = int(math.exp(self.rng.random() * (1.5 + 3.5 * importance)))  # up to 150, few of them many
        age = self.scene.as_of - created_at
        return hits, self.scene.as_of - age * self.rng.random() ** (1 + 3 * importance)

    def _last_change(self, created_at: datetime) -> datetime:
        if self.rng.random() >= CHANGED:
            return created_at
        return created_at + (self.scene.as_of - created_at) * self.rng.random()

    def _sized(self, chat: Chat, fact: Fact) -> tuple[str, int | None]:
        """Add details, as talkative agents do; where the customer's memories have a usual size, up to that."""
        text, usual = chat.fill(fact.text), self.customer.tokens
        if fact.kind.importance <= SMALL_TALK.importance or chat.topic.language != "en":
            return text, None
        tokens = None if usual is None else round(usual * (0.8 + 0.4 * self.rng.random()))
        length = len(text) + int(self.rng.random() * 200) if tokens is None else int(3.6 * tokens)
        details = words.from_anywhere(self.rng, words.DETAILS)
        while len(text) < length - 50:
            text += " " + chat.fill(next(details))
        return text, tokens

    def _with_flaw(self, memory: IncomingMemory) -> IncomingMemory:
        """A clock ahead of ours, no date at all, a day without a time."""
        if self.customer.tidy:
            return memory
        at = self.rng.random()
        if at < WRONG_CLOCK:
            ahead = timedelta(hours=1 + 70 * self.rng.random())
            return replace(memory, last_accessed_at=self.scene.as_of + ahead, hits=max(memory.hits, 1))
        if at < WRONG_CLOCK + UNDATED:
            return replace(memory, created_at=None, last_updated_at=None)
        if at < WRONG_CLOCK + UNDATED + DAY_ONLY and memory.created_at:
            midnight = memory.created_at.replace(hour=0, minute=0, second=0, microsecond=0)
            return replace(memory, created_at=midnight, last_updated_at=midnight, time_note=TimeNote.DATE_ONLY)
        return memory
