"""Following a request to correct: item by item, by a reviewer, before the request is answered, and after it where words are left."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memadmin.audit import ledger, log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry
from memadmin.erasure import correction_checks
from memadmin.erasure.execution import physical
from memadmin.erasure.intake import NotForThisKind, NothingWritten, TooMany, target_of
from memadmin.erasure.models import ErasureRequest, Kind, Status, WrongLeft
from memadmin.erasure.moves import Refusal, touch
from memadmin.erasure.refusals import audited
from memadmin.jobs import queue
from memadmin.jobs.registry import JobView, Step
from memadmin.store import correcting
from memadmin.store.correcting import Corrected, Held, Unchanged
from memadmin.store.editing import Gone
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.opening import Suppressed
from memadmin.store.text import clean, says_something

FORGET = "erasure.forget"
CORRECTED = "corrected"  # a line of the ledger
TABLES = ("store_longtermmemory", "store_historyentry", "store_workingmemory", "store_session", "store_archived")
LONGEST = 100_000  # characters of a corrected text
CORRECTABLE = frozenset({Status.RECEIVED, Status.REVIEW, Status.COMPLETED})  # after the answer too: the wrong words may stand elsewhere
COPIES: dict[str, Any] = {"store.history": HistoryEntry, "store.archive": Archived, "store.sessions": Session}


class NotCorrected(Refusal):
    """The item cannot be corrected; the message says why."""

    code = "not_corrected"


class NotIdentified(Refusal):
    """Nobody has noted that the request comes from the person: a stranger must not rewrite what is remembered."""

    code = "not_identified"


@audited(Action.ERASURE_ITEM_CORRECTED)
def correct(
    request: ErasureRequest, item: LongTermMemory | WorkingMemory, text: str, *, place: int = 0, actor: str, now: datetime
) -> Corrected:
    """Let an item of a person who is meant say something else; of an entry of a session the message at `place`.

    Raises NotForThisKind, NotIdentified, NotCorrected, NothingWritten, TooMany, WrongState.
    """
    _check(request, item)
    touch(request, within=CORRECTABLE, state=request.state)
    words = _words(text)
    try:
        if isinstance(item, LongTermMemory):
            done = correcting.correct_memory(item, words, actor=actor, now=now)
        else:
            done = correcting.correct_message(item, place, words, actor=actor, now=now)
    except (Held, Unchanged, Gone, Suppressed, IndexError) as error:
        raise NotCorrected(str(error)) from error
    item_type = ItemType.LONG_TERM if isinstance(item, LongTermMemory) else ItemType.WORKING
    correction_checks.note(request, item_type, item.uid, done.before, words, now=now)
    if request.state == Status.COMPLETED:
        correction_checks.ask(request, actor=actor, now=now)
    queue.enqueue(FORGET, requested_by=actor, now=now)
    _tell_ledger(request, now=now)
    counts = {"history": done.history, "copies": done.copies, "derived": done.derived}
    log.append(Action.ERASURE_ITEM_CORRECTED, actor=actor, target=target_of(request), at=now, counts=counts)
    return done


@audited(Action.ERASURE_WORDS_TAKEN_OUT)
def take_out(request: ErasureRequest, left: WrongLeft, *, actor: str, now: datetime) -> None:
    """Take words that were corrected out of a copy that still has them. Raises NotCorrected, WrongState."""
    touch(request, within=CORRECTABLE, state=request.state)
    model = COPIES.get(left.location)
    if model is None:
        raise NotCorrected("This says by itself what is wrong: correct it like the first one.")
    meant = request.subjects.filter(ticked=True, subject_id__isnull=False).values("subject_id")
    row = model._default_manager.filter(uid=left.row_uid, subject_id__in=meant).first()
    try:
        taken = row is not None and correcting.take_out_copy(row)
    except Held as held:
        raise NotCorrected(str(held)) from held
    WrongLeft.objects.filter(pk=left.pk).delete()
    queue.enqueue(FORGET, requested_by=actor, now=now)
    counts = {"rows": int(taken)}
    log.append(Action.ERASURE_WORDS_TAKEN_OUT, actor=actor, target=target_of(request), at=now, reason_code=left.location, counts=counts)


@audited(Action.ERASURE_WORDS_LEFT)
def leave(request: ErasureRequest, left: WrongLeft, *, actor: str, now: datetime) -> None:
    """Note that a longer text is right as it stands, though it has the words. Raises NotCorrected, WrongState."""
    touch(request, within=CORRECTABLE, state=request.state)
    if not left.inside:
        raise NotCorrected("This says just what was wrong, and nothing else: correct it, or take it out.")
    same = WrongLeft.objects.filter(correction__request=request, correction__before_ref=left.correction.before_ref)
    same.filter(location=left.location, row_uid=left.row_uid, inside=True).update(left_by=actor)
    log.append(Action.ERASURE_WORDS_LEFT, actor=actor, target=target_of(request), at=now, reason_code=left.location)


def corrections(request: ErasureRequest) -> int:
    """Return how many items were corrected for a request."""
    entries = AuditEntry.objects.filter(target=target_of(request), action=Action.ERASURE_ITEM_CORRECTED, outcome="ok")
    return entries.count()


def forget(job: JobView) -> Step:
    """Let the database forget the words that were taken out: pages, the write-ahead log, indexes and statistics."""
    physical.forget(TABLES)
    return Step(finished=True, done=1)


def _tell_ledger(request: ErasureRequest, *, now: datetime) -> None:
    """A backup that is put back says again what was wrong: the ledger knows for which requests, and how often. Raises NotCorrected."""
    facts = {"number": request.number, "corrections": corrections(request) + 1}
    try:
        ledger.write(CORRECTED, request=str(request.uid), at=now, facts=facts)
    except ledger.LedgerUnusable as error:
        raise NotCorrected(f"The ledger cannot be written: {error}") from error


def _check(request: ErasureRequest, item: LongTermMemory | WorkingMemory) -> None:
    if request.kind != Kind.RECTIFY:
        raise NotForThisKind(f"Request {request.number} asks to {Kind(request.kind).label}: nothing is corrected for it.")
    if request.identity_level is None:
        raise NotIdentified("Note first how it is known that the request comes from the person.")
    if not request.subjects.filter(ticked=True, subject_id=item.subject_id).exists():
        raise NotCorrected("This is about somebody whom the request does not mean.")


def _words(text: str) -> str:
    words = clean(text).strip()
    if not says_something(words):
        raise NothingWritten("Write what is right. What is to go wholly is erased, not corrected.")
    if len(words) > LONGEST:
        raise TooMany(f"This text has {len(words):,} characters; at most {LONGEST:,} can be corrected here.")
    return words
