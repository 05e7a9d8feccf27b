"""What reading a record can yield, besides what `store.ingest` takes as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memadmin.store import ingest
from memadmin.store.intake import IncomingWorking
from memadmin.transfer.problems import Noted, Refused


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One message whose place and session follow from the file: the order of its lines, the times of its messages."""

    working: IncomingWorking
    title: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedFrom:
    """The container that the records after it were copied from, by the id that its store gave it."""

    uid: UUID | None = None
    external_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundContainer:
    """A container that the file describes. `details` are fields of its row."""

    name: str
    uid: UUID | None = None
    external_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundPolicy:
    """A policy document. It arrives as a draft, whatever it was at the source."""

    document: Mapping[str, Any]
    field: str
    note: str


Arrival = ingest.Arrival | Said
Outcome = Arrival | CopiedFrom | FoundContainer | FoundPolicy | Refused | Noted
