"""Taking a request in: whom or what it is about is settled here, by exact ids and fixed lists, and never widened afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import deadlines, freezing, grounds
from memadmin.erasure.look_alikes import NAMES_NOBODY, Candidate, says_whom
from memadmin.erasure.models import (
    Channel,
    Drill,
    ErasureRequest,
    Ground,
    IdentityLevel,
    Kind,
    NoteKind,
    Origin,
    Profile,
    RequestItem,
    RequestNote,
    RequestSubject,
    Status,
)
from memadmin.erasure.moves import Refusal
from memadmin.store import refs
from memadmin.store.models import ItemType
from memadmin.store.text import clean, says_something

MOST_ITEMS = 10_000
MOST_USERS = 1_000
MOST_ALIASES = 50
MOST_WAITING = 100  # requests of one person or application whose search nobody has begun
LONGEST_NOTE = 20_000
NUMBER_TRIES = 20
ITEM_TYPES = {Kind.SESSION: ItemType.SESSION, Kind.MESSAGE: ItemType.WORKING, Kind.MEMORY: ItemType.LONG_TERM}


class NobodyMeant(Refusal):
    """The request names nobody and nothing."""

    code = "nobody_meant"


class NotForThisKind(Refusal):
    """What the request names does not fit what it asks for: a session id where a memory is meant."""

    code = "wrong_kind"


class TooMany(Refusal):
    code = "too_many"


class KeyReused(Refusal):
    """The key came with another request before."""

    code = "key_reused"


class NothingWritten(Refusal):
    """A text is wanted, and there is none that can be read."""

    code = "nothing_written"


class BadReceipt(Refusal):
    """The day of receipt lies ahead, or further back than a request may wait to be typed in."""

    code = "bad_receipt"


@dataclass(frozen=True, slots=True)
class Thing:
    """A session, message or memory, named by uid."""

    item_type: ItemType
    uid: UUID
    container_id: int
    subject_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a request says when it comes in.

    `ticked` are the users that are meant, `others` those that look like them and about whom somebody has decided (False) or not yet
    (None). `unknown` are (container or None, id) that no container knows. `aliases` are names to search for in other people's items.
    `freeze` restricts the users that are meant until the request has ended.
    """

    kind: Kind
    ground: Ground
    channel: Channel
    profile: Profile = Profile.GDPR
    ticked: Sequence[Candidate] = ()
    others: Sequence[tuple[Candidate, bool | None]] = ()
    unknown: Sequence[str] = ()
    aliases: Sequence[str] = ()
    things: Sequence[Thing] = ()
    received_on: date | None = None  # None: today
    identity: IdentityLevel | None = None
    note: str = ""
    key: str = ""
    freeze: bool = False
    follows: ErasureRequest | None = None
    drill: Drill | None = None  # of which it is the request


@transaction.atomic
def open_request(opening: Opening, *, actor: str, now: datetime) -> ErasureRequest:
    """Store a request and return it; the one that came with the same key before, where that asked for the same.

    Raises NobodyMeant, NotForThisKind, WrongGround, TooMany, KeyReused, BadReceipt.
    """
    _check(opening)
    key = hashlib.sha256(opening.key.encode()).hexdigest() if opening.key else None
    known = _same_key(opening, key)
    if known is not None:
        return known
    _check_waiting(actor)
    request = _store(opening, key, actor=actor, now=now)
    _name(request, opening)
    if opening.note.strip():
        note(request, opening.note, kind=NoteKind.NOTE, actor=actor, now=now)
    link_duplicates(request)
    if opening.freeze:
        freezing.freeze(request, actor=actor, now=now)
    counts = {"users": len(opening.ticked) + len(opening.unknown), "look_alikes": len(opening.others), "items": len(opening.things)}
    log.append(Action.ERASURE_OPENED, actor=actor, target=target_of(request), at=now, reason_code=opening.kind.value, counts=counts)
    return request


def target_of(request: ErasureRequest) -> str:
    return request.target


def today(now: datetime) -> date:
    """Return the day in the installation's legal time zone."""
    return now.astimezone(settings.LEGAL_TIME_ZONE).date()


def dates_of(request: ErasureRequest) -> dict[str, date]:
    """Return the dates as columns, from the receipt, the extension and the pauses that the request has had."""
    found = deadlines.due(
        today(request.received_at),
        profile=request.profile,
        extended=request.extended_at is not None,
        paused_days=request.paused_days,
        holidays=settings.LEGAL_HOLIDAYS,
    )
    return {"target_on": found.target, "due_on": found.conservative, "rolled_on": found.rolled}


