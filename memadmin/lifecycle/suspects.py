"""What was evicted of one user, with what is still known of it: the archive's copies, then what only runs and history remember.

The newest evictions are compared first, so many at one look, and a further look goes on behind them: none is out of reach. Nothing that
has come back is among them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memadmin.lifecycle.models import ItemKind, Run, RunKept, RunVictim
from memadmin.lifecycle.querysets import VictimQuerySet
from memadmin.store.archive import unpack
from memadmin.store.models import Archived, Feedback, HistoryEntry, ItemType, LongTermMemory, Session, Subject
from memadmin.store.words import words_of

COMPARED = 500  # evicted items of each kind, those with a copy and those without, at one look
SHOWN = 20  # of one look, where fewer have a word in common with the report
KINDS = {ItemKind.SESSION: ItemType.SESSION, ItemKind.LONG_TERM: ItemType.LONG_TERM}


@dataclass(frozen=True, slots=True)
class Suspect:
    """An evicted item. `text` None where nobody knows it any more; `words` of the report that it holds, and their weight, 0 to 1."""

    uid: UUID
    item_type: ItemType
    text: str | None
    evicted_at: datetime | None
    reason: str
    run_number: int | None = None
    policy_version_id: int | None = None
    version_number: int | None = None
    in_archive: bool = False
    restorable_until: datetime | None = None
    words: int = 0
    likeness: float = 0.0
    pointed_at: bool = False


@dataclass(frozen=True, slots=True)
class Suspects:
    """The likeliest first. `more`: there are older evictions, which a further look compares."""

    found: tuple[Suspect, ...]
    asked: int  # different words of the report
    more: bool = False


def suspects_of(feedback: Feedback, *, skip: int = 0) -> Suspects:
    """Return what was evicted of the user before the report was noticed: what it points at, then by words in common, then the latest.

    `skip`: so many of the newest have been looked at. What has a word in common is never left out of a look, nor what is pointed at.
    """
    subject = Subject.objects.get(pk=feedback.subject_id)
    before = feedback.noticed_at
    copies = list(
        Archived.objects.filter(subject=subject, archived_at__lte=before).order_by("-archived_at", "-id")[skip : skip + COMPARED + 1]
    )
    victims = list(taken_of(subject).filter(run__started_at__lte=before).order_by("-run_id", "seq")[skip : skip + COMPARED + 1])
    found = [*_with_runs([_of_copy(copy) for copy in copies[:COMPARED]]), *_remembered(subject, victims[:COMPARED])]
    pointed = {uid for uid in (feedback.memory_uid, feedback.session_uid) if uid is not None}
    missing = (suspect_named(subject, uid) for uid in pointed - {suspect.uid for suspect in found})
    found += [suspect for suspect in missing if suspect is not None and (suspect.evicted_at is None or suspect.evicted_at <= before)]
    asked = words_of(feedback.words)
    ranked = sorted(_compared(found, asked, pointed), key=_likeliest)
    shown = [suspect for place, suspect in enumerate(ranked) if place < SHOWN or suspect.words or suspect.pointed_at]
    return Suspects(tuple(shown), len(asked), more=max(len(copies), len(victims)) > COMPARED)


def suspect_named(subject: Subject, uid: UUID) -> Suspect | None:
    """Return the eviction of one item of the user; None when there was none, or it has come back."""
    copy = Archived.objects.filter(subject=subject, uid=uid).first()
    if copy is not None:
        return _with_runs([_of_copy(copy)])[0]
    victims = taken_of(subject).filter(item_uid=uid).order_by("-run_id", "seq")
    return next(iter(_remembered(subject, list(victims[:COMPARED]))), None)


def _of_copy(copy: Archived) -> Suspect:
    body = unpack(copy.payload)
    return Suspect(
        uid=copy.uid,
        item_type=ItemType(copy.item_type),
        text=_text_in(body),
        evicted_at=copy.archived_at,
        reason=copy.reason,
        run_number=copy.run_number,
        in_archive=True,
        restorable_until=copy.expires_at,
    )


def _text_in(body: Mapping[str, Any]) -> str:
    """Return what an archive copy says: the memory, or the session's summary and messages."""
    row = body["row"]
    said = [str(row.get("text") or row.get("summary") or "")]
    for working in body["working"]:
        said += [str(message.get("content") or "") for message in working.get("messages") or () if isinstance(message, Mapping)]
    return "\n".join(part for part in said if part)


