"""The short way through the door in, for what agents do all day: one payload into a session that is there.

Row, counters and times are those of `ingest.write`, which a test compares; it takes four statements instead of twelve, and on PostgreSQL
a single one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from memadmin.store import counters
from memadmin.store.bulk import insert_row, prepared, typed_marks
from memadmin.store.intake import IncomingWorking
from memadmin.store.models import Container, WorkingMemory
from memadmin.store.rows import row_of

# Two rows are enough to know that the name is not of one session alone.
_PLACE = (
    "SELECT s.id, s.subject_id, u.user_id, u.suppressed = '' AND NOT u.has_holds AND NOT EXISTS ("
    "SELECT 1 FROM store_suppression x WHERE x.kind = 'text' AND x.mode <> 'lifted' "
    "AND (x.container_id = s.container_id OR x.container_id IS NULL)) AS is_plain "
    "FROM store_session s JOIN store_subject u ON u.id = s.subject_id "
    "WHERE s.container_id = %s AND s.external_id = %s ORDER BY u.id LIMIT 2"
)
_GROW = (
    "UPDATE store_session SET revision = revision + 1, "
    "last_updated_at = CASE WHEN last_updated_at IS NULL OR last_updated_at < %s THEN %s ELSE last_updated_at END "
    "WHERE id = %s AND subject_id = %s"
)
# The user is locked first, as everywhere; what changed while we waited for that is seen by the UPDATEs, which look at the newest row.
_AT_ONCE = """
WITH place AS MATERIALIZED ({place} FOR UPDATE OF u),
grown AS (
    UPDATE store_session AS s SET revision = s.revision + 1, last_updated_at = GREATEST(s.last_updated_at, %s::timestamptz) FROM place AS p
    WHERE s.id = p.id AND s.subject_id = p.subject_id AND (SELECT count(*) FROM place) = 1
      AND (%s::text IS NULL OR p.user_id = %s::text) AND p.is_plain
    RETURNING s.id, s.subject_id
),
counted AS (
    UPDATE store_subject AS u SET working = u.working + 1, messages = u.messages + %s FROM grown WHERE u.id = grown.subject_id
)
INSERT INTO store_workingmemory (session_id, subject_id, {columns})
SELECT grown.id, grown.subject_id, {marks} FROM grown RETURNING id, session_id, subject_id
"""


@dataclass(frozen=True, slots=True)
class _Place:
    session_id: int
    subject_id: int


def append(container: Container, item: IncomingWorking, *, now: datetime) -> WorkingMemory | None:
    """Store a payload that has a uid of its own in the one session of its name, and return the row.

    None, and nothing stored, where it is not as simple as that: no such session, several, another user's, or something about them is
    held or was erased before. `ingest.write` finds out.
    """
    when = item.last_updated_at or item.created_at
    row = row_of(WorkingMemory, item, container_id=container.pk, uid=item.uid, stored_at=now, message_count=len(item.messages))
    own = {name: value for name, value in row.items() if name not in {"session_id", "subject_id"}}
    store = _append_at_once if connection.vendor == "postgresql" else _append_step_by_step
    stored = store(container, item, own, when)
    return None if stored is None else WorkingMemory(**own, **stored)


def _append_at_once(container: Container, item: IncomingWorking, own: dict[str, Any], when: datetime | None) -> dict[str, int] | None:
    columns, marks = typed_marks(WorkingMemory, tuple(own))
    statement = _AT_ONCE.format(place=_PLACE, columns=columns, marks=marks)
    given = [container.pk, item.session_ref, when, item.user_id, item.user_id, len(item.messages)]
    with connection.cursor() as cursor:
        cursor.execute(statement, [*given, *prepared(WorkingMemory, own)])
        stored = cursor.fetchone()
    return None if stored is None else dict(zip(("id", "session_id", "subject_id"), stored, strict=True))


@transaction.atomic(savepoint=False)
def _append_step_by_step(container: Container, item: IncomingWorking, own: dict[str, Any], when: datetime | None) -> dict[str, int] | None:
    place = _place_of(container, item)
    if place is None or not _grow(place, when):
        return None
    found = {"session_id": place.session_id, "subject_id": place.subject_id}
    key = insert_row(WorkingMemory, {**own, **found})
    moves = counters.Moves()
    moves.add(place.subject_id, working=1, messages=len(item.messages))
    moves.apply()
    return {"id": key, **found}


def _place_of(container: Container, item: IncomingWorking) -> _Place | None:
    """Find the session; SQLite's write transaction has locked everything already."""
    with connection.cursor() as cursor:
        cursor.execute(_PLACE, [container.pk, item.session_ref])
        found = cursor.fetchall()
    if len(found) != 1 or item.user_id not in {None, found[0][2]} or not found[0][3]:
        return None
    return _Place(*found[0][:2])


def _grow(place: _Place, when: datetime | None) -> bool:
    """New content makes a session young again."""
    moment = connection.ops.adapt_datetimefield_value(when)
    with connection.cursor() as cursor:
        cursor.execute(_GROW, [moment, moment, place.session_id, place.subject_id])
        return bool(cursor.rowcount)
