"""What was withheld, looked at again: a hold that was released, or a day of review that has come, opens a request that follows the old one.

An ended request never opens again. The follow-up asks for what it withheld and for nothing else: data that came since have reasons of
their own. It is reviewed and approved like all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from memadmin.erasure import intake, look_alikes
from memadmin.erasure.asking import OF_TYPE
from memadmin.erasure.intake import Opening, Thing, today
from memadmin.erasure.manifests import HELD
from memadmin.erasure.models import Channel, ErasureRequest, Ground, IdentityLevel, Kind, ManifestItem, Origin, Profile, RequestItem, Status
from memadmin.jobs.registry import JobView, Step
from memadmin.store.locations import Act
from memadmin.store.models import Archived, ItemType, Subject
from memadmin.store.staying import with_stays

FOLLOW_UP = "erasure.follow_up"
ACTOR = f"job/{FOLLOW_UP}"
PLACES: dict[str, Any] = dict(OF_TYPE.values()) | {"store.archive": Archived}
TYPE_OF = {name: ItemType(item_type) for item_type, (name, _) in OF_TYPE.items()}
AT_ONCE = 500


def step(job: JobView, *, now: datetime) -> Step:
    """One request that withheld something."""
    after = job.cursor or 0
    ended = ErasureRequest.objects.filter(state__in=[Status.COMPLETED, Status.CLOSED], pk__gt=after, drill=None)
    withheld = ManifestItem.objects.filter(act=Act.WITHHOLD, manifest__number=F("manifest__request__manifest_number"))
    request = ended.filter(pk__in=withheld.values("manifest__request")).order_by("pk").first()
    if request is None:
        return Step(finished=True, cursor=after, done=job.done)
    follow_up(request, now=now)
    return Step(finished=False, cursor=request.pk, done=job.done + 1)


@transaction.atomic
def follow_up(request: ErasureRequest, *, now: datetime) -> ErasureRequest | None:
    """Open a request for what need not be kept any more, and return it; None where all of it must stay, or is asked for already."""
    ErasureRequest.objects.select_for_update().get(pk=request.pk)
    free, staying = _sorted_out(request, now=now)
    if not free:
        return None
    user = None if staying else _whole_user(request, free)
    named: dict[str, Any] = {"kind": Kind.TOPIC, "things": free}
    if user is not None:
        named = {"kind": Kind.SUBJECT, "ticked": [look_alikes.candidate_of(user, Origin.GIVEN)]}
    level = request.identity_level
    opening = Opening(
        ground=Ground(request.ground),
        profile=Profile(request.profile),
        channel=Channel.NIGHTLY,
        identity=None if level is None else IdentityLevel(level),
        follows=request,
        **named,
    )
    return intake.open_request(opening, actor=ACTOR, now=now)


def _sorted_out(request: ErasureRequest, *, now: datetime) -> tuple[list[Thing], int]:
    """Return what was withheld and need not be any more, and how much must stay. What a follow-up has asked for already is neither."""
    asked = set(RequestItem.objects.filter(request__follows=request).values_list("item_uid", flat=True))
    if ErasureRequest.objects.filter(follows=request, kind=Kind.SUBJECT).exists():
        return [], 0
    free: dict[UUID, Thing] = {}
    staying = 0
    for line, row, item_type in _still_there(request):
        if row.stays or (line.reason_code != HELD and (line.review_on is None or line.review_on > today(now))):
            staying += 1
        elif row.uid not in asked:
            free[row.uid] = Thing(item_type, row.uid, row.container_id, row.subject_id)
    return list(free.values()), staying


def _still_there(request: ErasureRequest) -> Iterator[tuple[ManifestItem, Any, ItemType]]:
    """Yield each withheld line of an ended request whose row is there, with the row and its type."""
    lines = ManifestItem.objects.filter(manifest__request=request, manifest__number=request.manifest_number or 0, act=Act.WITHHOLD)
    for place, model in PLACES.items():
        found = list(lines.filter(location=place).order_by("pk"))
        for at in range(0, len(found), AT_ONCE):
            part = found[at : at + AT_ONCE]
            rows = model.objects.filter(uid__in=[line.row_uid for line in part])
            by_uid = {row.uid: row for row in with_stays(rows)}
            for line in part:
                row = by_uid.get(line.row_uid)
                if row is not None:
                    yield line, row, ItemType(row.item_type) if model is Archived else TYPE_OF[place]


def _whole_user(request: ErasureRequest, free: list[Thing]) -> Subject | None:
    """Return the user, where the old request was about one person of whom nothing else is stored: then the user goes too."""
    owners = {thing.subject_id for thing in free}
    if request.kind != Kind.SUBJECT or len(owners) != 1:
        return None
    user = Subject.objects.select_related("container").filter(pk__in=owners, user_id__isnull=False).first()
    if user is None:
        return None
    mine = {thing.uid for thing in free}
    stored = {
        uid for model in PLACES.values() for uid in model.objects.filter(subject_id=user.pk).values_list("uid", flat=True)[: len(mine) + 1]
    }
    return user if stored <= mine else None
