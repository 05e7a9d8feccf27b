"""What retention must know of each memory type's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection

from memadmin.lifecycle.models import ItemKind
from memadmin.store.lost import LOST
from retention.victims import AgeFrom


@dataclass(frozen=True, slots=True)
class Source:
    """One type's rows. Conditions stand over the alias m."""

    kind: ItemKind
    table: str
    age_from: AgeFrom
    exempt: str  # no rule may choose these
    exposed: str  # the others; word for word the condition of the partial indexes
    counter: str  # SQL over store_subject: how many a subject has that are not pinned
    stored: str  # the same with the pinned ones
    pinned: str

    @property
    def date(self) -> str:
        return f"m.{self.age_from.value}"


SOURCES: Mapping[ItemKind, Source] = {
    source.kind: source
    for source in (
        Source(
            kind=ItemKind.SESSION,
            table="store_session",
            age_from=AgeFrom.LAST_UPDATED,
            exempt="(m.pinned OR m.held)",
            exposed="NOT m.held AND NOT m.pinned",
            counter="sessions - pinned_sessions",
            stored="sessions",
            pinned="pinned_sessions",
        ),
        Source(
            kind=ItemKind.LONG_TERM,
            table="store_longtermmemory",
            age_from=AgeFrom.LAST_UPDATED,
            exempt="(m.pinned OR m.held)",
            exposed="NOT m.pinned AND NOT m.held",
            counter="long_term - pinned_long_term",
            stored="long_term",
            pinned="pinned_long_term",
        ),
        Source(
            kind=ItemKind.HISTORY,
            table="store_historyentry",
            age_from=AgeFrom.CREATED,
            exempt="(m.pinned OR m.held)",
            exposed="NOT m.pinned AND NOT m.held",
            counter="history",
            stored="history",
            pinned="0",
        ),
        Source(
            kind=ItemKind.WORKING,
            table="store_workingmemory",
            age_from=AgeFrom.CREATED,
            exempt="m.held",
            exposed=f"NOT m.held AND {LOST}",
            counter="working",
            stored="working",
            pinned="0",
        ),
    )
}
RULED = tuple(source for kind, source in SOURCES.items() if kind is not ItemKind.WORKING)  # types that a rule can be set for


def moment_sql(moment: datetime) -> str:
    """Return a time as an SQL literal, in the form in which Django stores it."""
    if connection.vendor == "postgresql":
        return f"TIMESTAMPTZ '{moment.isoformat()}'"
    return f"'{moment.astimezone(UTC).replace(tzinfo=None)}'"


def moment_of(stored: datetime | str) -> datetime:
    """Return a time that a cursor gave: SQLite's come without their zone, or as text."""
    moment = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
