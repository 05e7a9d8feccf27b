"""Shut the door before anything goes: what is written about a person while they are erased would survive."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from memadmin.erasure.intake import target_of
from memadmin.erasure.models import ErasureRequest, Kind, Manifest
from memadmin.store import suppression
from memadmin.store.locations import Act
from memadmin.store.models import Container, LongTermMemory, Mode
from memadmin.store.suppression import Terms

TEXTS_AT_ONCE = 500


@transaction.atomic
def shut(request: ErasureRequest, manifest: Manifest, *, actor: str, now: datetime) -> None:
    """Fence the users, container by container, or where single memories are erased, know their texts again. Twice is once."""
    if Kind(request.kind).is_about_people:
        for container, user_ids in _users_of(request):
            suppression.fence(user_ids, container=container, request_ref=target_of(request), actor=actor, now=now)
        return
    if request.kind == Kind.STORAGE_LIMIT:
        return  # nobody objects to what it says: said anew it is young again
    terms = Terms(mode=Mode.BLOCK)
    for container, texts in _texts_of(manifest):
        suppression.suppress_texts(texts, container=container, terms=terms, request_ref=target_of(request), actor=actor, now=now)


def _users_of(request: ErasureRequest) -> Iterator[tuple[Container, list[str]]]:
    by_container: dict[int, list[str]] = {}
    for container, user_id in request.subjects.filter(ticked=True, user_id__isnull=False).values_list("container_id", "user_id"):
        by_container.setdefault(container, []).append(str(user_id))
    for container in Container.objects.filter(pk__in=by_container).order_by("pk"):
        yield container, by_container[container.pk]


def _texts_of(manifest: Manifest) -> Iterator[tuple[Container, list[str]]]:
    """Yield what the memories say that will be deleted, some at a time."""
    going = manifest.items.filter(location="store.long_term", act=Act.DELETE).values("row_uid")
    rows = LongTermMemory.objects.filter(uid__in=going).exclude(text="").order_by("container_id", "pk")
    for container in Container.objects.filter(pk__in=rows.values("container_id")).order_by("pk"):
        texts: list[str] = []
        for text in rows.filter(container=container).values_list("text", flat=True).iterator(chunk_size=TEXTS_AT_ONCE):
            texts.append(text)
            if len(texts) == TEXTS_AT_ONCE:
                yield container, texts
                texts = []
        if texts:
            yield container, texts
