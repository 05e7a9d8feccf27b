"""Sessions of files that list messages only: their times and title are gathered, and the order of the file is kept.

A message that is new gets the next number of its session, after those stored before; one that is there keeps its own.
So a later file of the same session goes on where the first one ended, and the same file again changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Max, Q

from memadmin.store import ingest
from memadmin.store.intake import IncomingSession, IncomingWorking
from memadmin.store.models import Container, Session, WorkingMemory
from memadmin.transfer.outcomes import Arrival, Said

REMEMBERED = 10_000  # sessions; one that is forgotten is looked up again

Key = tuple[int, str | None, str]


@dataclass
class _Known:
    is_stored: bool = False
    is_titled: bool = False  # the first title of a file counts
    next_number: int = 0
    created_at: datetime | None = None
    metadata: Any = field(default_factory=dict)


class SessionBook:
    """What this import knows of the sessions that it adds messages to."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, _Known] = OrderedDict()

    def arrange(self, container: Container, arrivals: Sequence[Arrival]) -> list[list[ingest.Arrival]]:
        """Return for each arrival what is to be written: a message has its number, and the first of a session brings it along."""
        gathered: dict[Key, list[Said]] = {}
        for arrival in arrivals:
            if isinstance(arrival, Said) and arrival.working.session_ref:
                gathered.setdefault(_key(container, arrival.working), []).append(arrival)
        sessions = self._sessions(container, gathered)
        return [self._placed(container, arrival, sessions) for arrival in arrivals]

    def _placed(self, container: Container, arrival: Arrival, sessions: dict[Key, IncomingSession]) -> list[ingest.Arrival]:
        if not isinstance(arrival, Said):
            return [arrival]
        if not arrival.working.session_ref:
            return [arrival.working]
        key = _key(container, arrival.working)
        known = self._known[key]
        placed = replace(arrival.working, sequence=known.next_number)
        known.next_number += 1
        session = sessions.pop(key, None)
        return [session, placed] if session else [placed]

    def _sessions(self, container: Container, gathered: dict[Key, list[Said]]) -> dict[Key, IncomingSession]:
        """Return what the batch adds to its sessions: all of it at first sight, later only an earlier beginning."""
        unknown = {key for key in gathered if key not in self._known}
        if unknown:
            self._known.update(self._look_up(container, unknown))
        sessions = {}
        for key, said in gathered.items():
            known = self._known[key]
            session = _gather(key, said, known)
            if key in unknown or session.created_at or session.metadata:
                sessions[key] = session
            known.is_stored = True
            known.is_titled |= bool(session.metadata)
            known.created_at = session.created_at or known.created_at
            self._known.move_to_end(key)
        while len(self._known) > max(REMEMBERED, len(gathered)):
            self._known.popitem(last=False)
        return sessions

    def _look_up(self, container: Container, keys: Iterable[Key]) -> dict[Key, _Known]:
        found = {key: _Known() for key in keys}
        users = {user_id for _, user_id, _ in found}
        subjects = dict(container.subjects.filter(Q(user_id__in=users - {None}) | Q(user_id=None)).values_list("user_id", "id"))
        names = [(subjects[user_id], reference) for _, user_id, reference in found if user_id in subjects]
        by_id: dict[int, Key] = {}
        for row in Session.objects.named(names).values("id", "subject__user_id", "external_id", "created_at", "metadata"):
            key = (container.pk, row["subject__user_id"], row["external_id"])
            found[key] = _Known(is_stored=True, created_at=row["created_at"], metadata=row["metadata"])
            by_id[row["id"]] = key
        numbers = WorkingMemory.objects.filter(session__in=by_id).values("session").annotate(last=Max("sequence")).order_by()
        for row in numbers:
            found[by_id[row["session"]]].next_number = row["last"] + 1
        return found


def _key(container: Container, working: IncomingWorking) -> Key:
    return container.pk, working.user_id, working.session_ref or ""


def _gather(key: Key, said: Sequence[Said], known: _Known) -> IncomingSession:
    """Return what messages say of their session, as far as it is new. New messages move `last_updated_at` by themselves."""
    notes = {message.working.created_at: message.working.time_note for message in reversed(said)}
    times = sorted(time for time in notes if time is not None)
    first = times[0] if times and (known.created_at is None or times[0] < known.created_at) else None
    title = next((message.title for message in said if message.title), None)
    metadata = known.metadata if isinstance(known.metadata, dict) else {}
    return IncomingSession(
        user_id=key[1],
        external_id=key[2],
        created_at=first,
        time_note=notes[first] if first else "",
        last_updated_at=times[-1] if times and not known.is_stored else None,
        metadata={**metadata, "title": title} if title and not known.is_titled else {},
    )