def _with_runs(suspects: Sequence[Suspect]) -> list[Suspect]:
    numbers = {suspect.run_number for suspect in suspects if suspect.run_number is not None}
    runs = {run.number: run for run in Run.objects.filter(number__in=numbers).select_related("policy_version")}
    return [_under(suspect, runs.get(suspect.run_number or 0)) for suspect in suspects]


def _under(suspect: Suspect, run: Run | None) -> Suspect:
    version = run.policy_version if run else None
    return replace(suspect, policy_version_id=version.pk if version else None, version_number=version.number if version else None)


def taken_of(subject: Subject) -> VictimQuerySet:
    """Return what runs named of the user and came to; an index leads to it, whatever the length of the lists."""
    return RunVictim.objects.of_subject(subject).filter(item_kind__in=KINDS).dealt_with()


def _remembered(subject: Subject, victims: Sequence[RunVictim]) -> list[Suspect]:
    """Return which of these were taken and are not in the archive: their time is over, or they were never kept there."""
    latest = {victim.item_uid: victim for victim in reversed(victims)}
    gone = {key: latest[key] for key in _gone(latest)}
    kept = _kept(gone.values())
    texts = _last_words(subject, gone)
    runs = Run.objects.select_related("policy_version").in_bulk({victim.run_id for victim in gone.values()})
    taken = [victim for victim in gone.values() if (victim.run_id, victim.seq) not in kept]
    return [_of_victim(victim, runs[victim.run_id], texts.get(victim.item_uid)) for victim in taken]


def _gone(named: Iterable[UUID]) -> set[UUID]:
    """Leave out what is there again, and what was named and never taken: it is there still."""
    uids = set(named)
    for model in (LongTermMemory, Session, Archived):
        uids -= set(model._default_manager.filter(uid__in=uids).values_list("uid", flat=True))
    return uids


def _kept(victims: Iterable[RunVictim]) -> set[tuple[int, int]]:
    places = {(victim.run_id, victim.seq) for victim in victims}
    rows = RunKept.objects.filter(run__in={run for run, _ in places}, seq__in={seq for _, seq in places})
    return {place for place in rows.values_list("run_id", "seq") if place in places}


def _last_words(subject: Subject, uids: Iterable[UUID]) -> dict[UUID, str]:
    """Return what history last knew of memories that have gone."""
    entries = HistoryEntry.objects.filter(subject=subject, memory_uid__in=set(uids)).order_by("id")
    said = {uid: after or before for uid, before, after in entries.values_list("memory_uid", "before", "after") if uid is not None}
    return {uid: str(body.get("memory") or "") for uid, body in said.items() if isinstance(body, Mapping) and body.get("memory")}


def _of_victim(victim: RunVictim, run: Run, text: str | None) -> Suspect:
    version = run.policy_version
    return Suspect(
        uid=victim.item_uid,
        item_type=KINDS[ItemKind(victim.item_kind)],
        text=text,
        evicted_at=run.started_at,
        reason=str(victim.reason),
        run_number=run.number,
        policy_version_id=version.pk if version else None,
        version_number=version.number if version else None,
    )


def _compared(suspects: Sequence[Suspect], asked: Sequence[str], pointed: set[Any]) -> list[Suspect]:
    """Weigh the words in common: the fewer of the evicted items have a word, the more it says."""
    held = [set(words_of(suspect.text)) if suspect.text else set() for suspect in suspects]
    common = Counter(word for words in held for word in words & set(asked))
    weight = {word: math.log(1 + len(suspects) / common[word]) for word in asked if common[word]}
    whole = sum(weight.values()) or 1.0
    return [
        replace(
            suspect,
            words=len(words & set(asked)),
            likeness=sum(weight[word] for word in asked if word in words) / whole,
            pointed_at=suspect.uid in pointed,
        )
        for suspect, words in zip(suspects, held, strict=True)
    ]


def _likeliest(suspect: Suspect) -> tuple[bool, float, float, str]:
    evicted = suspect.evicted_at.timestamp() if suspect.evicted_at else 0.0
    return (not suspect.pointed_at, -suspect.likeness, -evicted, str(suspect.uid))
