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
from memadmin.store import bars, counters
from memadmin.store.models import Archived, Container, HistoryEntry, ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.models.memories import Item
from memadmin.store.removal import ByHand, remove_archived, remove_by_hand
from memadmin.store.text import says_something

AT_ONCE = 5_000
MODELS: dict[ItemType, type[Item]] = {
    ItemType.SESSION: Session,
    ItemType.WORKING: WorkingMemory,
    ItemType.LONG_TERM: LongTermMemory,
    ItemType.HISTORY: HistoryEntry,
}


class NothingDeleted(Exception):
    """What was to be deleted is as it was."""


class Held(NothingDeleted):
    """It stays for a legal reason."""


class Asked(NothingDeleted):
    """Somebody has asked to erase something of it, and that is not settled yet."""


class Gone(NothingDeleted):
    """Somebody else was faster: it is not in the store any more."""


@transaction.atomic
def delete_item(item_type: ItemType, item: Item, *, actor: str, now: datetime, reason: str = "") -> None:
    """Delete one session or memory, also a pinned one. The messages of a session stay. Raises Held and Gone."""
    gone = remove_by_hand(item_type, [item.pk])
    if not gone.items:
        raise _why_not(item)
    payload = {"reason": reason} if reason else None
    target = f"{item_type}/{item.uid}"
    log.append(Action.ITEM_DELETED, actor=actor, target=target, at=now, counts={"pinned": gone.pinned}, payload=payload)


class Pinned(Exception):
    """A pinned item is only deleted with force, and with a reason."""


@transaction.atomic
def delete_session(
    session: Session, *, actor: str, now: datetime, with_messages: bool, force: bool = False, reason: str = ""
) -> tuple[int, int]:
    """Delete a session, with its messages or without; return how many working memories went along, and how many stay without it.

    Held ones stay. Without `force` and a reason a pinned session stays too. Raises Pinned, Held and Gone.
    """
    counters.lock([session.subject_id])
    _check_pin(session, force=force, reason=reason)
    working = WorkingMemory.objects.filter(session=session)
    ids = list(working.order_by("id").values_list("pk", flat=True))
    gone = _remove(ItemType.WORKING, ids).items if with_messages else 0
    if not remove_by_hand(ItemType.SESSION, [session.pk]).items:
        raise _why_not(session)
    counts = {"pinned": int(session.pinned), "working": gone, "working_left": len(ids) - gone}
    target = f"{ItemType.SESSION}/{session.uid}"
    log.append(Action.ITEM_DELETED, actor=actor, target=target, at=now, counts=counts, payload={"reason": reason} if reason else None)
    return gone, len(ids) - gone


@transaction.atomic
def delete_memory(memory: LongTermMemory, *, actor: str, now: datetime, force: bool = False, reason: str = "") -> None:
    """Delete one long-term memory. Without `force` and a reason a pinned one stays. Raises Pinned, Held and Gone."""
    counters.lock([memory.subject_id])
    _check_pin(memory, force=force, reason=reason)
    delete_item(ItemType.LONG_TERM, memory, actor=actor, now=now, reason=reason)


def _why_not(item: Item) -> NothingDeleted:
    if type(item)._default_manager.filter(pk=item.pk).exists():
        return Held("This is held for a legal reason.")
    return Gone("This is gone already.")


def _check_pin(item: Session | LongTermMemory, *, force: bool, reason: str) -> None:
    """Look at the pin as it is now that nobody else moves it."""
    item.pinned = bool(type(item)._default_manager.filter(pk=item.pk).values_list("pinned", flat=True).first())
    if item.pinned and not (force and says_something(reason)):
        raise Pinned("This is pinned. To delete it nevertheless, say so and give a reason.")


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

    What is left in it stays visible to people, and under its retention policy. Its id from outside becomes free. Raises Gone, Asked.
    """
    if bars.is_asked_about(container):
        raise Asked("Somebody has asked to erase something in this container. It can be deleted when that request has ended.")
    values = {"deleted_at": now, "last_updated_at": now, "external_id": None, "revision": F("revision") + 1}
    if not Container.objects.standing().filter(pk=container.pk).update(**values):
        raise Gone("This container was deleted already.")
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
