"""What somebody wants to see of the log, and an entry as it is shown to programs. The page, the API and the exports ask alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditHead, Stream
from memadmin.audit.querysets import EntryQuerySet

FIELDS = (
    "stream",
    "seq",
    "at",
    "actor",
    "action",
    "outcome",
    "target",
    "request_id",
    "reason_code",
    "counts",
    "payload_digest",
    "row_hash",
)
AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Entries of one stream; what is empty narrows nothing."""

    stream: str = Stream.GOVERNANCE.value
    actions: Sequence[str] = ()
    outcome: str = ""
    actor: str = ""
    target: str = ""
    request_id: str = ""
    since: datetime | None = None
    until: datetime | None = None  # entries of this instant and later are left out

    @property
    def narrows(self) -> bool:
        return any((self.actions, self.outcome, self.actor, self.target, self.request_id, self.since, self.until))

    def entries(self) -> EntryQuerySet:
        entries: EntryQuerySet = AuditEntry.objects.in_stream(self.stream)
        given = {"outcome": self.outcome, "actor": self.actor, "target": self.target, "request_id": self.request_id}
        entries = entries.filter(**{name: value for name, value in given.items() if value})
        entries = entries.of_actions(self.actions) if self.actions else entries
        entries = entries.not_before(self.since) if self.since else entries
        return entries.earlier_than(self.until) if self.until else entries


@transaction.atomic
def export(wanted: Wanted, *, actor: str, now: datetime) -> Iterator[AuditEntry]:
    """Write down that entries are taken out, and return them from the first to the last that there is now, in little memory."""
    last = AuditHead.objects.filter(stream=wanted.stream).values_list("seq", flat=True).first() or 0
    narrowed = "filtered" if wanted.narrows else ""
    log.append(Action.AUDIT_EXPORTED, actor=actor, target=f"audit/{wanted.stream}", at=now, reason_code=narrowed, counts={"last": last})
    return _from_the_first(wanted.entries().filter(seq__lte=last))


def record(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry as values of JSON. What people wrote beside it is not in it."""
    return {name: getattr(entry, name) for name in FIELDS} | {"at": entry.at.isoformat()}


def _from_the_first(entries: EntryQuerySet) -> Iterator[AuditEntry]:
    seen = 0
    while page := list(entries.filter(seq__gt=seen).order_by("seq")[:AT_ONCE]):
        yield from page
        seen = page[-1].seq
