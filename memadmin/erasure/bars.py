"""What an open request for erasure asks about is left as it is: not put back from the archive, not evicted once the erasure has begun, and
its container not deleted."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from memadmin.erasure.models import ErasureRequest, Kind, RequestItem, RequestSubject, Status
from memadmin.erasure.models.requests import Origin
from memadmin.store import bars
from memadmin.store.models import Archived, Container

ERASING = [kind for kind in Kind if kind.erases]
BEGUN = (Status.EXECUTING, Status.STALLED, Status.VERIFYING, Status.RESIDUE_FOUND)


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


@bars.register_busy
def being_erased() -> str:
    """Whose everything is being erased, or any item of theirs."""
    begun = ErasureRequest.objects.filter(state__in=BEGUN, kind__in=ERASING)
    keys = list(begun.values_list("pk", flat=True))
    if not keys:
        return ""
    of_these = f"request_id IN ({', '.join(map(str, keys))})"
    users = f"SELECT subject_id FROM {RequestSubject._meta.db_table} WHERE {of_these} AND ticked AND subject_id IS NOT NULL"
    return f"{users} UNION ALL SELECT subject_id FROM {RequestItem._meta.db_table} WHERE {of_these}"


@bars.register_asked
def is_asked_about(container: Container) -> bool:
    """Whether an open request names users or items of this container. One by the clock alone asks for what a deletion does, too."""
    requests = ErasureRequest.objects.open().filter(kind__in=ERASING).exclude(kind=Kind.STORAGE_LIMIT)
    users = RequestSubject.objects.exclude(ticked=False).filter(request__in=requests, container=container)
    return users.exists() or RequestItem.objects.filter(request__in=requests, container_id=container.pk).exists()
