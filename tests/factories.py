"""Plain functions that make what a test needs; each takes the one detail that matters."""

from datetime import UTC, datetime, timedelta
from typing import Any

from memadmin.store import ingest
from memadmin.store.intake import IncomingHistory, IncomingMemory, IncomingPin, IncomingSession, IncomingWorking
from memadmin.store.models import Container, LongTermMemory, Session, Subject

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACTOR = "person/00000000-0000-0000-0000-000000000001"


def days(number: float) -> timedelta:
    return timedelta(days=number)


def make_container(name: str = "pharmacy", **details: Any) -> Container:
    return ingest.create_container(name=name, actor=ACTOR, now=NOON, **details)


def a_pin(reason: str = "allergy") -> IncomingPin:
    return IncomingPin(reason=reason, actor=ACTOR, created_at=NOON)


def a_session(external_id: str = "s-1", *, user_id: str | None = "ann", days_old: float = 1, **details: Any) -> IncomingSession:
    return IncomingSession(user_id=user_id, external_id=external_id, **{"created_at": NOON - days(days_old), **details})


def a_message(
    text: str | None = "hello", *, user_id: str | None = "ann", session_ref: str | None = "s-1", **details: Any
) -> IncomingWorking:
    return IncomingWorking(
        user_id=user_id,
        session_ref=session_ref,
        **{"messages": [{"role": "user", "content": text}], "created_at": NOON - days(1), **details},
    )


def a_memory(text: str = "likes tea", *, user_id: str | None = "ann", days_old: float = 1, **details: Any) -> IncomingMemory:
    return IncomingMemory(user_id=user_id, text=text, **{"created_at": NOON - days(days_old), **details})


def a_change(text: str = "likes tea", *, user_id: str | None = "ann", **details: Any) -> IncomingHistory:
    return IncomingHistory(user_id=user_id, **{"action": "ADD", "after": {"memory": text}, "created_at": NOON, **details})


def store(container: Container, *items: Any, now: datetime = NOON) -> ingest.Written:
    return ingest.write(container, items, actor=ACTOR, now=now)


def make_memory(container: Container, text: str = "likes tea", **details: Any) -> LongTermMemory:
    """Store one long-term memory and return its row."""
    known = set(LongTermMemory.objects.values_list("id", flat=True))
    store(container, a_memory(text, **details))
    return LongTermMemory.objects.exclude(id__in=known).get()


def make_session(container: Container, external_id: str = "s-1", *, messages: int = 0, **details: Any) -> Session:
    """Store one session with so many messages and return its row."""
    item = a_session(external_id, **details)
    texts = [
        a_message(f"message {number}", user_id=item.user_id, session_ref=external_id, sequence=number, created_at=item.created_at)
        for number in range(messages)
    ]
    store(container, item, *texts)
    return Session.objects.get(container=container, external_id=external_id, subject__user_id=item.user_id)


def subject_of(container: Container, user_id: str | None = "ann") -> Subject:
    return Subject.objects.get(container=container, user_id=user_id)
