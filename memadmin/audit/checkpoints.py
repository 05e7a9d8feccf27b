"""Anchoring the log: when a checkpoint is due, writing it, changing the key, and telling that the database is older than its anchors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from memadmin.audit import anchors, ledger, log, signing
from memadmin.audit.actions import Action
from memadmin.audit.anchors import Anchored, Stand
from memadmin.audit.models import AuditEntry, AuditHead

ANCHORED_AFTER = timedelta(minutes=10)
ANCHORED_AFTER_ROWS = 1_000


class NothingLost(Exception):
    """The database is not behind its anchors."""


class DatabaseOlder(Exception):
    """The database lacks rows that were anchored: an older backup was put back, and nothing is anchored over that."""


def folder() -> Path:
    return Path(settings.AUDIT_ANCHORS)


def is_due(*, now: datetime) -> bool:
    """Whether rows have been waiting for a checkpoint for ten minutes, or a thousand of them are."""
    known, waiting = anchors.latest(folder()), unanchored()
    if not waiting:
        return False
    return waiting >= ANCHORED_AFTER_ROWS or not known.at or datetime.fromisoformat(known.at) <= now - ANCHORED_AFTER


def unanchored() -> int:
    """Return how many rows came after the last checkpoint. Raises AnchorsUnusable."""
    known = anchors.latest(folder())
    return sum(max(0, seq - known.highest(name)) for name, (seq, _) in _heads().items())


def unanchored_since() -> datetime | None:
    """Return when the oldest row was written that no checkpoint pins yet. Raises AnchorsUnusable."""
    known = anchors.latest(folder())
    first = [
        AuditEntry.objects.in_stream(name).filter(seq=known.highest(name) + 1).values_list("at", flat=True).first()
        for name, (seq, _) in _heads().items()
        if seq > known.highest(name)
    ]
    return min((at for at in first if at), default=None)


def write(*, actor: str, now: datetime) -> int:
    """Anchor every stream as it stands and return the number of the line. Raises AnchorsUnusable, KeysUnusable, DatabaseOlder.

    The first one of an installation is noted in the log itself, so that a folder that went missing shows.
    """
    known = anchors.latest(folder())
    if is_older(known):
        raise DatabaseOlder("The database is older than its checkpoints: run `reapply_erasures` first.")
    is_first = not signing.has_key() or not known.lines
    signer = signing.current()
    if is_first:
        with transaction.atomic():
            log.append(Action.AUDIT_ANCHORED, actor=actor, target=f"keys/{signer.key_id}", at=now)
    # After the commit: an anchor of a row that was rolled back would look like a row cut off.
    return anchors.append(folder(), signer, kind=anchors.CHECKPOINT, stand=Stand(_heads(), _ledger_head(known)), at=now)


def tell_ledger(kind: str, *, request: str, facts: dict[str, Any], actor: str, now: datetime) -> None:
    """Write a line of the ledger as the last thing of the caller's transaction. Raises LedgerUnusable.

    After the commit the log is anchored, so that a database from before the act is told from one that has it.
    """
    ledger.write(kind, request=request, at=now, facts=facts)
    transaction.on_commit(partial(write, actor=actor, now=now), robust=True)  # the job that anchors makes good what fails


def rotate_key(*, actor: str, now: datetime) -> str:
    """Put a new signing key in force, announced by the old one, and return its id. Raises AnchorsUnusable, KeysUnusable."""
    old = signing.current()
    new = signing.prepare()
    with transaction.atomic():
        log.append(Action.AUDIT_KEY_ROTATED, actor=actor, target=f"keys/{new.key_id}", at=now)
    stand = Stand(_heads(), _ledger_head(anchors.latest(folder())))
    anchors.append(folder(), old, kind=anchors.KEY, stand=stand, at=now, following=new.public)
    signing.put_in_force(new)
    return new.key_id


def lost_rows(known: Anchored | None = None) -> dict[str, int]:
    """Return, by stream, how many anchored rows this database does not have: more than none after an older backup was put back.

    Rows count as lost too where the database has others in their places: somebody has worked with it since.
    """
    anchored = known or anchors.latest(folder())
    return {name: anchored.highest(name) - _common_row(name, anchored.highest(name))[0] for name in _streams_behind(anchored)}


def is_older(known: Anchored) -> bool:
    """Whether the database lacks a row that was anchored. One look-up for each stream."""
    return bool(_streams_behind(known))


def accept_restore(*, actor: str, now: datetime) -> dict[str, int]:
    """Say that the database was put back to an older state on purpose, and let a new epoch of the log begin.

    Its first entry names the row and hash that was anchored last and is lost. Returns how many rows of each stream are lost.
    Raises NothingLost, AnchorsUnusable, KeysUnusable.
    """
    known = anchors.latest(folder())
    lost = lost_rows(known)
    if not lost:
        raise NothingLost("The database is as new as its anchors.")
    heads = {name: _common_row(name, known.highest(name)) for name in known.rows}
    anchors.append(folder(), signing.current(), kind=anchors.RESTORED, stand=Stand(heads, _ledger_head(known)), at=now)
    counts = {f"lost.{name}": rows for name, rows in lost.items()} | {f"anchored.{name}": known.highest(name) for name in lost}
    first = min(lost)
    with transaction.atomic():
        target = f"audit/{first}/{known.rows[first][known.highest(first)]}"
        log.append(Action.AUDIT_RESTORED, actor=actor, target=target, at=now, counts=counts)
    return lost


def anchor_loss_of_ledger(*, now: datetime) -> int:
    """Anchor the ledger as it is now, though the last checkpoint knows of a longer one: somebody has accepted that. As `write`."""
    return anchors.append(folder(), signing.current(), kind=anchors.CHECKPOINT, stand=Stand(_heads(), ledger_head()), at=now)


def ledger_head() -> tuple[int, str]:
    """Return the last line of the ledger and its hash. Raises LedgerUnusable."""
    known = ledger.lines()
    return (known[-1].seq, known[-1].hash) if known else anchors.NO_LINES


def ledger_is_behind(known: Anchored, lines: Sequence[ledger.Line]) -> bool:
    """Whether the ledger lacks the line that a checkpoint has named: an older copy of it was put back, or another one."""
    seq, hashed = known.ledger
    return bool(seq) and (len(lines) < seq or lines[seq - 1].hash != hashed)


def _ledger_head(known: Anchored) -> tuple[int, str]:
    """Return what a checkpoint says of the ledger. It never goes back: an older copy must not be anchored over the newer one."""
    try:
        behind = ledger_is_behind(known, ledger.lines())
    except ledger.LedgerUnusable:
        return known.ledger  # said by who has to do with the ledger; the log is anchored all the same
    return known.ledger if behind else ledger_head()


def _streams_behind(known: Anchored) -> list[str]:
    wanted = {name: (known.highest(name), rows[known.highest(name)]) for name, rows in known.rows.items() if rows}
    if not wanted:
        return []
    same = Q(*(Q(stream=name, seq=seq, row_hash=row_hash) for name, (seq, row_hash) in wanted.items()), _connector=Q.OR)
    return sorted(set(wanted) - set(AuditEntry.objects.filter(same).values_list("stream", flat=True)))


def _has_row(stream: str, seq: int, row_hash: str) -> bool:
    return AuditEntry.objects.filter(stream=stream, seq=seq, row_hash=row_hash).exists()


def _common_row(stream: str, anchored: int) -> tuple[int, str]:
    """Return the last row that the database has in common with what was anchored, and its hash; as far as can be told, the last of all."""
    head, rows = _heads().get(stream, (0, "")), anchors.read(folder()).rows.get(stream, {})
    below = sorted((seq for seq in rows if seq <= head[0]), reverse=True)
    common = next((seq for seq in below if _has_row(stream, seq, rows[seq])), 0)
    if head[0] < anchored and common == max(below, default=0):
        return head
    return common, rows.get(common, "")


def _heads() -> dict[str, tuple[int, str]]:
    return {head.stream: (head.seq, head.row_hash) for head in AuditHead.objects.order_by("stream") if head.seq}
