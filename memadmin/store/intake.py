"""What `ingest` takes: the shapes in which memories arrive, already checked and cleaned by the part that read them.

`uid` is given where the source fixes the identity; otherwise it follows from `external_id`, and without that it is new.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, ClassVar
from uuid import UUID

from memadmin.store.models import ItemType

Json = Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where a memory came from."""

    item_type: ItemType
    uid: UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingPin:
    reason: str
    actor: str
    created_at: datetime
    review_on: date | None = None
    reviewed_at: datetime | None = None
    reviewed_by: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    item_type: ClassVar[ItemType]
    user_id: str | None
    uid: UUID | None = None
    external_id: str | None = None
    owner: str | None = None
    namespace: Mapping[str, Json] = field(default_factory=dict)
    created_at: datetime | None = None
    time_note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingUser:
    """A user who may have no memory yet."""

    user_id: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingSession(Incoming):
    item_type: ClassVar[ItemType] = ItemType.SESSION
    summary: str | None = None
    state: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    agents: Json = field(default_factory=dict)
    additional_info: Json = field(default_factory=dict)
    last_updated_at: datetime | None = None
    pin: IncomingPin | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingWorking(Incoming):
    item_type: ClassVar[ItemType] = ItemType.WORKING
    session_ref: str | None = None  # the external id of its session
    session_gone: bool = False  # that session is not there any more, and is not made again
    sequence: int = 0
    payload_type: str = "conversational"
    messages: Json = field(default_factory=list)
    message_id: int | None = None
    structured_data: Json = None
    structured_data_blob: Json = None
    binary_data: str | None = None
    metadata: Json = field(default_factory=dict)
    tags: Json = field(default_factory=dict)
    parameters: Json = field(default_factory=dict)
    infer: bool = False
    checkpoint_id: str | None = None
    event_id: str | None = None
    invocation_id: str | None = None
    author: str | None = None
    event: Json = None
    last_updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingMemory(Incoming):
    item_type: ClassVar[ItemType] = ItemType.LONG_TERM
    text: str = ""
    parts: Json = None
    author: str | None = None
    strategy_id: str | None = None
    strategy_type: str | None = None
    tags: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    tokens: int | None = None  # None: estimated from the text
    tokens_method: str = "source"
    importance: float | None = None  # None: 0.5 until the rules speak
    importance_source: str = "source"
    hits: int = 0
    last_accessed_at: datetime | None = None
    last_updated_at: datetime | None = None
    fact_key: str | None = None
    fact_version: int | None = None
    superseded_by: UUID | None = None
    pin: IncomingPin | None = None
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingHistory(Incoming):
    item_type: ClassVar[ItemType] = ItemType.HISTORY
    memory_uid: UUID | None = None
    memory_ref: str | None = None
    action: str | None = None
    before: Json = None
    after: Json = None
    error: str | None = None
    actor: str = ""
    tags: Json = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingArchived:
    """A copy of an item that was evicted elsewhere. It goes into the archive, not on the read path."""

    item_type: ClassVar[str] = "archived"
    user_id: str | None
    item: IncomingSession | IncomingMemory
    working: tuple[IncomingWorking, ...] = ()
    reason: str
    run_number: int | None = None
    archived_at: datetime
    expires_at: datetime | None = None
