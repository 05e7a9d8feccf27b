"""Which recipients have data of a person, as a place that a search asks: counted in the manifest, and erased with the papers.

They go last, after the notices that name the person by the recipients' own ids, so no step of an erasure deletes them before.
"""

from __future__ import annotations

from typing import Any

from memadmin.erasure.models import Disclosure
from memadmin.store.locations import Found, Page, Scope


def noted_of(scope: Scope, after: Any, limit: int) -> Page:
    """What is noted of whole users. Of single items nothing is: a recipient has data of a user, nobody notes of which item."""
    rows = Disclosure.objects.filter(subject_id__in=list(scope.subjects), pk__gt=after or 0).order_by("pk")
    page = list(rows.values_list("pk", "uid", "subject_id", "first_at")[:limit])
    found = [Found(key, uid, subject, at=at) for key, uid, subject, at in page]
    return Page(found, found[-1].key if len(page) == limit else None)
