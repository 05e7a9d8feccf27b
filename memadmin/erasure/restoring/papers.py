"""The request of an erasure that an older database has forgotten, made again from the ledger: by whom it is about here, never wider."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from memadmin.erasure.intake import Thing, dates_of
from memadmin.erasure.models import Channel, ErasureRequest, Ground, Kind, Origin, Profile, RequestItem, RequestSubject, Status
from memadmin.erasure.restoring.told import Erasure
from memadmin.store import refs
from memadmin.store.models import Subject

ACTOR = "command/reapply_erasures"


@transaction.atomic
def made_again(told: Erasure, people: Mapping[str, int], things: Mapping[str, Thing], *, now: datetime) -> ErasureRequest:
    """Return the request, made or brought up to what the ledger says of it. Twice is once."""
    request = ErasureRequest.objects.filter(uid=told.request).first() or _new(told, now=now)
    meant = {people[name] for name in told.facts["subjects"] if name in people}
    _name_users(request, meant)
    RequestItem.objects.bulk_create(
        [_item(request, things[name]) for name in told.facts["items"] if name in things], ignore_conflicts=True, batch_size=1_000
    )
    return request


def _new(told: Erasure, *, now: datetime) -> ErasureRequest:
    facts = told.facts
    received_at = datetime.fromisoformat(facts["received_at"]) if "received_at" in facts else told.intent.at
    request = ErasureRequest(
        uid=told.request,
        number=_number(int(facts["number"])),
        kind=facts["kind"],
        ground=facts.get("ground", Ground.OTHER),
        profile=facts.get("profile", Profile.GDPR),
        channel=Channel.LEDGER,
        state=Status.RECEIVED,
        state_since=now,
        received_at=received_at,
        opened_by=ACTOR,
    )
    for name, day in dates_of(request).items():
        setattr(request, name, day)
    request.save()
    return request


def _number(wanted: int) -> int:
    """Return the number that it had, or the next one where another request has taken that since."""
    if not ErasureRequest.objects.filter(number=wanted).exists():
        return wanted
    return int(ErasureRequest.objects.aggregate(last=Max("number"))["last"]) + 1


def _name_users(request: ErasureRequest, meant: set[int]) -> None:
    """Tick those that the ledger names, and nobody else. Aliases stay as they are: they are names to search for, and no users."""
    if not Kind(request.kind).is_about_people:
        return
    named = request.subjects.exclude(origin=Origin.ALIAS)
    named.exclude(subject_id__in=meant).filter(subject_id__isnull=False).update(ticked=False)
    named.filter(subject_id__in=meant).update(ticked=True)
    missing = meant - set(named.filter(subject_id__isnull=False).values_list("subject_id", flat=True))
    RequestSubject.objects.bulk_create(
        [_user(request, row) for row in Subject.objects.filter(pk__in=missing).select_related("container").order_by("pk")]
    )


def _user(request: ErasureRequest, row: Subject) -> RequestSubject:
    return RequestSubject(
        request=request,
        container=row.container,
        subject_id=row.pk,
        subject_uid=row.uid,
        user_id=row.user_id,
        subject_ref=refs.subject_ref(row.container.uid, row.user_id),
        key_id=refs.key_id(),
        origin=Origin.GIVEN,
        ticked=True,
    )


def _item(request: ErasureRequest, thing: Thing) -> RequestItem:
    return RequestItem(
        request=request,
        item_type=thing.item_type,
        item_uid=thing.uid,
        item_ref=refs.item_ref(thing.uid),
        container_id=thing.container_id,
        subject_id=thing.subject_id,
    )
