"""Where long-term memories came from, as the person may know it: their own sessions, messages and memories by name, others' not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from memadmin.erasure.access_exports.records import Record, plain
from memadmin.store.models import ItemType, LongTermMemory, Provenance, Session, WorkingMemory

_NAMED: tuple[tuple[ItemType, Any, str], ...] = (
    (ItemType.SESSION, Session, "external_id"),
    (ItemType.WORKING, WorkingMemory, "session_ref"),
    (ItemType.LONG_TERM, LongTermMemory, "external_id"),
)


def with_sources(records: Iterable[Record], subjects: Collection[int]) -> None:
    """Add `sources` to records of long-term memories, in a fixed order."""
    by_uid = {UUID(record["uid"]): record for record in records}
    links = Provenance.objects.filter(derived_uid__in=list(by_uid), subject_id__in=list(subjects)).order_by("id")
    found = list(links.values_list("derived_uid", "source_type", "source_uid"))
    known = _described({source for _, _, source in found}, subjects)
    sources: defaultdict[UUID, list[Record]] = defaultdict(list)
    for derived, item_type, source in found:
        sources[derived].append({"type": ItemType(item_type).label, **known.get(source, {"note": "not yours, or not there any more"})})
    for uid, record in by_uid.items():
        record["sources"] = sources[uid]


def _described(uids: set[UUID], subjects: Collection[int]) -> Mapping[UUID, Record]:
    """Return what may be said of those that are the person's own."""
    found: dict[UUID, Record] = {}
    for _, model, name in _NAMED:
        rows = model.objects.filter(uid__in=uids, subject_id__in=list(subjects))
        for uid, called, created_at in rows.values_list("uid", name, "created_at"):
            found[uid] = {"uid": str(uid), "called": called, "from": plain(created_at)}
    return found
