"""What goes along with sessions and memories that arrive: their pins, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from memadmin.store.bulk import insert_rows
from memadmin.store.intake import IncomingMemory, IncomingSession
from memadmin.store.models import Container, ItemType, Pin, Provenance

Subjects = Mapping[str | None, int]


def write_pins(container: Container, subjects: Subjects, new: Mapping[UUID, IncomingSession | IncomingMemory]) -> None:
    """Keep the pins that arrive with sessions and memories."""
    pins = [
        {
            "container_id": container.pk,
            "subject_id": subjects[item.user_id],
            "target_type": item.item_type,
            "target_uid": uid,
            "reason": item.pin.reason,
            "actor": item.pin.actor,
            "created_at": item.pin.created_at,
            "review_on": item.pin.review_on,
            "reviewed_at": item.pin.reviewed_at,
            "reviewed_by": item.pin.reviewed_by,
        }
        for uid, item in new.items()
        if item.pin
    ]
    insert_rows(Pin, pins)


def write_sources(container: Container, subjects: Subjects, items: Mapping[UUID, IncomingMemory]) -> None:
    """Note where memories came from; a memory that arrives again may bring further sources."""
    links = {(uid, source.uid): source for uid, item in items.items() for source in item.sources}
    known = set(Provenance.objects.filter(derived_uid__in=[uid for uid, _ in links]).values_list("derived_uid", "source_uid"))
    rows = [
        {
            "container_id": container.pk,
            "subject_id": subjects[items[uid].user_id],
            "derived_type": ItemType.LONG_TERM,
            "derived_uid": uid,
            "source_type": source.item_type,
            "source_uid": source.uid,
        }
        for (uid, _), source in links.items()
        if (uid, source.uid) not in known
    ]
    insert_rows(Provenance, rows)
