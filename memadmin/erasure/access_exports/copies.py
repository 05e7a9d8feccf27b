"""Exports as a place that holds a person's data: an erasure finds them like any other copy."""

from __future__ import annotations

from typing import Any

from memadmin.erasure.models import ExportSubject
from memadmin.store.locations import Found, Page, Scope, row_uid
from memadmin.store.models import Archived, HistoryEntry, LongTermMemory, Session, WorkingMemory

MEMORIES: tuple[Any, ...] = (Session, WorkingMemory, LongTermMemory, HistoryEntry, Archived)


def copies(scope: Scope, after: Any, limit: int) -> Page:
    """Exports of whole users; of single items, those of the users whose items they are: an export cannot lose a line."""
    subjects = set(scope.subjects) or _owners(scope)
    rows = ExportSubject.objects.filter(subject_id__in=subjects, pk__gt=after or 0).order_by("pk")
    page = list(rows.values_list("pk", "subject_id", "export__started_at")[:limit])
    found = [Found(key, row_uid("access_exports.copies", key), subject, at=at) for key, subject, at in page]
    return Page(found, found[-1].key if len(page) == limit else None)


def _owners(scope: Scope) -> set[int]:
    found: set[int] = set()
    for model in MEMORIES:
        found |= set(model.objects.filter(uid__in=scope.uids()).order_by().values_list("subject_id", flat=True).distinct())
    return found
