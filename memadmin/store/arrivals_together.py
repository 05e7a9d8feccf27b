"""Letting in or dropping many of the items that were set aside, by one word of one person.

Each item is decided as by itself: it must still wait as it did when somebody looked at it (what arrives anew in its place is another row),
and what may not be let in stays set aside. Batches are transactions of their own. In the log each has one entry that says why and how many,
and each item one of the activity stream, since they may be thousands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import groupby

from django.db import transaction

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store import counters, dropping, ingest, quarantine
from memadmin.store.held_copies import Restricted
from memadmin.store.ingest import UidTaken
from memadmin.store.models import Container, Outcome, Returned
from memadmin.store.opening import Suppressed
from memadmin.store.suppression import NoReason
from memadmin.store.suppression_keys import KeysUnusable
from memadmin.store.text import says_something

AT_ONCE = 200  # items in one transaction
STAYS: dict[type[Exception], str] = {  # what keeps an item from being let in -> its name among the counts
    Suppressed: "user_shut_out",
    Restricted: "restricted",
    UidTaken: "id_taken",
    KeysUnusable: "key_missing",
}


class Word(StrEnum):
    LET_IN = "let_in"
    DROP = "drop"


@dataclass(slots=True)
class Decided:
    """How many it was done to, how many stay set aside by what kept them, and how many did not wait any more as they had."""

    done: int = 0
    stay: Counter[str] = field(default_factory=Counter)
    changed: int = 0


def decide(keys: Sequence[int], word: Word, *, reason: str, actor: str, now: datetime) -> Decided:
    """Do this to the items of these keys, for one reason. Raises NoReason."""
    if not says_something(reason):
        raise NoReason("Say why these come back or go: the next person will ask.")
    decided, wanted = Decided(), sorted(set(keys))
    for part in _batches(wanted):
        _decide_batch(decided, part, word, reason=reason.strip(), actor=actor, now=now)
    decided.changed = len(wanted) - decided.done - decided.stay.total()
    return decided


def _batches(keys: Sequence[int]) -> Iterator[list[int]]:
    """Yield the keys of what waits, each batch of one container."""
    found: list[tuple[int, int]] = []
    for start in range(0, len(keys), AT_ONCE):
        rows = quarantine.waiting().filter(pk__in=keys[start : start + AT_ONCE])
        found += rows.values_list("container_id", "pk")
    for _, of_container in groupby(sorted(found), key=lambda each: each[0]):
        of_one = [key for _, key in of_container]
        yield from (of_one[start : start + AT_ONCE] for start in range(0, len(of_one), AT_ONCE))


@transaction.atomic
def _decide_batch(decided: Decided, keys: Sequence[int], word: Word, *, reason: str, actor: str, now: datetime) -> None:
    rows = quarantine.waiting().filter(pk__in=keys)
    counters.lock(rows.values_list("subject_id", flat=True))  # before the rows, as a writer who sets the same item aside anew
    waiting = list(rows.select_for_update().order_by("pk"))
    if not waiting:
        return
    container = Container.objects.get(pk=waiting[0].container_id)
    done, stay = waiting, Counter[str]()
    if word is Word.LET_IN:
        done, stay = _let_in(container, waiting, actor=actor, now=now)
    Returned.objects.filter(pk__in=[each.pk for each in done], outcome=Outcome.QUARANTINED).delete()
    if word is Word.DROP:
        dropping.forget_users({each.subject_id for each in done})
    decided.done += len(done)
    decided.stay += stay
    action = Action.ARRIVAL_RELEASED if word is Word.LET_IN else Action.ARRIVAL_DROPPED
    log.note_each(action, [f"{each.item_type}/{each.uid}" for each in done], actor=actor, at=now, reason_code="together")
    log.append(
        Action.ARRIVALS_DECIDED,
        actor=actor,
        target=f"containers/{container.uid}",
        at=now,
        reason_code=word.value,
        counts={"items": len(done), **stay},
        payload={"reason": reason},
    )


def _let_in(container: Container, rows: Sequence[Returned], *, actor: str, now: datetime) -> tuple[list[Returned], Counter[str]]:
    """Let in what can be, all of it at once where nothing is in the way; return what went in, and what kept the others out."""
    try:
        _write(container, rows, actor=actor, now=now)
        return list(rows), Counter()
    except (Suppressed, Restricted, UidTaken, KeysUnusable) as error:
        if len(rows) == 1:
            return [], Counter([STAYS[type(error)]])
    let_in, stay = [], Counter[str]()
    for each in rows:
        went, kept = _let_in(container, [each], actor=actor, now=now)
        let_in += went
        stay += kept
    return let_in, stay


@transaction.atomic
def _write(container: Container, rows: Sequence[Returned], *, actor: str, now: datetime) -> None:
    ingest.write_released(container, [quarantine.content_of(each) for each in rows], actor=actor, now=now)
