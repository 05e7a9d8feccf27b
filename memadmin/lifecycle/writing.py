"""What agents write goes through here: a session, a payload in a session, a fact.

Sessions are known by the id that the agent gave them, within the container: who names the session of one user writes for that user,
and a session that was opened for nobody becomes the first named user's.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from django.db import transaction

from memadmin.lifecycle import embedding
from memadmin.store import appending, attribution, ingest
from memadmin.store.intake import Incoming, IncomingHistory, IncomingMemory, IncomingSession, IncomingWorking
from memadmin.store.models import Container, HistoryAction, LongTermMemory, Session, Subject, WorkingMemory
from memadmin.store.rows import row_of

_Row = TypeVar("_Row", Session, WorkingMemory, LongTermMemory)


class AmbiguousSession(Exception):
    """Several users have a session of this id, and nothing says whose is meant."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A session, and whether it was made by this call."""

    session: Session
    is_new: bool


@transaction.atomic
def open_session(container: Container, item: IncomingSession, *, actor: str, now: datetime) -> Opened:
    """Make a session. One of the same id that is there already stays as it is."""
    _serialise(container)
    found = _named(container, item.external_id)
    if found:
        return Opened(found[0], is_new=False)
    return Opened(_make(container, item, actor=actor, now=now), is_new=True)


def add_working(container: Container, item: IncomingWorking, *, actor: str, now: datetime) -> WorkingMemory:
    """Store a payload; a session that it names is made if it is missing, and grows young. Raises AmbiguousSession."""
    has_a_name = item.uid is not None or item.external_id is not None  # then it may be there already
    item = replace(item, uid=item.uid or uuid.uuid4())
    if item.session_ref and container.sessions_enabled and not has_a_name:
        memory = appending.append(container, item, now=now)
        if memory is not None:
            return memory
    return _add_working(container, item, actor=actor, now=now)


@transaction.atomic
def _add_working(container: Container, item: IncomingWorking, *, actor: str, now: datetime) -> WorkingMemory:
    in_session = bool(item.session_ref) and container.sessions_enabled
    items = _with_its_session(container, item, actor=actor, now=now) if in_session else [replace(item, session_gone=True)]
    written = ingest.write(container, items, actor=actor, now=now)
    if item.uid in written.aside:
        return _set_aside(WorkingMemory, container, items[-1])
    return WorkingMemory.objects.select_related("container", "subject", "session").get(container=container, uid=item.uid)


@transaction.atomic
def add_memory(container: Container, item: IncomingMemory, *, actor: str, now: datetime) -> LongTermMemory:
    """Store a fact, with the entry in its history that says so."""
    item = replace(item, uid=item.uid or uuid.uuid4())
    entry = IncomingHistory(
        user_id=item.user_id,
        owner=item.owner,
        memory_uid=item.uid,
        action=HistoryAction.ADD,
        after={"memory": item.text},
        actor=actor,
        created_at=item.created_at,
        namespace=item.namespace,
        tags=item.tags,
    )
    written = ingest.write(container, [item, entry] if container.history_enabled else [item], actor=actor, now=now)
    if item.uid in written.aside:
        return _set_aside(LongTermMemory, container, item)
    embedding.request(actor=actor, now=now)
    return LongTermMemory.objects.select_related("container", "subject").get(container=container, uid=item.uid)


def _set_aside(model: type[_Row], container: Container, item: Incoming) -> _Row:
    """Return the row of something that was erased before and waits for a person: the agent has written it, and it has no key."""
    subject = Subject.objects.get(container=container, user_id=item.user_id)
    row = row_of(model, item, container_id=container.pk, subject_id=subject.pk, uid=item.uid)
    return model(**{name: value for name, value in row.items() if name != "stored_at"})


def _with_its_session(container: Container, item: IncomingWorking, *, actor: str, now: datetime) -> list[Incoming]:
    """Return the payload as its session's user's, and the session if it has to be made."""
    by_user = _by_user(container, item.session_ref)
    if item.user_id not in by_user:
        _serialise(container)  # two first payloads at once must find one session
        by_user = _by_user(container, item.session_ref)
    if item.user_id in by_user:
        return [item]
    if item.user_id is None and len(by_user) > 1:
        raise AmbiguousSession(f"{len(by_user)} users have a session of this id. Say in the namespace whose is meant (user_id).")
    if item.user_id is None and by_user:
        return [replace(item, user_id=next(iter(by_user)))]
    if item.user_id is not None and None in by_user:
        attribution.give_session(by_user[None], item.user_id, actor=actor, now=now)
        return [item]
    new = IncomingSession(
        user_id=item.user_id,
        external_id=item.session_ref,
        owner=item.owner,
        namespace=item.namespace,
        created_at=item.created_at,
        last_updated_at=item.created_at,
    )
    return [_named_apart(new), item]


def _by_user(container: Container, external_id: str | None) -> dict[str | None, Session]:
    return {session.subject.user_id: session for session in _named(container, external_id)}


def _named_apart(item: IncomingSession) -> IncomingSession:
    """A session of nobody may become somebody's: were its uid made from its id, the next one of nobody with that id would have it too."""
    return replace(item, uid=uuid.uuid4()) if item.user_id is None and item.uid is None else item


def _make(container: Container, item: IncomingSession, *, actor: str, now: datetime) -> Session:
    written = ingest.write(container, [_named_apart(item)], actor=actor, now=now)
    if written.aside:
        return _set_aside(Session, container, replace(item, uid=next(iter(written.aside))))
    sessions = Session.objects.select_related("container", "subject")
    made: Session = sessions.get(container=container, external_id=item.external_id, subject__user_id=item.user_id)
    return made


def _named(container: Container, external_id: str | None) -> list[Session]:
    named = Session.objects.filter(container=container, external_id=external_id).select_related("container", "subject")
    return list(named.order_by("id")[:100])


def _serialise(container: Container) -> None:
    Container.objects.select_for_update(no_key=True).get(pk=container.pk)
