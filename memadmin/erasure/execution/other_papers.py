"""A person who is erased may have asked before: for access, say. Those papers name them as well, and are as much about them."""

from __future__ import annotations

from datetime import datetime

from memadmin.erasure.models import ErasureRequest, Kind, Line, ManifestItem, Origin, RequestNote, RequestSubject
from memadmin.erasure.querysets import ENDED


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
    named.update(user_id=None)
    ended = ErasureRequest.objects.filter(pk__in=theirs, state__in=ENDED, purged_at=None)
    items = ManifestItem.objects.filter(manifest__request__in=ended)
    items._raw_delete(items.db)
    Line.objects.filter(manifest__request__in=theirs).update(sample=[])
    ended.update(purged_at=now)
