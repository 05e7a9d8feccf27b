"""The rows of the users themselves go last, where nothing hangs on them any more."""

from __future__ import annotations

import json
from datetime import datetime

from django.db.models import F

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure import manifests
from memadmin.erasure.intake import target_of
from memadmin.erasure.manifests import HELD
from memadmin.erasure.models import ErasureRequest, Kind, ManifestItem, PlaceOutcome
from memadmin.store import holding, removal
from memadmin.store.locations import Act, Found, ItemClass
from memadmin.store.models import Hold, Subject

PLACE, HOLDS = "store.subjects", "store.holds"


def remove(request: ErasureRequest, *, actor: str, now: datetime) -> int:
    """Remove the users of a request of whom nothing is withheld, and return how many. The caller has the transaction."""
    if not Kind(request.kind).is_about_people:
        return 0
    meant = [key for key in request.subjects.filter(ticked=True).values_list("subject_id", flat=True) if key is not None]
    holding.remove_erased(list(Hold.objects.filter(subject_id__in=meant).values_list("pk", flat=True)))  # those placed since the search
    gone = removal.remove_users(meant)
    kept = set(Subject.objects.filter(pk__in=meant).values_list("pk", flat=True))
    _withhold(request, kept)
    PlaceOutcome.objects.get_or_create(request=request, location=PLACE)
    PlaceOutcome.objects.filter(request=request, location=PLACE).update(erased=F("erased") + gone, withheld=len(kept))
    log.append(Action.ERASURE_USERS_REMOVED, actor=actor, target=target_of(request), at=now, counts={"users": gone})
    return gone


def _withhold(request: ErasureRequest, kept: set[int]) -> None:
    """What is withheld of a user needs the user: so their row stays, and the verification expects it."""
    items = ManifestItem.objects.filter(manifest__request=request, manifest__number=request.manifest_number or 0, location=PLACE)
    items.filter(row_key__in=[json.dumps(key) for key in kept]).update(act=Act.WITHHOLD, reason_code=HELD)
    _add_new_holds(request, kept)


def _add_new_holds(request: ErasureRequest, kept: set[int]) -> None:
    """A hold that was placed after the search is why something stays: it stays too, and belongs into the manifest."""
    manifest = request.manifests.get(number=request.manifest_number or 0)
    known = manifest.items.filter(location=HOLDS).values("row_uid")
    standing = Hold.objects.filter(subject_id__in=kept, released_at__isnull=True).exclude(uid__in=known)
    found = [Found(hold.pk, hold.uid, hold.subject_id, at=hold.placed_at) for hold in standing]
    manifests.add(manifest, HOLDS, found, item_class=ItemClass.COPY, act=Act.WITHHOLD, reason=HELD)
