"""What people noticed in an agent's answers, and which eviction was the cause.

A report is matched with what has been evicted of its user before it was noticed; the likeliest come first, and a person decides. The words
of a report are about a person: they stand in its row, never in the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle.suspects import Suspect, suspect_named
from memadmin.store import counters
from memadmin.store.models import (
    Archived,
    Feedback,
    FeedbackKind,
    FeedbackState,
    HistoryEntry,
    ItemType,
    LongTermMemory,
    Mode,
    Session,
    Subject,
)
from memadmin.store.text import clean, says_something
from memadmin.store.writers import has_written_item

LONGEST = 4_000  # characters
EARLIEST_YEAR = 1900
CLOCKS_DIFFER = timedelta(minutes=5)
SHUT = {Mode.FENCE, Mode.BLOCK, Mode.QUARANTINE}


class BadReport(ValueError):
    """The report cannot be taken as it is. `field` is what is wrong with it, the message says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NotOpen(Exception):
    """Somebody has decided on the report meanwhile, or nobody has yet."""


class NotEvicted(Exception):
    """The item was not evicted of this user, or has come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`noticed_at`: when the agent's answer was noticed. `memory_uid`, `session_uid`: what the reporter points at, if anything."""

    kind: FeedbackKind
    words: str
    noticed_at: datetime
    memory_uid: UUID | None = None
    session_uid: UUID | None = None


@transaction.atomic
def record(subject: Subject, report: Report, *, actor: str, now: datetime, owner: str | None = None) -> Feedback:
    """Store a report about a user. `owner`: whose memories alone the reporter may know of; None, everybody's. Raises BadReport."""
    counters.lock([subject.pk])
    words = clean(report.words).strip()
    _check(subject, report, words, now=now)
    _check_pointed(subject, report, owner)
    feedback = Feedback.objects.create(
        container_id=subject.container_id,
        subject=subject,
        kind=report.kind,
        words=words,
        noticed_at=min(report.noticed_at, now),
        memory_uid=report.memory_uid,
        session_uid=report.session_uid,
        created_at=now,
        actor=actor,
    )
    log.append(Action.FEEDBACK_RECORDED, actor=actor, target=_target(feedback), at=now, reason_code=report.kind)
    return feedback


def _check(subject: Subject, report: Report, words: str, *, now: datetime) -> None:
    if Subject.objects.filter(pk=subject.pk, suppressed__in=SHUT).exists():
        raise BadReport("", "This person's memories are being erased, or were: nothing about them is stored any more.")
    if not says_something(words):
        raise BadReport("words", "Say what the agent forgot, or what was wrong, in a few words: by them the eviction is found.")
    if len(words) > LONGEST:
        raise BadReport("words", f"At most {LONGEST:,} characters; these are {len(words):,}.")
    if report.noticed_at > now + CLOCKS_DIFFER:
        raise BadReport("noticed_at", "This moment lies in the future.")
    if report.noticed_at.year < EARLIEST_YEAR:
        raise BadReport("noticed_at", f"Nobody noticed this before the year {EARLIEST_YEAR}: look at the date again.")


def _check_pointed(subject: Subject, report: Report, owner: str | None) -> None:
    """Refuse what the user never had, and in the same words what is not the reporter's to know of."""
    memory, session = report.memory_uid, report.session_uid
    if memory and not (_was_here(subject, memory) if owner is None else has_written_item(owner, subject, ItemType.LONG_TERM, memory)):
        raise BadReport("memory_uid", "This user has and had no memory of this id.")
    if session and not (_was_session(subject, session) if owner is None else has_written_item(owner, subject, ItemType.SESSION, session)):
        raise BadReport("session_uid", "This user has and had no session of this id.")


def _was_here(subject: Subject, uid: UUID) -> bool:
    here = LongTermMemory.objects.filter(subject=subject, uid=uid).exists()
    return here or HistoryEntry.objects.filter(subject=subject, memory_uid=uid).exists() or suspect_named(subject, uid) is not None


def _was_session(subject: Subject, uid: UUID) -> bool:
    here = Session.objects.filter(subject=subject, uid=uid).exists() or Archived.objects.filter(subject=subject, uid=uid).exists()
    return here or suspect_named(subject, uid) is not None


@transaction.atomic
def match(feedback: Feedback, uid: UUID, *, actor: str, now: datetime) -> Suspect:
    """Say that the eviction of an item was the cause. Raises NotEvicted and NotOpen."""
    subject = Subject.objects.get(pk=feedback.subject_id)
    suspect = suspect_named(subject, uid)
    if suspect is None or (suspect.evicted_at is not None and suspect.evicted_at > feedback.noticed_at):
        raise NotEvicted("This item was not evicted before the answer was noticed, or it has come back meanwhile. Look at the list again.")
    _decide(
        feedback,
        FeedbackState.MATCHED,
        actor=actor,
        now=now,
        matched_uid=uid,
        evicted_at=suspect.evicted_at,
        reason=suspect.reason,
        run_number=suspect.run_number,
        policy_version_id=suspect.policy_version_id,
    )
    counts = {"run": suspect.run_number or 0, "version": suspect.version_number or 0}
    log.append(Action.FEEDBACK_MATCHED, actor=actor, target=_target(feedback), at=now, reason_code=suspect.reason, counts=counts)
    return suspect


@transaction.atomic
def set_aside(feedback: Feedback, *, actor: str, now: datetime) -> None:
    """Say that no eviction was the cause. Raises NotOpen."""
    _decide(feedback, FeedbackState.UNRELATED, actor=actor, now=now)
    log.append(Action.FEEDBACK_SET_ASIDE, actor=actor, target=_target(feedback), at=now)


@transaction.atomic
def reopen(feedback: Feedback, *, actor: str, now: datetime) -> None:
    """Take a decision back. Raises NotOpen when there is none."""
    decided = Feedback.objects.filter(pk=feedback.pk).exclude(state=FeedbackState.OPEN)
    cleared = {"matched_uid": None, "evicted_at": None, "reason": "", "run_number": None, "policy_version": None}
    if not decided.update(state=FeedbackState.OPEN, decided_at=None, decided_by="", **cleared):
        raise NotOpen("Nobody has decided on this report yet.")
    feedback.refresh_from_db()
    log.append(Action.FEEDBACK_REOPENED, actor=actor, target=_target(feedback), at=now)


def _decide(feedback: Feedback, state: FeedbackState, *, actor: str, now: datetime, **found: object) -> None:
    waiting = Feedback.objects.filter(pk=feedback.pk, state=FeedbackState.OPEN)
    if not waiting.update(state=state, decided_at=now, decided_by=actor, **found):
        raise NotOpen("Somebody has decided on this report meanwhile. Take that back first.")
    feedback.refresh_from_db()


def _target(feedback: Feedback) -> str:
    return f"feedback/{feedback.uid}"