def note(request: ErasureRequest, text: str, *, kind: NoteKind, actor: str, now: datetime) -> RequestNote:
    """Keep what somebody wrote, apart from the request and from the log. Raises NothingWritten, TooMany."""
    words = clean(text).strip()
    if not says_something(words):
        raise NothingWritten("Write at least a word.")
    if len(words) > LONGEST_NOTE:
        raise TooMany(f"This text has {len(words):,} characters; at most {LONGEST_NOTE:,} are kept.")
    return RequestNote.objects.create(request=request, kind=kind, text=words, author=actor, written_at=now)


def link_duplicates(request: ErasureRequest) -> None:
    """Point the less certain of two open requests for the same to the other one. For information: neither waits for the other.

    One that is not verified never becomes what a verified one points to, so that a stranger cannot absorb a person's request.
    """
    refs_meant = [*request.subjects.filter(ticked=True).exclude(origin=Origin.ALIAS).values_list("subject_ref", flat=True)]
    others = ErasureRequest.objects.open().filter(kind=request.kind, duplicate_of=None).exclude(pk=request.pk)
    same_items = others.filter(items__item_uid__in=request.items.values("item_uid")).distinct()
    everybody = [request, *(others.of_refs(refs_meant) if refs_meant else same_items)]
    first = min(everybody, key=lambda each: (each.identity_level is None, each.received_at, each.pk))
    for each in everybody:
        if each.pk != first.pk and (first.identity_level is not None or each.identity_level is None):
            ErasureRequest.objects.filter(pk=each.pk).update(duplicate_of=first)
    ErasureRequest.objects.filter(pk=first.pk).update(duplicate_of=None)
    request.refresh_from_db()


def _check(opening: Opening) -> None:
    if not all(map(says_whom, opening.unknown)):  # whatever the entrance has looked at; who is ticked is a user of the store
        raise NobodyMeant(NAMES_NOBODY)
    if not all(map(says_whom, opening.aliases)):
        raise NobodyMeant("A name to search for says nothing: names are looked for whole, and there are no wildcards.")
    if opening.kind.is_about_people:
        if not opening.ticked and not opening.unknown:
            raise NobodyMeant("Say whom this is about: name a user, and tick at least one of those found.")
        if opening.things:
            raise NotForThisKind(f"To {opening.kind.label}, name users, not single items.")
    else:
        if not opening.things:
            raise NobodyMeant("Say what this is about: no such item is in the store.")
        if opening.ticked or opening.unknown:
            raise NotForThisKind(f"To {opening.kind.label}, name items, not users.")
    if opening.follows is None:  # one that follows another has the ground of that
        grounds.check(opening.kind, opening.ground)
    if opening.freeze and opening.kind not in freezing.FREEZABLE:
        raise NotForThisKind(
            f"To {opening.kind.label}, nothing is restricted on receipt: that is for erasing or correcting a person's data."
        )
    wanted = ITEM_TYPES.get(opening.kind)
    if wanted and any(thing.item_type != wanted for thing in opening.things):
        raise NotForThisKind(f"To {opening.kind.label}, give the id of a {wanted.label}; this is the id of something else.")
    limits = ((opening.things, MOST_ITEMS), ([*opening.ticked, *opening.unknown], MOST_USERS), (opening.aliases, MOST_ALIASES))
    for given, most in limits:
        if len(given) > most and opening.kind is not Kind.STORAGE_LIMIT:
            raise TooMany(f"{len(given):,} are more than one request may name: {most:,}.")


def _check_waiting(actor: str) -> None:
    """A mass of requests is looked at before more of it is taken in; the clock has one for each container."""
    waiting = ErasureRequest.objects.filter(opened_by=actor, state=Status.RECEIVED).exclude(kind=Kind.STORAGE_LIMIT).count()
    if waiting >= MOST_WAITING:
        raise TooMany(f"{waiting:,} requests that you took in wait for their search. Go on with these before you take in more.")


