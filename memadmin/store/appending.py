"""The short way through the door in, for what agents do all day: one payload into a session that is there.

Row, counters and times are those of `ingest.write`, which a test compares; it takes four statements instead of twelve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection, transaction

from memadmin.store import counters
from memadmin.store.bulk import insert_row
from memadmin.store.ingest import row_of
from memadmin.store.intake import IncomingWorking
from memadmin.store.models import Container, WorkingMemory

_PLACE = (
    "SELECT s.id, s.subject_id, u.user_id FROM store_session s JOIN store_subject u ON u.id = s.subject_id "
    "WHERE s.container_id = %s AND s.external_id = %s ORDER BY u.id LIMIT 2"
)
_GROW = (
    "UPDATE store_session SET revision = revision + 1, "
    "last_updated_at = CASE WHEN last_updated_at IS NULL OR last_updated_at < %s THEN %s ELSE last_updated_at END "
    "WHERE id = %s AND subject_id = %s"
)


@dataclass(frozen=True, slots=True)
class _Place:
    session_id: int
    subject_id: int
    user_id: str | None


@transaction.atomic(savepoint=False)
def append(container: Container, item: IncomingWorking, *, now: datetime) -> WorkingMemory | None:
    """Store a payload that has a uid of its own in the one session of its name, and return the row.

    None, and nothing stored, where it is not as simple as that: then `ingest.write` finds out.
    """
    place = _place_of(container, item)
    if place is None or not _grow(place, item.last_updated_at or item.created_at):
        return None
    item = replace(item, user_id=place.user_id)
    row = row_of(
        WorkingMemory,
        item,
        container_id=container.pk,
        subject_id=place.subject_id,
        uid=item.uid,
        stored_at=now,
        session_id=place.session_id,
        message_count=len(item.messages),
    )
    memory = WorkingMemory(**row)
    memory.pk = insert_row(WorkingMemory, row)
    moves = counters.Moves()
    moves.add(place.subject_id, working=1, messages=len(item.messages))
    moves.apply()
    return memory


def _place_of(container: Container, item: IncomingWorking) -> _Place | None:
    """Find the session and lock its user. None if there is none of the name, or several, or it is somebody else's."""
    lock = " FOR UPDATE OF u" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(_PLACE + lock, [container.pk, item.session_ref])
        found = [_Place(*row) for row in cursor.fetchall()]
    if len(found) != 1 or item.user_id not in {None, found[0].user_id}:
        return None
    return found[0]


def _grow(place: _Place, when: datetime | None) -> bool:
    """New content makes a session young again. False if it has gone, or to another user, before its user was locked."""
    moment = connection.ops.adapt_datetimefield_value(when)
    with connection.cursor() as cursor:
        cursor.execute(_GROW, [moment, moment, place.session_id, place.subject_id])
        return bool(cursor.rowcount)
