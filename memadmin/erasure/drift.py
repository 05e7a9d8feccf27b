"""Whether what was approved is still what is there."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from memadmin.erasure import manifests
from memadmin.erasure.models import Manifest, ScopeItem
from memadmin.erasure.scope import scope_of
from memadmin.store import staying
from memadmin.store.locations import Act
from memadmin.store.models import Archived, Feedback, HistoryEntry, LongTermMemory, Session, WorkingMemory

NEW, HOLD, DIGEST = "new_items", "holds_changed", "digest_changed"
STORED: tuple[tuple[str, Any, str], ...] = (
    ("store.sessions", Session, "stored_at"),
    ("store.working", WorkingMemory, "stored_at"),
    ("store.long_term", LongTermMemory, "stored_at"),
    ("store.history", HistoryEntry, "stored_at"),
    ("store.archive", Archived, "archived_at"),
)


def drift_of(manifest: Manifest) -> str:
    """Return what has changed since the manifest was made, as a code, or "".

    Items that have gone meanwhile are no drift: there is less to erase. New ones, and holds placed or released, are.
    """
    if manifests.digest_of(manifest) != manifest.digest:
        return DIGEST
    for _, model, stored in STORED:
        if _meant(manifest, model).filter(**{f"{stored}__gt": manifest.cutoff_at}).exists():
            return NEW
    if _reported(manifest).filter(created_at__gt=manifest.cutoff_at).exists():
        return NEW
    return HOLD if any(_holds_changed(manifest, name, model) for name, model, _ in STORED) else ""


def _meant(manifest: Manifest, model: Any) -> QuerySet[Any]:
    scope = scope_of(manifest)
    if scope.subjects:
        return model.objects.filter(subject_id__in=scope.subjects)
    reached = ScopeItem.objects.filter(manifest=manifest).values("item_uid")
    sessions = Session.objects.filter(uid__in=reached).values("pk")
    hangs = Q(session__in=sessions) if model is WorkingMemory else Q(memory_uid__in=reached) if model is HistoryEntry else Q()
    return model.objects.filter(Q(uid__in=reached) | hangs if hangs else Q(uid__in=reached))


def _reported(manifest: Manifest) -> QuerySet[Feedback]:
    """Return what people have reported about whom or what is meant. After the fence nobody can."""
    scope = scope_of(manifest)
    if scope.subjects:
        return Feedback.objects.filter(subject_id__in=scope.subjects)
    reached = ScopeItem.objects.filter(manifest=manifest).values("item_uid")
    return Feedback.objects.filter(Q(memory_uid__in=reached) | Q(session_uid__in=reached) | Q(matched_uid__in=reached))


def _holds_changed(manifest: Manifest, name: str, model: Any) -> bool:
    withheld = manifest.items.filter(location=name, act=Act.WITHHOLD, reason_code=manifests.HELD)
    held_now = _meant(manifest, model).filter(staying.must_stay(model))
    appeared = held_now.exclude(uid__in=withheld.values("row_uid")).exists()
    ended = model.objects.filter(~staying.must_stay(model), uid__in=withheld.values("row_uid")).exists()
    return appeared or ended
