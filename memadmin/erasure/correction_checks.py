"""Whether what was corrected for a request is right everywhere: the wrong words are looked for in all that is stored of the person.

They are known again by keyed digests, whole texts without regard to case, width and spaces. Texts of fewer than three words are looked for
in the item itself, its history and its copies alone: elsewhere a "yes" is another one. Where the words stand is a row for each place, so
that a step that is done twice says the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Correction, ErasureRequest, Kind, Status, WrongLeft
from memadmin.jobs import queue
from memadmin.jobs.registry import JobView, Step
from memadmin.store import archive, refs
from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.suppression_keys import normal

CHECK = "erasure.check_corrections"
ACTOR = f"job/{CHECK}"
ROWS_AT_ONCE = 1_000
FEWEST_WORDS = 3
# Where the words of a person stand, and what names the item that a row is of.
PLACES: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "store.long_term": (LongTermMemory, "uid", ("text", "parts")),
    "store.working": (WorkingMemory, "uid", ("messages", "event", "structured_data")),
    "store.sessions": (Session, "uid", ("summary",)),
    "store.history": (HistoryEntry, "memory_uid", ("before", "after")),
    "store.archive": (Archived, "uid", ("payload",)),
}


@dataclass(frozen=True, slots=True)
class At:
    """Where a check is: in which place, behind which row; `upto` is the last correction that it knows of."""

    upto: int
    place: int = 0
    after: int = 0


def note(request: ErasureRequest, item_type: ItemType, uid: UUID, before: tuple[str, ...], text: str, *, now: datetime) -> None:
    """Remember what was wrong, inside the caller's transaction. What an item says by now is not wrong any more."""
    Correction.objects.filter(item_uid=uid, before_ref=_ref_of(text)).delete()
    for said in {normal(each): each for each in before}:
        if said and said != normal(text):
            values = {
                "item_type": item_type,
                "key_id": refs.key_id(),
                "is_short": len(said.split()) < FEWEST_WORDS,
                "corrected_at": now,
                "checked_at": None,
            }
            Correction.objects.update_or_create(request=request, item_uid=uid, before_ref=_ref_of(said), defaults=values)


def ask(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Have the corrections of a request looked at."""
    queue.enqueue(CHECK, target=target_of(request), requested_by=actor, now=now)


def waiting(request: ErasureRequest) -> QuerySet[Correction]:
    """Return the corrections at which nobody has looked since they were made."""
    return request.corrections.filter(checked_at=None)


def left(requests: QuerySet[ErasureRequest]) -> QuerySet[WrongLeft]:
    """Return where words stand that were corrected for these requests."""
    return WrongLeft.objects.filter(correction__request__in=requests)


def step(job: JobView, *, now: datetime) -> Step:
    """Some rows of one place."""
    request = ErasureRequest.objects.get(uid=UUID(job.target.rpartition("/")[2]))
    at = At(**job.cursor) if job.cursor else _begin(request)
    if at.place == len(PLACES):
        _end(request, at, now=now)
        return Step(finished=True, cursor=asdict(at), done=job.done)
    after, looked = _look(request, at)
    further = replace(at, after=after) if looked == ROWS_AT_ONCE else At(at.upto, at.place + 1)
    return Step(finished=False, cursor=asdict(further), done=job.done + looked)


def _begin(request: ErasureRequest) -> At:
    WrongLeft.objects.filter(correction__request=request).delete()
    last = request.corrections.order_by("-pk").values_list("pk", flat=True).first()
    return At(last or 0)


def _look(request: ErasureRequest, at: At) -> tuple[int, int]:
    """Look through some rows, and return the last one's key and how many there were."""
    name, (model, item, columns) = list(PLACES.items())[at.place]
    meant = request.subjects.filter(ticked=True, subject_id__isnull=False).values("subject_id")
    rows = list(model._default_manager.filter(subject_id__in=meant, pk__gt=at.after).order_by("pk")[:ROWS_AT_ONCE])
    known: dict[str, list[Correction]] = defaultdict(list)
    for correction in request.corrections.filter(pk__lte=at.upto):
        known[correction.before_ref].append(correction)
    keys = {correction.key_id for each in known.values() for correction in each}
    for row in rows if known else ():
        said = {normal(text) for column in columns for text in _texts(row, column)}
        met = [each for text in said if text for key in keys for each in known.get(_ref_of(text, key=key), ())]
        for correction in met:
            if not correction.is_short or getattr(row, item) == correction.item_uid:
                WrongLeft.objects.get_or_create(correction=correction, location=name, row_uid=row.uid)
    return (rows[-1].pk if rows else at.after), len(rows)


@transaction.atomic
def _end(request: ErasureRequest, at: At, *, now: datetime) -> None:
    corrections = request.corrections.filter(pk__lte=at.upto)
    corrections.update(checked_at=now)
    found = WrongLeft.objects.filter(correction__in=corrections).count()
    counts = {"corrections": corrections.count(), "left": found}
    outcome = Outcome.FAILED if found else Outcome.OK
    log.append(Action.ERASURE_CORRECTIONS_CHECKED, actor=ACTOR, target=target_of(request), at=now, outcome=outcome, counts=counts)


def ask_again(*, now: datetime) -> None:
    """Have every answered request to correct looked at that is not closed yet: what was left may have gone."""
    for request in ErasureRequest.objects.filter(kind=Kind.RECTIFY, state=Status.COMPLETED).order_by("pk"):
        ask(request, actor=ACTOR, now=now)


def _texts(row: Any, column: str) -> Iterator[str]:
    value = getattr(row, column)
    if isinstance(row, Archived):
        value = archive.unpack(value)
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _ref_of(text: str, *, key: str = "") -> str:
    return refs.name_ref("corrected", normal(text), key=key)
