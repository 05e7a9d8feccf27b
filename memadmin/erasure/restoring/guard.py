"""Is this database as new as what lies outside of it? While it is not, nobody is served: what was erased since would be there again.

Compared are the last signed checkpoint of the audit log, which names the last line of the ledger too, and the erasures of the ledger. It
costs two or three small queries every few seconds in each process, and none in between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import DatabaseError
from django.db.models import Max, TextChoices
from django.utils import timezone

from memadmin.audit import anchors, checkpoints, ledger
from memadmin.audit.actions import Action
from memadmin.audit.anchors import Anchored, AnchorsUnusable
from memadmin.audit.ledger import LedgerUnusable, Line
from memadmin.audit.models import AuditEntry, Stream
from memadmin.erasure.models import Certificate, ErasureRequest, Status
from memadmin.erasure.querysets import ENDED
from memadmin.erasure.restoring.told import Erasure, erasures

LOOKED_EVERY = 5.0  # seconds
A_MOMENT = timedelta(minutes=1)
NEWEST = 20  # erasures that are asked for every time; an older database lacks these first
AT_ONCE = 500
PAST_LEDGER = (Status.VERIFYING, Status.RESIDUE_FOUND, Status.COMPLETED, Status.CLOSED)
DECIDING = (Action.AUDIT_RESTORED, Action.LEDGER_REPLAYED, Action.LEDGER_LOSS_ACCEPTED)


class Reason(TextChoices):
    """Why nobody is served, in few words."""

    OLDER = "older", "the database is older than its checkpoints"
    ERASURES = "erasures", "erasures are missing in the database"
    UNFINISHED = "unfinished", "erasures are not yet done again"
    LEDGER_GONE = "ledger_gone", "the ledger of erasures is missing"
    LEDGER_OLDER = "ledger_older", "the ledger of erasures is older than its checkpoints"
    LEDGER_DAMAGED = "ledger_damaged", "the ledger of erasures is damaged"
    CHECKPOINTS_GONE = "checkpoints_gone", "the checkpoints are missing"
    CHECKPOINTS_DAMAGED = "checkpoints_damaged", "the checkpoints are damaged"


@dataclass(frozen=True, slots=True)
class State:
    """`reasons` empty: open. `detail` is for people who run the installation: it may name files."""

    reasons: tuple[Reason, ...] = ()
    detail: str = ""

    @property
    def is_open(self) -> bool:
        return not self.reasons


OPEN = State()


@dataclass
class _Seen:
    """What this process knows; `whole` is the ledger whose every erasure it has found in the database."""

    state: State = OPEN
    until: float = 0.0
    read: ledger.Signature | None = None
    told: Sequence[Line] = ()
    whole: ledger.Signature | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_seen = _Seen()


def state() -> State:
    """Return what was found at most a few seconds ago. A database that does not answer leaves things as they were."""
    if time.monotonic() < _seen.until or not _seen.lock.acquire(blocking=_seen.until == 0.0):
        return _seen.state
    try:
        if time.monotonic() >= _seen.until:
            _seen.state = look()
    except DatabaseError:
        return _seen.state
    finally:
        _seen.until = max(_seen.until, time.monotonic() + LOOKED_EVERY)
        _seen.lock.release()
    return _seen.state


def look_again() -> None:
    """Forget what was seen: something was put right this moment."""
    _seen.until = 0.0


def is_shut() -> bool:
    return not state().is_open


def look() -> State:
    """Compare now. Raises DatabaseError."""
    try:
        known = anchors.latest(checkpoints.folder())
        lines = _lines()
    except AnchorsUnusable as problem:
        return State((Reason.CHECKPOINTS_DAMAGED,), str(problem))
    except LedgerUnusable as problem:
        return State((Reason.LEDGER_DAMAGED,), str(problem))
    if known.faults:
        where = f"The last line of {checkpoints.folder() / anchors.FILE} is not what was written: {known.faults[0][1]}."
        return State((Reason.CHECKPOINTS_DAMAGED,), where)
    found = [reason for reason, holds in _compared(known, lines).items() if holds]
    return State(tuple(found)) if found else OPEN


def _compared(known: Anchored, lines: Sequence[Line]) -> dict[Reason, bool]:
    decided = _decided()
    last = max(decided, key=lambda action: decided[action], default="")
    return {
        Reason.OLDER: checkpoints.is_older(known),
        Reason.CHECKPOINTS_GONE: not known.lines and _was_anchored(),
        Reason.LEDGER_OLDER: checkpoints.ledger_is_behind(known, lines),
        Reason.LEDGER_GONE: not lines and not known.ledger[0] and ErasureRequest.objects.filter(state__in=PAST_LEDGER).exists(),
        Reason.ERASURES: bool(_some_missing(lines)),
        Reason.UNFINISHED: last == Action.AUDIT_RESTORED,
    }


def _lines() -> Sequence[Line]:
    """Return the ledger, read anew only where a file has changed. Raises LedgerUnusable."""
    as_it_is = ledger.signature()
    if _seen.read != as_it_is:
        _seen.told, _seen.read = ledger.lines(), as_it_is
    return _seen.told


def _some_missing(lines: Sequence[Line]) -> list[Erasure]:
    """Look for the newest erasures, and for all where the ledger has changed since all were found."""
    every = erasures(lines)
    if _seen.whole is not None and _seen.whole == _seen.read:
        return missing(every[-NEWEST:])
    found = missing(every)
    _seen.whole = None if found else _seen.read
    return found


def missing(told: Sequence[Erasure]) -> list[Erasure]:
    """Return the erasures that the database does not know, or not to be complete though they are. What was accepted as lost is left out."""
    rows: dict[str, tuple[str, int]] = {}
    for at in range(0, len(told), AT_ONCE):
        asked = ErasureRequest.objects.filter(uid__in=[each.request for each in told[at : at + AT_ONCE]])
        rows |= {str(uid): (state, attempt) for uid, state, attempt in asked.values_list("uid", "state", "attempt")}
    unknown = [each for each in told if not _is_known(each, *rows.get(each.request, ("", 0)))]
    if not unknown:
        return []
    accepted = _accepted()
    return [each for each in unknown if each.seq > accepted]


def _is_known(told: Erasure, state: str, attempt: int) -> bool:
    if state in ENDED:
        return True
    if not state or attempt < told.attempt:
        return False
    if told.completed is None:
        return True  # under way here as well
    return Certificate.objects.filter(digest=told.completed.facts.get("certificate", "")).exists()  # about to be complete


def _accepted() -> int:
    """Return up to which line of the ledger somebody has accepted that it is not applied."""
    entry = AuditEntry.objects.filter(stream=Stream.GOVERNANCE, action=Action.LEDGER_LOSS_ACCEPTED).order_by("-seq").first()
    return int(entry.counts.get("lines", 0)) if entry else 0


def _decided() -> dict[str, int]:
    """Return the last row of each act that says where the database stands to the ledger."""
    acts: Iterable[tuple[str, int]] = (
        AuditEntry.objects.filter(stream=Stream.GOVERNANCE, action__in=DECIDING)
        .order_by("action")
        .values("action")
        .annotate(last=Max("seq"))
        .values_list("action", "last")
    )
    return dict(acts)


def _was_anchored() -> bool:
    """Whether the log says that there are checkpoints. The entry of the first one is there a moment before the file."""
    noted = AuditEntry.objects.filter(stream=Stream.GOVERNANCE, action=Action.AUDIT_ANCHORED)
    return noted.filter(at__lt=timezone.now() - A_MOMENT).exists()
