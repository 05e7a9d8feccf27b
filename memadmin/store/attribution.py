"""A session that was made without a user becomes a user's: with its messages, its pin and its counters."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F, Sum

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import counters, ingest
from memadmin.store.held_copies import copy_to_arrivals
from memadmin.store.intake import IncomingUser
from memadmin.store.models import Pin, Session, Subject, WorkingMemory


@transaction.atomic
def give_session(session: Session, user_id: str, *, actor: str, now: datetime) -> None:
    """Move an unattributed session to a user of its container. Its uid stays."""
    ingest.write(session.container, [IncomingUser(user_id=user_id)], actor=actor, now=now)
    subject = Subject.objects.get(container_id=session.container_id, user_id=user_id)
    counters.lock([session.subject_id, subject.pk])
    if not Session.objects.filter(pk=session.pk, subject_id=session.subject_id).update(subject=subject, revision=F("revision") + 1):
        return  # somebody was faster
    working = WorkingMemory.objects.filter(session=session, subject_id=session.subject_id)
    rows, messages = working.count(), working.aggregate(sum=Sum("message_count"))["sum"] or 0
    working.update(subject=subject)
    pinned = Pin.objects.filter(target_uid=session.uid, subject_id=session.subject_id).update(subject=subject)
    moves = counters.Moves()
    moved = {"sessions": 1, "pinned_sessions": pinned, "working": rows, "messages": messages}
    moves.add(session.subject_id, **{name: -number for name, number in moved.items()})
    moves.add(subject.pk, **moved)
    moves.apply()
    copy_to_arrivals([session.uid, *WorkingMemory.objects.filter(session=session).values_list("uid", flat=True)])
    log.append(Action.SESSION_ATTRIBUTED, actor=actor, target=f"sessions/{session.uid}", at=now, counts={"working": rows})
    session.refresh_from_db()
