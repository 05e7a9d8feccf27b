"""What is past a container's hard limit, gathered at night into a request for erasure: never into a run, and nothing goes unseen.

A container has at most one such request open. Until its search begins its list is brought up to date each night; from then on the list is
fixed, and what passes the limit meanwhile waits for the next request. What somebody has withheld, or refused a short while ago, is not
asked for again: the one has a day of review, the other its papers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import intake, workflow
from memadmin.erasure.intake import Opening, Thing, target_of
from memadmin.erasure.models import Channel, ErasureRequest, Ground, Kind, ManifestItem, RequestItem, Status
from memadmin.erasure.querysets import ENDED
from memadmin.jobs.registry import JobView, Step
from memadmin.store import hard_limits
from memadmin.store.locations import Act
from memadmin.store.models import Container, ItemType
from memadmin.store.staying import must_stay

GATHER = "erasure.gather"
ACTOR = f"job/{GATHER}"
MOST = 50_000  # items of one request: more than that nobody looks through
AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class PastLimit:
    """What of one type is past the limit. `listable` is what a request would ask for now; the rest is withheld, or was refused."""

    item_type: ItemType
    archived: bool
    rows: QuerySet[Any]
    listable: QuerySet[Any]


def step(job: JobView, *, now: datetime) -> Step:
    """One container, in the order of their making."""
    after = job.cursor or 0
    opened = ErasureRequest.objects.open().filter(kind=Kind.STORAGE_LIMIT)
    asked = Q(hard_limit_days__isnull=False) | Q(pk__in=RequestItem.objects.filter(request__in=opened).values("container"))
    container = Container.objects.filter(asked, pk__gt=after).order_by("pk").first()
    if container is None:
        return Step(finished=True, cursor=after, done=job.done)
    gather(container, now=now)
    return Step(finished=False, cursor=container.pk, done=job.done + 1)


@transaction.atomic
def gather(container: Container, *, now: datetime) -> ErasureRequest | None:
    """Open the container's request, or bring its list up to date, and return it; None where nothing is to be asked for."""
    container = Container.objects.select_for_update().get(pk=container.pk)
    request = standing(container)
    if request is None:
        return _open(container, now=now)
    if request.state == Status.RECEIVED:
        _bring_up_to_date(request, container, now=now)
    return request


def standing(container: Container) -> ErasureRequest | None:
    """Return the open request for what is past the limit here."""
    mine = RequestItem.objects.filter(container=container).values("request")
    return ErasureRequest.objects.open().filter(kind=Kind.STORAGE_LIMIT, pk__in=mine).order_by("pk").first()


def past_limit(container: Container, *, now: datetime) -> Iterator[PastLimit]:
    """Yield what is past the limit, by type; the copies in the archive last."""
    for item_type, rows in hard_limits.past_limit(container, now=now):
        yield PastLimit(item_type, False, rows, _not_asked_for_yet(rows))
    copies = hard_limits.archived_past_limit(container, now=now)
    if container.hard_limit_days is not None:
        yield PastLimit(ItemType.SESSION, True, copies, _not_asked_for_yet(copies))


def _not_asked_for_yet(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Leave out what the end of an earlier request has kept, and what a refused or withdrawn one asked for while its papers are there."""
    ended = ManifestItem.objects.filter(manifest__request__state__in=ENDED, manifest__number=F("manifest__request__manifest_number"))
    withheld = ended.filter(act=Act.WITHHOLD).values("row_uid")
    refused = RequestItem.objects.filter(request__kind=Kind.STORAGE_LIMIT, request__state__in=[Status.REFUSED, Status.CANCELLED])
    return rows.exclude(uid__in=withheld).exclude(
        uid__in=refused.filter(item_uid__isnull=False).values("item_uid")
    )  # a NULL would hide all


def _things(container: Container, *, now: datetime) -> list[Thing]:
    """Return what is to be asked for. What is held comes along, to be withheld and told; held things alone are no request."""
    found: list[Thing] = []
    going = False
    for part in past_limit(container, now=now):
        going = going or part.listable.exclude(must_stay(part.rows.model)).exists()
        columns = ("uid", "subject_id", "item_type") if part.archived else ("uid", "subject_id")
        rows = part.listable.order_by("pk").values_list(*columns)[: MOST - len(found)]
        for uid, subject, *kind in rows.iterator(chunk_size=AT_ONCE):
            found.append(Thing(ItemType(kind[0]) if kind else part.item_type, uid, container.pk, subject))
    return found if going else []


def _open(container: Container, *, now: datetime) -> ErasureRequest | None:
    things = _things(container, now=now)
    if not things:
        return None
    mine = RequestItem.objects.filter(container=container).values("request")
    last = ErasureRequest.objects.ended().filter(kind=Kind.STORAGE_LIMIT, pk__in=mine).newest_first().first()
    opening = Opening(kind=Kind.STORAGE_LIMIT, ground=Ground.STORAGE_LIMIT, channel=Channel.NIGHTLY, things=things, follows=last)
    request = intake.open_request(opening, actor=ACTOR, now=now)
    _note(request, now=now, items=len(things), added=len(things))
    return request


def _bring_up_to_date(request: ErasureRequest, container: Container, *, now: datetime) -> None:
    wanted = {thing.uid: thing for thing in _things(container, now=now)}
    if not wanted:
        workflow.cancel(request, actor=ACTOR, now=now)
        RequestItem.objects.filter(request=request).delete()  # nobody refused them: they may be asked for again
        return
    listed = {uid for uid in request.items.values_list("item_uid", flat=True) if uid is not None}
    dropped, added = listed - wanted.keys(), wanted.keys() - listed
    for part in _parts(dropped):
        RequestItem.objects.filter(request=request, item_uid__in=part).delete()
    intake.list_items(request, [wanted[uid] for uid in wanted if uid in added])
    if added or dropped:
        _note(request, now=now, items=len(wanted), added=len(added), dropped=len(dropped))


def _parts(uids: set[UUID]) -> Iterator[list[UUID]]:
    left = iter(uids)
    while part := list(islice(left, AT_ONCE)):
        yield part


def _note(request: ErasureRequest, *, now: datetime, **counts: int) -> None:
    log.append(Action.ERASURE_GATHERED, actor=ACTOR, target=target_of(request), at=now, counts=counts)
