"""Whether what was corrected for a request is right everywhere: the wrong words are looked for in all that is stored of the person.

They are known again by keyed digests: whole texts without regard to case, width and spaces, and the same words in a row inside longer
texts, without regard to the signs between them. A word is whole: `art` is not in `part`. What says the wrong words among others may be
right, as in "does not work there": a person takes them out, or leaves them. Texts of fewer than three words are looked for in the item
itself, its history and its copies alone: elsewhere a "yes" is another one. Where the words stand is a row for each place, so that a step
that is done twice says the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
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
_WORD = re.compile(r"\w+")
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
                **_words_of(said, right=text),
            }
            Correction.objects.update_or_create(request=request, item_uid=uid, before_ref=_ref_of(said), defaults=values)


def ask(request: ErasureRequest, *, actor: str, now: datetime) -> None:
    """Have the corrections of a request looked at."""
    queue.enqueue(CHECK, target=target_of(request), requested_by=actor, now=now)


def waiting(request: ErasureRequest) -> QuerySet[Correction]:
    """Return the corrections at which nobody has looked since they were made."""
    return request.corrections.filter(checked_at=None)


def left(requests: QuerySet[ErasureRequest]) -> QuerySet[WrongLeft]:
    """Return where words stand that were corrected for these requests, and nobody has found that they are right there."""
    return WrongLeft.objects.filter(correction__request__in=requests, left_by="")


def settled(request: ErasureRequest) -> QuerySet[WrongLeft]:
    """Return where somebody has found that what stands there is right."""
    return WrongLeft.objects.filter(correction__request=request).exclude(left_by="")


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
    WrongLeft.objects.filter(correction__request=request, left_by="").delete()
    last = request.corrections.order_by("-pk").values_list("pk", flat=True).first()
    return At(last or 0)


def _look(request: ErasureRequest, at: At) -> tuple[int, int]:
    """Look through some rows, and return the last one's key and how many there were."""
    name, (model, item, columns) = list(PLACES.items())[at.place]
    meant = request.subjects.filter(ticked=True, subject_id__isnull=False).values("subject_id")
    rows = list(model._default_manager.filter(subject_id__in=meant, pk__gt=at.after).order_by("pk")[:ROWS_AT_ONCE])
    wrong = Wrong(list(request.corrections.filter(pk__lte=at.upto)))
    right = set(settled(request).filter(location=name).values_list("row_uid", "correction__before_ref"))
    for row in rows if wrong.corrections else ():
        texts = [text for column in columns for text in texts_of(row, column)]
        for correction, inside in wrong.met_in(texts, getattr(row, item)).items():
            if inside and (row.uid, correction.before_ref) in right:
                continue  # the same words, corrected in another item
            WrongLeft.objects.get_or_create(correction=correction, location=name, row_uid=row.uid, defaults={"inside": inside})
    return (rows[-1].pk if rows else at.after), len(rows)


class Wrong:
    """What was wrong, by its digests, to be met again in texts."""

    def __init__(self, corrections: Sequence[Correction]) -> None:
        self.corrections = corrections
        self._whole: dict[str, list[Correction]] = defaultdict(list)
        self._parts: dict[tuple[int, str], dict[str, list[Correction]]] = defaultdict(lambda: defaultdict(list))
        for each in corrections:
            self._whole[each.before_ref].append(each)
            if each.words is not None:
                self._parts[each.words, each.key_id][each.words_ref].append(each)
        self._keys = {each.key_id for each in corrections}

    def met_in(self, texts: Sequence[str], item_uid: UUID | None) -> dict[Correction, bool]:
        """Return which corrections the texts of a row meet, and whether only among other words; short ones in their own item alone."""
        found: dict[Correction, bool] = {}
        for text in texts:
            for correction, _ in self._inside(text):
                found.setdefault(correction, True)
            for each in (each for key in self._keys for each in self._whole.get(_ref_of(text, key=key), ()) if normal(text)):
                found[each] = False
        return {each: inside for each, inside in found.items() if not each.is_short or item_uid == each.item_uid}

    def where_in(self, text: str) -> str:
        """Return the passage of a text that says what was wrong, "" where none does."""
        words = list(_WORD.finditer(text))
        for correction, place in self._inside(text):
            if len(words) == len(_words_in(text)):  # else folding has parted a word
                return text[words[place].start() : words[place + (correction.words or 1) - 1].end()]
        return ""

    def _inside(self, text: str) -> Iterator[tuple[Correction, int]]:
        said = _words_in(text)
        for (length, key), known in self._parts.items():
            for place in range(len(said) - length + 1):
                for correction in known.get(_words_ref(said[place : place + length], key=key), ()):
                    yield correction, place


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


def texts_of(row: Any, column: str) -> Iterator[str]:
    """Yield every text in a column of a row."""
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


def _words_of(wrong: str, *, right: str) -> dict[str, Any]:
    """Return by what the wrong words are known inside longer texts; by nothing where what is right says them too, among others."""
    words = _words_in(wrong)
    correct = _words_in(right)
    said_too = any(correct[at : at + len(words)] == words for at in range(len(correct) - len(words) + 1))
    if not words or said_too:
        return {"words": None, "words_ref": ""}
    return {"words": len(words), "words_ref": _words_ref(words)}


def _words_in(text: str) -> list[str]:
    return _WORD.findall(normal(text))


def _words_ref(words: Sequence[str], *, key: str = "") -> str:
    return refs.name_ref("corrected_words", " ".join(words), key=key)


def _ref_of(text: str, *, key: str = "") -> str:
    return refs.name_ref("corrected", normal(text), key=key)
