"""What an open request for erasure asks about stays in the archive: nothing of it is put back until the request has ended."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from memadmin.erasure.models import ErasureRequest, Kind, RequestItem, RequestSubject
from memadmin.erasure.models.requests import Origin
from memadmin.store import bars
from memadmin.store.models import Archived

ERASING = [kind for kind in Kind if kind.erases]


@bars.register
def asked_about(copies: Sequence[Archived]) -> set[int]:
    """Return which copies are of a user, or are an item, that an open request names."""
    requests = ErasureRequest.objects.open().filter(kind__in=ERASING)
    if not requests.exists():
        return set()
    meant = Q(ticked=True) | Q(ticked__isnull=True, origin=Origin.GIVEN)
    subjects = RequestSubject.objects.filter(meant, request__in=requests, subject_id__in={copy.subject_id for copy in copies})
    users = set(subjects.values_list("subject_id", flat=True))
    items = set(
        RequestItem.objects.filter(request__in=requests, item_uid__in=[copy.uid for copy in copies]).values_list("item_uid", flat=True)
    )
    return {copy.pk for copy in copies if copy.subject_id in users or copy.uid in items}
