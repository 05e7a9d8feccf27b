"""The tables of the store. Rows are made in `ingest` and taken out in `removal`, nowhere else."""

from memadmin.store.models.archive import Archived
from memadmin.store.models.containers import Container, PolicyState, PolicyStatus, PolicyVersion, Setting
from memadmin.store.models.links import ItemType, Pin, Provenance
from memadmin.store.models.memories import HistoryAction, HistoryEntry, LongTermMemory, PayloadType, Session, TimeNote, WorkingMemory
from memadmin.store.models.subjects import Subject

__all__ = [
    "Archived",
    "Container",
    "HistoryAction",
    "HistoryEntry",
    "ItemType",
    "LongTermMemory",
    "PayloadType",
    "Pin",
    "PolicyState",
    "PolicyStatus",
    "PolicyVersion",
    "Provenance",
    "Session",
    "Setting",
    "Subject",
    "TimeNote",
    "WorkingMemory",
]
