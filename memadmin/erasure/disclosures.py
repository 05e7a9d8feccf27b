"""Which recipients were given data of whom, and by which id they know the person (GDPR articles 15(1)(c) and 19).

Invariant: a recipient's own id is sealed from the moment at which it is said, and goes only after the notice of the person's erasure names
it. No log holds whose data it was: an entry names the recipient alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import recipients
from memadmin.erasure.execution.erasing import count
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import Disclosure, ErasureRequest, Kind, Recipient
from memadmin.store import locations, refs, sealed
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.models import Subject
from memadmin.store.text import clean, says_something

PURPOSE = b"memadmin.disclosures"
PLACE = "erasure.disclosures"
REF_KIND = "recipient_own_id"
COUNTS: dict[str, Any] = {
    "people": Count("subject_id", distinct=True),
    "known": Count("subject_id", distinct=True, filter=~Q(own_ref="")),
    "first": Min("first_at"),
    "last": Max("last_at"),
}


class BadDisclosure(ValueError):
    """It cannot have been so; the message says why, `field` what it is about."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class NoSuchUser(Exception):
    """Nothing is stored of this user (any more)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Of how many people a recipient was given data, of how many of them no own id is known, and between when."""

    people: int
    unknown: int
    first_at: datetime | None
    last_at: datetime | None

    @property
    def known(self) -> int:
        return self.people - self.unknown


@dataclass(frozen=True, slots=True)
class Given:
    """Data of a user that a recipient was given. `own_id`: by which it knows the person itself, None where nobody has said."""

    subject: Subject
    own_id: str | None
    at: datetime


class NotRecorded(Exception):
    """Of what was to be noted at once nothing was: `problems` says what is wrong with which of them, by their places in the list."""

    def __init__(self, problems: Mapping[int, BadDisclosure | NoSuchUser]) -> None:
        super().__init__(f"{len(problems)} of them cannot have been so")
        self.problems = problems


def record(
    recipient: Recipient, subject: Subject, *, own_id: str | None, at: datetime, actor: str, now: datetime
) -> tuple[Disclosure, bool]:
    """Note that a recipient was given data of a user; return the note and whether it is new. Said again it only moves its times.

    Raises BadDisclosure, NoSuchUser, KeysUnusable.
    """
    try:
        return record_all(recipient, [Given(subject, own_id, at)], actor=actor, now=now)[0]
    except NotRecorded as refused:
        raise refused.problems[0] from None


@transaction.atomic
def record_all(recipient: Recipient, given: Sequence[Given], *, actor: str, now: datetime) -> list[tuple[Disclosure, bool]]:
    """Note all of these or none; return each note and whether it is new. Raises NotRecorded, KeysUnusable."""
    wanted = {each.subject.pk for each in given}  # locked: waits for an erasure that removes them just now
    there = set(Subject.objects.select_for_update().filter(pk__in=wanted).order_by("pk").values_list("pk", flat=True))
    problems = {at: wrong for at, each in enumerate(given) if (wrong := _wrong_with(recipient, each, there, now=now))}
    if problems:
        raise NotRecorded(problems)
    made = [_record_one(recipient, each) for each in given]
    counts = {"new": sum(is_new for _, is_new in made), "own_id": sum(each.own_id is not None for each in given)}
    log.note(Action.DISCLOSURE_RECORDED, actor=actor, target=str(recipient), at=now, counts=counts)
    return made


def _wrong_with(recipient: Recipient, given: Given, there: Collection[int], *, now: datetime) -> BadDisclosure | NoSuchUser | None:
    try:
        _check(recipient, given.subject, own_id=given.own_id, at=given.at, now=now)
    except (BadDisclosure, NoSuchUser) as wrong:
        return wrong
    return None if given.subject.pk in there else NoSuchUser()


