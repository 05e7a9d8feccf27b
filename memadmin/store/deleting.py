"""The verbs of deletion by hand and by agents: what was asked for goes, pinned or not, and the log says so.

Eviction is `lifecycle`'s, erasure by law `erasure`'s. Here nothing is copied to the archive, and nothing that is held goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from django.db import transaction
from django.db.models import F

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store.models import Archived, Container, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.models.memories import Item
from memadmin.store.removal import ByHand, remove_archived, remove_by_hand

AT_ONCE = 5_000
MODELS: dict[ItemType, type[Item]] = {
    ItemType.SESSION: Session,
    ItemType.WORKING: WorkingMemory,
    ItemType.LONG_TERM: LongTermMemory,
    ItemType.HISTORY: HistoryEntry,
}


class NothingDeleted(Exception):
    """The item is held, or is not in the store any more."""


@transaction.atomic
def delete_item(item_type: ItemType, item: Item, *, actor: str, now: datetime, reason: str = "") -> None:
    """Delete one session or memory, also a pinned one. The messages of a session stay. Raises NothingDeleted."""
    gone = remove_by_hand(item_type, [item.pk])
    if not gone.items:
        raise NothingDeleted("This is held for a legal reason, or it is gone already.")
    payload = {"reason": reason} if reason else None
    target = f"{item_type}/{item.uid}"
    log.append(Action.ITEM_DELETED, actor=actor, target=target, at=now, counts={"pinned": gone.pinned}, payload=payload)


@transaction.atomic
def delete_items(container: Container, item_type: ItemType, ids: Sequence[int], *, actor: str, now: datetime) -> ByHand:
    """Delete the rows with these keys, which a query has found in the container. What is held stays and is not counted."""
    gone = _remove(item_type, ids)
    counts = {"asked": len(ids), "deleted": gone.items, "pinned": gone.pinned}
    log.append(Action.ITEMS_DELETED, actor=actor, target=f"containers/{container.uid}/{item_type}", at=now, counts=counts)
    return gone


@transaction.atomic
def delete_container(container: Container, *, with_memories: Collection[ItemType], actor: str, now: datetime) -> None:
    """Take a container away from the API, together with its memories of the named types and their copies in the archive.

    What is left in it stays visible to people, and under its retention policy. Its id from outside becomes free. Raises NothingDeleted.
    """
    values = {"deleted_at": now, "last_updated_at": now, "external_id": None, "revision": F("revision") + 1}
    if not Container.objects.standing().filter(pk=container.pk).update(**values):
        raise NothingDeleted("This container was deleted already.")
    counts: dict[str, int] = {}
    for item_type in with_memories:
        ids = list(MODELS[item_type]._default_manager.filter(container=container).values_list("pk", flat=True))
        counts[item_type] = _remove(item_type, ids).items
        copies = Archived.objects.filter(container=container, item_type=item_type).order_by("id").values_list("id", flat=True)
        counts[f"archived.{item_type}"] = sum(remove_archived(batch) for batch in _batches(list(copies)))
    target = f"containers/{container.uid}"
    log.append(Action.CONTAINER_DELETED, actor=actor, target=target, at=now, counts=counts, payload={"external_id": container.external_id})
    container.refresh_from_db()


def _remove(item_type: ItemType, ids: Iterable[int]) -> ByHand:
    parts = [remove_by_hand(item_type, batch) for batch in _batches(ids)]
    return ByHand(items=sum(part.items for part in parts), pinned=sum(part.pinned for part in parts))


def _batches(ids: Iterable[int]) -> Iterator[list[int]]:
    left = iter(ids)
    while batch := list(islice(left, AT_ONCE)):
        yield batch
