"""Who wrote what is, or was, stored of a user: what the bearer of a token without all access may know to be there.

Of what was evicted the archive's copy and history say it. What is restricted is kept, but nobody is told of it.
"""

from __future__ import annotations

from uuid import UUID

from memadmin.store.models import Archived, HistoryEntry, ItemType, LongTermMemory, Session, Subject, WorkingMemory

_WRITTEN = (LongTermMemory, Session, WorkingMemory, HistoryEntry, Archived)
_NAMED = {
    ItemType.LONG_TERM: ((LongTermMemory, "uid"), (HistoryEntry, "memory_uid"), (Archived, "uid")),
    ItemType.SESSION: ((Session, "uid"), (Archived, "uid")),
}


def has_written(owner: str, subject: Subject) -> bool:
    """Whether anything that is left of a user, in the store or in the archive, was written by this owner."""
    of_owner = {"subject": subject, "owner": owner, "restricted": False}
    return any(model._default_manager.filter(**of_owner).exists() for model in _WRITTEN)


def has_written_item(owner: str, subject: Subject, item_type: ItemType, uid: UUID) -> bool:
    """Whether a memory or session of the user, there or gone, is this owner's as far as a row is left that says so."""
    of_owner = {"subject": subject, "owner": owner, "restricted": False}
    return any(model._default_manager.filter(**of_owner, **{name: uid}).exists() for model, name in _NAMED[item_type])
