"""The inventory of backups, and until when they can bring back what was erased.

The horizon of an erasure is the last day of the backups begun before it was complete. It has passed when every one of them is confirmed to
be destroyed and somebody has said, after the erasure, that the inventory is whole. Where there is no inventory the setting
`erasure_backup_days` counts instead; without that the horizon is unknown, and said so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.db.models.functions import Coalesce

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Stream
from memadmin.erasure.models import BackupKind, BackupRecord, InventoryCheck
from memadmin.store import configuration
from memadmin.store.text import clean, says_something

LONGEST = 200


class BadBackup(ValueError):
    """The backup cannot be recorded as described; the message says why."""


class AlreadyDestroyed(Exception):
    """The backup is confirmed to be destroyed: nothing about it changes any more."""


class Basis(StrEnum):
    """How the horizon is known."""

    INVENTORY = "inventory"
    SETTING = "setting"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupSpec:
    """One backup as whoever made it describes it."""

    kind: BackupKind
    label: str
    started_at: datetime
    expires_at: datetime
    key_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """Until when a backup from before an erasure can hold what was erased. `until` None: unknown."""

    basis: Basis
    until: datetime | None
    standing: Sequence[BackupRecord] = ()  # begun before it, and not confirmed to be destroyed
    kinds: dict[str, int] = field(default_factory=dict)  # of all that were begun before it
    checked_at: datetime | None = None  # when somebody last said that the inventory is whole
    checked_since: bool = False  # and whether that was after the erasure


@transaction.atomic
def record(spec: BackupSpec, *, actor: str, now: datetime) -> BackupRecord:
    """Put a backup into the inventory. The same one twice is one. Raises BadBackup."""
    label = _said(spec.label, "Say where the backup lies and what it is called there.")
    if spec.expires_at < spec.started_at:
        raise BadBackup("A backup expires after it was begun.")
    if spec.started_at > now + timedelta(days=1):
        raise BadBackup("The backup would begin in the future.")
    row, made = BackupRecord.objects.get_or_create(
        kind=spec.kind,
        label=label,
        started_at=spec.started_at,
        defaults={
            "expires_at": spec.expires_at,
            "key_id": clean(spec.key_id)[:64],
            "audit_seq": _log_until(spec.started_at),
            "recorded_by": actor,
            "recorded_at": now,
        },
    )
    if made:
        log.append(Action.BACKUP_RECORDED, actor=actor, target=str(row), at=now, reason_code=row.kind, payload={"label": label})
    return row


@transaction.atomic
def reschedule(row: BackupRecord, expires_at: datetime, *, actor: str, now: datetime) -> None:
    """Say that a backup ends on another day than was said. Raises BadBackup, AlreadyDestroyed."""
    if expires_at < row.started_at:
        raise BadBackup("A backup expires after it was begun.")
    before = row.expires_at
    _change(row, expires_at=expires_at)
    payload = {"before": before.isoformat(), "after": expires_at.isoformat()}
    log.append(Action.BACKUP_RESCHEDULED, actor=actor, target=str(row), at=now, payload=payload)


@transaction.atomic
def confirm_destroyed(row: BackupRecord, proof: str, *, actor: str, now: datetime) -> None:
    """Say that a backup, and the key of its own if it has one, is gone, and what shows it. Raises BadBackup, AlreadyDestroyed."""
    said = _said(proof, "Say what shows that it is gone: the line of the tool that deleted it, the number of a ticket.")
    _change(row, destroyed_at=now, destroyed_by=actor, destroyed_proof=said)
    log.append(Action.BACKUP_DESTROYED, actor=actor, target=str(row), at=now, payload={"proof": said})


@transaction.atomic
def check_inventory(*, actor: str, now: datetime) -> InventoryCheck:
    """Say that every backup begun until now is in the inventory."""
    standing = BackupRecord.objects.filter(destroyed_at=None).count()
    made = InventoryCheck.objects.create(checked_at=now, checked_by=actor, standing=standing)
    log.append(Action.BACKUP_INVENTORY_CHECKED, actor=actor, target="backups/inventory", at=now, counts={"standing": standing})
    return made


def past_their_day(now: datetime) -> QuerySet[BackupRecord]:
    """Those that should have ended, and nobody has confirmed that they have."""
    return BackupRecord.objects.filter(destroyed_at=None, expires_at__lte=now)


def horizon_of(completed_at: datetime) -> Horizon:
    """Return the horizon of an erasure that was complete at this time."""
    before = BackupRecord.objects.filter(started_at__lte=completed_at)
    last = before.aggregate(last=Max(Coalesce("destroyed_at", "expires_at")))["last"]
    checked_at = InventoryCheck.objects.order_by("-checked_at", "-pk").values_list("checked_at", flat=True).first()
    days = configuration.value("erasure_backup_days")
    ends = [last] if last else []
    if checked_at is not None:
        basis, until = Basis.INVENTORY, max([completed_at, *ends])
    elif days:
        basis, until = Basis.SETTING, max([completed_at + timedelta(days=days), *ends])
    else:
        basis, until = Basis.UNKNOWN, None
    return Horizon(
        basis=basis,
        until=until,
        standing=list(before.filter(destroyed_at=None).order_by("-expires_at", "-pk")),
        kinds=dict(before.order_by("kind").values_list("kind").annotate(number=Count("pk"))),
        checked_at=checked_at,
        checked_since=checked_at is not None and checked_at >= completed_at,
    )


def _change(row: BackupRecord, **values: object) -> None:
    if not BackupRecord.objects.filter(pk=row.pk, destroyed_at=None).update(**values):
        raise AlreadyDestroyed("This backup is confirmed to be destroyed already.")
    row.refresh_from_db()


def _said(text: str, missing: str) -> str:
    said = clean(text).strip()
    if not says_something(said):
        raise BadBackup(missing)
    if len(said) > LONGEST:
        raise BadBackup(f"At most {LONGEST} characters, not {len(said)}.")
    return said


def _log_until(at: datetime) -> int:
    """Return the last entry of the log that a backup begun at this time can have."""
    entries = AuditEntry.objects.in_stream(Stream.GOVERNANCE).filter(at__lte=at).order_by("-seq")
    return entries.values_list("seq", flat=True).first() or 0
