"""Anchoring the log: when a checkpoint is due, writing it, changing the key, and telling that the database is older than its anchors."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction

from memadmin.audit import anchors, log, signing
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditHead

ANCHORED_AFTER = timedelta(minutes=10)
ANCHORED_AFTER_ROWS = 1_000


class NothingLost(Exception):
    """The database is not behind its anchors."""


def folder() -> Path:
    return Path(settings.AUDIT_ANCHORS)


def is_due(*, now: datetime) -> bool:
    """Whether rows have been waiting for a checkpoint for ten minutes, or a thousand of them are."""
    known, heads = anchors.latest(folder()), _heads()
    waiting = sum(max(0, seq - known.highest(name)) for name, (seq, _) in heads.items())
    if not waiting:
        return False
    return waiting >= ANCHORED_AFTER_ROWS or not known.at or datetime.fromisoformat(known.at) <= now - ANCHORED_AFTER


def write(*, actor: str, now: datetime) -> int:
    """Anchor every stream as it stands and return the number of the line. Raises AnchorsUnusable, KeysUnusable.

    The first one of an installation is noted in the log itself, so that a folder that went missing shows.
    """
    is_first = not signing.has_key() or not anchors.latest(folder()).lines
    signer = signing.current()
    if is_first:
        with transaction.atomic():
            log.append(Action.AUDIT_ANCHORED, actor=actor, target=f"keys/{signer.key_id}", at=now)
    # After the commit: an anchor of a row that was rolled back would look like a row cut off.
    return anchors.append(folder(), signer, kind=anchors.CHECKPOINT, heads=_heads(), at=now)


def rotate_key(*, actor: str, now: datetime) -> str:
    """Put a new signing key in force, announced by the old one, and return its id. Raises AnchorsUnusable, KeysUnusable."""
    old = signing.current()
    new = signing.prepare()
    with transaction.atomic():
        log.append(Action.AUDIT_KEY_ROTATED, actor=actor, target=f"keys/{new.key_id}", at=now)
    anchors.append(folder(), old, kind=anchors.KEY, heads=_heads(), at=now, following=new.public)
    signing.put_in_force(new)
    return new.key_id


def lost_rows() -> dict[str, int]:
    """Return, by stream, how many anchored rows this database does not have: more than none after an older backup was put back."""
    heads, anchored = _heads(), anchors.latest(folder()).heads()
    behind = {name: seq - heads.get(name, (0, ""))[0] for name, seq in anchored.items()}
    return {name: rows for name, rows in behind.items() if rows > 0}


def accept_restore(*, actor: str, now: datetime) -> dict[str, int]:
    """Say that the database was put back to an older state on purpose: the rows that were lost are named, and the log goes on from here.

    Returns how many rows of each stream are lost. Raises NothingLost, AnchorsUnusable, KeysUnusable.
    """
    lost = lost_rows()
    if not lost:
        raise NothingLost("The database is as new as its anchors.")
    anchors.append(folder(), signing.current(), kind=anchors.RESTORED, heads=_heads(), at=now)
    counts = {f"lost.{name}": rows for name, rows in lost.items()}
    with transaction.atomic():
        log.append(Action.AUDIT_RESTORED, actor=actor, target="audit/log", at=now, counts=counts)
    return lost


def _heads() -> dict[str, tuple[int, str]]:
    return {head.stream: (head.seq, head.row_hash) for head in AuditHead.objects.order_by("stream") if head.seq}