def _record_one(recipient: Recipient, given: Given) -> tuple[Disclosure, bool]:
    subject, at, own_id = given.subject, given.at, given.own_id
    known = _known(recipient, subject, own_id)
    made = known or Disclosure(recipient=recipient, container_id=subject.container_id, subject_id=subject.pk, first_at=at, last_at=at)
    made.first_at, made.last_at = min(made.first_at, at), max(made.last_at, at)
    if own_id is not None and made.own_id is None:
        made.own_id, made.own_ref = sealed.box(PURPOSE).encrypt(own_id.encode()), refs.name_ref(REF_KIND, own_id)
    made.save()
    return made, known is None


def _check(recipient: Recipient, subject: Subject, *, own_id: str | None, at: datetime, now: datetime) -> None:
    if subject.user_id is None:
        raise NoSuchUser  # what is of nobody in particular was given of nobody
    if not recipients.of_containers([subject.container_id]).filter(pk=recipient.pk).exists():
        raise BadDisclosure("They are not registered as getting data of this container.", "recipient")
    if at > now or (recipient.ended_at is not None and at > recipient.ended_at):
        raise BadDisclosure("They cannot have been given it then: this time is to come, or they got nothing any more.", "at")
    if own_id is not None and (not says_something(own_id) or own_id != clean(own_id) or len(own_id) > MAX_ID_LENGTH):
        raise BadDisclosure(f"Their own id is a text of at most {MAX_ID_LENGTH} characters that says something.", "own_id")


def _known(recipient: Recipient, subject: Subject, own_id: str | None) -> Disclosure | None:
    """Return the note that this one adds to: of the same own id, or else one that has none yet."""
    rows = Disclosure.objects.filter(recipient=recipient, subject_id=subject.pk)
    if own_id is None:
        return rows.order_by("-last_at", "-pk").first()
    same = [refs.name_ref(REF_KIND, own_id, key=key) for key in refs.known_keys()]
    return rows.filter(own_ref__in=same).first() or rows.filter(own_ref="").first()


def own_ids(recipient: Recipient, subjects: Iterable[int]) -> dict[int, list[str]]:
    """Return by which ids of its own a recipient knows these users; who is not in it, is known by ours. Raises KeysUnusable."""
    found: dict[int, list[str]] = {}
    for subject, own_id in _of(recipient, subjects).exclude(own_id=None).order_by("pk").values_list("subject_id", "own_id"):
        found.setdefault(subject, []).append(sealed.opened(PURPOSE, bytes(own_id or b"")).decode())
    return {subject: list(dict.fromkeys(ids)) for subject, ids in found.items()}


def counts_of(recipient: Recipient, containers: Collection[int], *, subjects: Iterable[int] | None = None) -> Counted:
    """Count the people of these containers of whom a recipient was given data; of these users alone where they are given."""
    rows = Disclosure.objects.filter(recipient=recipient) if subjects is None else _of(recipient, subjects)
    return _counted(rows.filter(container__in=containers).aggregate(**COUNTS))


def by_container(recipient: Recipient, containers: Collection[int]) -> dict[int, Counted]:
    """Return the same by container, without those of which nobody's data was given."""
    rows = Disclosure.objects.filter(recipient=recipient, container__in=containers).order_by()
    return {int(row["container"]): _counted(row) for row in rows.values("container").annotate(**COUNTS)}


def _counted(row: Mapping[str, Any]) -> Counted:
    return Counted(people=row["people"], unknown=row["people"] - row["known"], first_at=row["first"], last_at=row["last"])


def _of(recipient: Recipient, subjects: Iterable[int]) -> QuerySet[Disclosure]:
    return Disclosure.objects.filter(recipient=recipient, subject_id__in=list(subjects))


def erase(request: ErasureRequest, *, actor: str, now: datetime) -> int:
    """Erase what is noted of the users whom a request has erased, and return how much. After its notices, in the caller's transaction."""
    kind = Kind(request.kind)
    if not (kind.erases and kind.is_about_people):
        return 0
    meant = request.subjects.filter(ticked=True, subject_id__isnull=False).values("subject_id")
    gone, _ = Disclosure.objects.filter(subject_id__in=meant).delete()
    if gone:
        count(request, locations.get(PLACE), erased=gone)
        log.append(Action.DISCLOSURE_ERASED, actor=actor, target=target_of(request), at=now, counts={"disclosures": gone})
    return gone
