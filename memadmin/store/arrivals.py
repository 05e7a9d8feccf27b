"""What was erased, came again and was refused: noted by the way it came, so that a person sees it. What it said is nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Outcome, Stream
from memadmin.store.models import Container

ERASED = "subject_erased"


class Way(StrEnum):
    """How it came."""

    API = "api"
    BULK = "bulk"
    IMPORT = "import"
    ARCHIVE = "archive"  # restored from it
    MODEL = "model"  # said again by a model: a fact, a summary


def target_of(container: Container, way: Way) -> str:
    """Name in the log what was refused: by the way it came, and where."""
    return f"arrivals/{way.value}/{container.uid}"


@transaction.atomic
def note_refused(container: Container, way: Way, number: int, *, actor: str, now: datetime) -> None:
    """Note how many items were refused; nothing where none was."""
    if number:
        target, counts = target_of(container, way), {"items": number}
        log.note(Action.ARRIVALS_REFUSED, actor=actor, target=target, at=now, outcome=Outcome.REFUSED, reason_code=ERASED, counts=counts)


def lately(at_most: int) -> Iterable[AuditEntry]:
    """Return the newest entries of what was refused, and of what was let in and marked. The former wait a minute to be sealed."""
    refused = AuditEntry.objects.in_stream(Stream.ACTIVITY).filter(action=Action.ARRIVALS_REFUSED).newest_first()[:at_most]
    flagged = AuditEntry.objects.in_stream(Stream.GOVERNANCE).filter(action=Action.ARRIVALS_FLAGGED).newest_first()[:at_most]
    return sorted([*refused, *flagged], key=lambda entry: entry.at, reverse=True)[:at_most]