def _same_key(opening: Opening, key: str | None) -> ErasureRequest | None:
    known = _of_key(opening.channel, key).first() if key else None
    if known is None:
        return None
    meant = set(known.subjects.values_list("subject_ref", flat=True)) | {str(uid) for uid in known.items.values_list("item_uid", flat=True)}
    given = {str(thing.uid) for thing in opening.things} | {ref for ref, _ in _named(opening)}
    if known.kind != opening.kind or meant != given:
        raise KeyReused(f"This key came with request {known.number}, which asks for something else. Take another key.")
    return known


def _store(opening: Opening, key: str | None, *, actor: str, now: datetime) -> ErasureRequest:
    received_at = _receipt(opening.received_on, now)
    identity = {"identity_level": opening.identity, "identity_by": actor, "identity_at": now} if opening.identity is not None else {}
    request = ErasureRequest(
        kind=opening.kind,
        ground=opening.ground,
        profile=opening.profile,
        channel=opening.channel,
        received_at=received_at,
        state_since=now,
        opened_by=actor,
        idempotency_key=key,
        follows=opening.follows,
        drill=opening.drill,
        single_operator=settings.ERASURE_SINGLE_OPERATOR,
        **identity,
    )
    for name, day in dates_of(request).items():
        setattr(request, name, day)
    return _numbered(request)


def _numbered(request: ErasureRequest) -> ErasureRequest:
    """Save the request under the next number; of two that come at once the later one tries the one after it."""
    for left in reversed(range(NUMBER_TRIES)):
        request.number = (ErasureRequest.objects.aggregate(last=Max("number"))["last"] or 0) + 1
        try:
            with transaction.atomic():
                request.save()
        except IntegrityError:
            if request.idempotency_key and _of_key(request.channel, request.idempotency_key).exists():
                raise KeyReused("A request with this key is coming in this moment. Send it again.") from None
            if not left:
                raise
        else:
            break
    return request


def _of_key(channel: str, key: str) -> QuerySet[ErasureRequest]:
    return ErasureRequest.objects.filter(channel=channel, idempotency_key=key)


def _receipt(received_on: date | None, now: datetime) -> datetime:
    if received_on is None or received_on == today(now):
        return now
    if not today(now).replace(year=today(now).year - 1, day=1) <= received_on < today(now):
        raise BadReceipt(f"The day of receipt is at most a year ago and not ahead of {today(now):%d %b %Y}.")
    return datetime.combine(received_on, datetime.min.time(), tzinfo=settings.LEGAL_TIME_ZONE)


def _name(request: ErasureRequest, opening: Opening) -> None:
    RequestSubject.objects.bulk_create([row for _, row in _named(opening, request)])
    list_items(request, opening.things)


def list_items(request: ErasureRequest, things: Iterable[Thing]) -> None:
    """Add to the request's list of items. Inside the caller's transaction."""
    RequestItem.objects.bulk_create(
        [
            RequestItem(
                request=request,
                item_type=thing.item_type,
                item_uid=thing.uid,
                item_ref=refs.item_ref(thing.uid),
                container_id=thing.container_id,
                subject_id=thing.subject_id,
            )
            for thing in {thing.uid: thing for thing in things}.values()
        ],
        batch_size=1_000,
    )


def _named(opening: Opening, request: ErasureRequest | None = None) -> Iterable[tuple[str, RequestSubject]]:
    """Return every user and alias once, by its digest; what is ticked in comes first and counts. A user's own id is no alias."""
    rows: dict[str, RequestSubject] = {}
    decided = [*((each, True) for each in opening.ticked), *opening.others]
    for candidate, ticked in decided:
        row = RequestSubject(
            container_id=candidate.container_id,
            subject_id=candidate.subject_id,
            subject_uid=candidate.subject_uid,
            user_id=candidate.user_id,
            subject_ref=refs.subject_ref(candidate.container_uid, candidate.user_id),
            origin=candidate.origin,
            ticked=ticked,
        )
        rows.setdefault(row.subject_ref, row)
    users = {*opening.unknown, *(candidate.user_id for candidate in opening.ticked)}
    for origin, names in ((Origin.GIVEN, opening.unknown), (Origin.ALIAS, [name for name in opening.aliases if name not in users])):
        for name in names:
            row = RequestSubject(user_id=name, subject_ref=refs.name_ref(origin.value, name), origin=origin, ticked=True)
            rows.setdefault(row.subject_ref, row)
    for row in rows.values():
        row.key_id = refs.key_id()
        if request is not None:
            row.request = request
    return rows.items()
