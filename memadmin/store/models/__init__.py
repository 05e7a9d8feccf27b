"""The tables of the store. Rows are made in `ingest` and taken out in `removal`, nowhere else."""

from memadmin.store.models.archive import Archived
from memadmin.store.models.containers import Container, PolicyState, PolicyStatus, PolicyVersion, Setting
from memadmin.store.models.feedback import Feedback, FeedbackKind, FeedbackState
from memadmin.store.models.holds import Authority, Hold, HoldKind, HoldScope
from memadmin.store.models.links import ItemType, Pin, Provenance
from memadmin.store.models.memories import HistoryAction, HistoryEntry, LongTermMemory, PayloadType, Session, TimeNote, WorkingMemory
from memadmin.store.models.recalls import RecallEvent
from memadmin.store.models.subjects import Subject
from memadmin.store.models.suppressions import Mode, Outcome, Returned, SuppressedKind, Suppression

__all__ = [
    "Archived",
    "Authority",
    "Container",
    "Feedback",
    "FeedbackKind",
    "FeedbackState",
    "HistoryAction",
    "HistoryEntry",
    "Hold",
    "HoldKind",
    "HoldScope",
    "ItemType",
    "LongTermMemory",
    "Mode",
    "Outcome",
    "PayloadType",
    "Pin",
    "PolicyState",
    "PolicyStatus",
    "PolicyVersion",
    "Provenance",
    "RecallEvent",
    "Returned",
    "Session",
    "Setting",
    "Subject",
    "SuppressedKind",
    "Suppression",
    "TimeNote",
    "WorkingMemory",
]
