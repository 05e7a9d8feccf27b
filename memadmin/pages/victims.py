"""Victims as a table shows them: what goes, of whom, why, and its text for those who may read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models.functions import Left

from memadmin.lifecycle.models import ItemKind, RunVictim
from memadmin.pages.messages import beginning_of
from memadmin.store.archive import unpack
from memadmin.store.models import Archived, LongTermMemory, Session, Subject, WorkingMemory

BEGINNING = 400  # characters


def shown_victims(victims: Sequence[RunVictim], *, may_read: bool) -> list[dict[str, Any]]:
    """Return rows of victim, user, item (None when it has gone), its copy in the archive, and text (None where it may not be read)."""
    users = Subject.objects.in_bulk([victim.subject_id for victim in victims])
    memories = _rows(LongTermMemory, victims, ItemKind.LONG_TERM, may_read=may_read)
    sessions = _rows(Session, victims, ItemKind.SESSION, may_read=may_read)
    working = _rows(WorkingMemory, victims, ItemKind.WORKING, may_read=may_read)
    copies = _copies_of_the_gone(victims, {*memories, *sessions, *working}, may_read=may_read)
    rows = []
    for victim in victims:
        item = memories.get(victim.item_uid) or sessions.get(victim.item_uid) or working.get(victim.item_uid)
        copy, user = copies.get(victim.item_uid), users.get(victim.subject_id)
        text = (_text(item) if item else copy and _text_of(copy)) if may_read else None
        rows.append({"victim": victim, "user": user, "item": item, "copy": copy, "text": text, "kind": ItemKind(victim.item_kind)})
    return rows


def _rows(model: Any, victims: Sequence[RunVictim], kind: ItemKind, *, may_read: bool) -> dict[Any, Any]:
    uids = [victim.item_uid for victim in victims if victim.item_kind == kind]
    rows = model.objects.with_uids(uids)
    if model is LongTermMemory:
        rows = rows.defer("text", "parts", "metadata", "tags", "namespace")
        rows = rows.annotate(beginning=Left("text", BEGINNING)) if may_read else rows
    if model is WorkingMemory and not may_read:
        rows = rows.only("uid")
    return {row.uid: row for row in rows} if uids else {}


def _text(item: LongTermMemory | Session | WorkingMemory) -> str:
    if isinstance(item, WorkingMemory):
        return beginning_of(item, BEGINNING)
    return item.summary or item.external_id or "" if isinstance(item, Session) else str(vars(item)["beginning"])


def _copies_of_the_gone(victims: Sequence[RunVictim], present: set[Any], *, may_read: bool) -> dict[Any, Archived]:
    """Return what lies in the archive of those that have been evicted, for as long as it is there."""
    uids = [victim.item_uid for victim in victims if victim.item_uid not in present]
    copies = Archived.objects.filter(uid__in=uids)
    return {copy.uid: copy for copy in (copies if may_read else copies.defer("payload"))} if uids else {}


def _text_of(copy: Archived) -> str:
    row = unpack(copy.payload)["row"]
    return str(row.get("text") or row.get("summary") or row.get("external_id") or "")
