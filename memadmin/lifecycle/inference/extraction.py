"""From one working memory to long-term memories, by one strategy: extract facts, compare, add, update, delete.

Invariant: a pinned or held memory is never changed by a model, nor is one that changed while the model was thinking; then the
fact is added instead. What a model deletes goes into the archive like what a run evicts, and history has its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.lifecycle import embedding
from memadmin.lifecycle.inference import answers, prompts
from memadmin.lifecycle.inference.answers import Decision, Event
from memadmin.lifecycle.inference.similar import similar_memories
from memadmin.lifecycle.inference.strategies import Strategy
from memadmin.llm.client import Endpoint, chat
from memadmin.store import arrivals, counters, ingest, removal
from memadmin.store.intake import IncomingHistory, IncomingMemory, Source
from memadmin.store.models import Container, HistoryAction, ItemType, LongTermMemory, WorkingMemory
from memadmin.store.opening import Suppressed
from memadmin.store.removal import ArchiveNote, Chosen

ANSWER_TOKENS = 2_000
ACTOR = "job/infer"
REASON = "contradicted"


@dataclass(frozen=True, slots=True)
class Found:
    """What the model made of a working memory: a decision for each fact, over the memories it was shown."""

    decisions: Sequence[Decision]
    memories: Sequence[LongTermMemory]


def ask(working: WorkingMemory, strategy: Strategy, *, endpoint: Endpoint, most: int) -> Found:
    """Ask the model, outside of any transaction. Raises what `llm.client.chat` raises."""
    wanted = prompts.extraction(strategy, working.messages, most=most)
    facts = answers.read_facts(chat(endpoint, wanted, max_tokens=ANSWER_TOKENS), most=most)
    memories = similar_memories(working, strategy, facts) if facts else []
    if not memories:
        return Found([Decision(Event.ADD, fact) for fact in facts], [])
    answer = chat(endpoint, prompts.decision(facts, [memory.text for memory in memories]), max_tokens=ANSWER_TOKENS)
    return Found(answers.read_decisions(answer, facts=facts, memories=len(memories)), memories)


@transaction.atomic
def keep(working: WorkingMemory, strategy: Strategy, found: Found, *, user_id: str | None, now: datetime) -> Counter[Event]:
    """Carry the decisions out and return how many of each there were. The same decisions a second time change nothing.

    Nothing is kept of what the model read before its user was fenced or restricted, nor of a working memory that has gone since.
    """
    counters.lock([working.subject_id])
    if not _may_be_used(working):
        target = f"{ItemType.WORKING}/{working.uid}"
        log.append(Action.MEMORY_INFERRED, actor=ACTOR, target=target, at=now, outcome=Outcome.REFUSED, reason_code="source_gone")
        return Counter()
    container = Container.objects.get(pk=working.container_id)
    writing = _Writing(working, strategy, container, user_id, now)
    done: Counter[Event] = Counter()
    refused = 0
    for decision in found.decisions:
        memory = None if decision.memory is None else _unchanged(found.memories[decision.memory])
        event = Event.ADD if decision.memory is not None and memory is None else decision.event
        try:
            writing.carry_out(event, decision, memory)
            done[event] += 1
        except Suppressed:  # the model said again what was erased
            refused += 1
    if refused or any(number for event, number in done.items() if event is not Event.NONE):
        embedding.request(actor=ACTOR, now=now)
        counts = {event.lower(): number for event, number in done.items()} | ({"suppressed": refused} if refused else {})
        arrivals.note_refused(container, arrivals.Way.MODEL, refused, actor=ACTOR, now=now)
        log.append(Action.MEMORY_INFERRED, actor=ACTOR, target=f"{ItemType.WORKING}/{working.uid}", at=now, counts=counts)
    return done


def _may_be_used(seen: WorkingMemory) -> bool:
    """Whether the working memory is there, not restricted, and of the user it was of when the model read it."""
    same = WorkingMemory.objects.filter(pk=seen.pk, subject_id=seen.subject_id, restricted=False)
    return same.filter(subject__epoch=seen.subject.epoch).exists()


def _unchanged(seen: LongTermMemory) -> LongTermMemory | None:
    """Return the memory as it stands if the model may change it: neither pinned nor held, and as the model saw it."""
    return LongTermMemory.objects.filter(pk=seen.pk, revision=seen.revision, pinned=False, held=False).first()


@dataclass(frozen=True, slots=True)
class _Writing:
    working: WorkingMemory
    strategy: Strategy
    container: Container
    user_id: str | None
    now: datetime

    def carry_out(self, event: Event, decision: Decision, memory: LongTermMemory | None) -> None:
        if event is Event.ADD:
            self.add(decision.fact)
        elif event is Event.UPDATE and memory is not None:
            self.update(memory, decision.text)
        elif event is Event.DELETE and memory is not None:
            self.remove(memory)

    def add(self, text: str) -> None:
        uid = uuid5(self.working.uid, f"{self.strategy.id}\n{text}")  # the same fact from the same source is the same memory
        is_new = not LongTermMemory.objects.with_uids([uid]).exists()
        self._write(uid=uid, text=text, created_at=self.now)
        if is_new and self.container.history_enabled:
            self._note(uid, HistoryAction.ADD, after={"memory": text})

    def update(self, memory: LongTermMemory, text: str) -> None:
        if memory.text != text:
            self._write(uid=memory.uid, text=text, created_at=memory.created_at, of=memory)

    def remove(self, memory: LongTermMemory) -> None:
        chosen = Chosen(
            f"SELECT id, subject_id, revision, last_accessed_at, '{REASON}' AS reason FROM store_longtermmemory WHERE id = %s", [memory.pk]
        )
        if removal.remove_long_term(chosen, archive=self._archive()).items and self.container.history_enabled:
            self._note(memory.uid, HistoryAction.DELETE, before={"memory": memory.text})

    def _archive(self) -> ArchiveNote | None:
        days = self.container.archive_days
        return None if days is None else ArchiveNote(run_number=None, now=self.now, expires_at=self.now + timedelta(days=days))

    def _write(self, *, uid: UUID, text: str, created_at: datetime | None, of: LongTermMemory | None = None) -> None:
        incoming = IncomingMemory(
            user_id=self.user_id,
            uid=uid,
            external_id=of.external_id if of else None,
            owner=self.working.owner,
            namespace=self.strategy.scope(self.working.namespace),
            created_at=created_at,
            time_note=of.time_note if of else "",
            last_updated_at=self.now,
            text=text,
            parts=of.parts if of else None,
            author=of.author if of else None,
            strategy_id=self.strategy.id,
            strategy_type=self.strategy.type,
            tags=of.tags if of else self.working.tags,
            metadata=of.metadata if of else {},
            fact_key=of.fact_key if of else None,
            fact_version=of.fact_version if of else None,
            superseded_by=of.superseded_by if of else None,
            sources=(Source(item_type=ItemType.WORKING, uid=self.working.uid),),
        )
        ingest.write(self.container, [incoming], actor=ACTOR, now=self.now)

    def _note(self, uid: UUID, action: HistoryAction, *, before: object = None, after: object = None) -> None:
        entry = IncomingHistory(
            user_id=self.user_id,
            owner=self.working.owner,
            namespace=self.strategy.scope(self.working.namespace),
            memory_uid=uid,
            action=action,
            before=before,
            after=after,
            actor=ACTOR,
            tags=self.working.tags,
            created_at=self.now,
        )
        ingest.write(self.container, [entry], actor=ACTOR, now=self.now)
