"""A person who is erased may have asked before: for access, say. Those papers name them as well, and are as much about them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.apps import apps

from memadmin.erasure.models import Correction, ErasureRequest, Kind, Line, ManifestItem, Origin, RequestNote, RequestSubject
from memadmin.erasure.querysets import ENDED
from memadmin.erasure.verification.needles import any_stands_in
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.rows import Hit

TO_REQUEST = ("request", "manifest__request", "verification__request")  # the ways from a paper to its request


def purge_others(request: ErasureRequest, *, now: datetime) -> None:
    """Take the names of the erased users, and what was written, out of the papers of other requests. The caller has the transaction.

    Where a user is only a look-alike of somebody else's request, the name alone goes.
    """
    if not Kind(request.kind).is_about_people:
        return
    refs = request.subjects.filter(ticked=True).exclude(origin=Origin.ALIAS).values_list("subject_ref", flat=True)
    named = RequestSubject.objects.filter(subject_ref__in=list(refs)).exclude(request=request)
    theirs = set(named.filter(ticked=True).values_list("request", flat=True))
    RequestNote.objects.filter(request__in=theirs).delete()
    RequestSubject.objects.filter(request__in=theirs, origin=Origin.ALIAS).update(user_id=None)
    Correction.objects.filter(request__in=theirs).delete()
    named.update(user_id=None)
    ended = ErasureRequest.objects.filter(pk__in=theirs, state__in=ENDED, purged_at=None)
    items = ManifestItem.objects.filter(manifest__request__in=ended)
    items._raw_delete(items.db)
    Line.objects.filter(manifest__request__in=theirs).update(sample=[])
    ended.update(purged_at=now)


def of_namesakes(request: ErasureRequest, probes: Probes) -> set[int]:
    """Return the other requests that are about somebody whose id says an erased one: the same id elsewhere, or `ann#2`."""
    named = RequestSubject.objects.exclude(request=request).filter(user_id__isnull=False)
    found = named.values_list("request", "container_id", "user_id").iterator()
    return {key for key, container, user in found if (container, user) not in probes.people and any_stands_in(probes.words, user)}


def is_theirs(hit: Hit, namesakes: set[int], probes: Probes) -> bool:
    """Whether a paper that says an erased id belongs to a request of a namesake, and does not name the person by it."""
    model = next((each for each in apps.get_models() if each._meta.db_table == hit.table), None)
    way = next((way for way in TO_REQUEST if model and way.split("__")[0] in {field.name for field in model._meta.fields}), None)
    if model is None or way is None:
        return False
    paper: Any = model._default_manager.filter(pk=hit.key[0])
    if model is RequestSubject and paper.values_list("container_id", "user_id").get() in probes.people:
        return False
    return bool(paper.filter(**{f"{way}__in": namesakes}).exists())
