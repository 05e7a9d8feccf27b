"""The reader of OpenSearch dumps: elasticdump lines, the hits of a search answer, or bare documents.

A dump is in no particular order, so the file is read three times: for its containers, its sessions, and the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memadmin.store.models import ItemType
from memadmin.transfer.decoding import decode
from memadmin.transfer.frames import Frame
from memadmin.transfer.opensearch_documents import CONTAINER, Document, kind_of, read_container, read_document, unwrap
from memadmin.transfer.outcomes import FoundContainer, Outcome
from memadmin.transfer.problems import Noted, Refused, UnusableFile
from memadmin.transfer.scratch import Scratch
from memadmin.transfer.sources import Source
from memadmin.transfer.targets import Target
from memadmin.transfer.values import Record, identifier

CONTAINERS, SESSIONS, REST = "containers", "sessions", "rest"

_INDEX = re.compile(rb'"_index"\s*:\s*"([^"]*)"')
_NAMES = {CONTAINERS: b"memory-container", SESSIONS: b"session"}


class OpenSearchReader:
    stages = (CONTAINERS, SESSIONS, REST)

    def __init__(self, target: Target, scratch: Scratch) -> None:
        self.target = target
        self.described: dict[str, FoundContainer] = {}  # by the source's id
        self.chosen: set[str] = set()
        self.current: str | None = None

    def prepare(self, source: Source) -> None:
        """Find the containers that the file describes, and choose those that are meant."""
        for frame in source.frames():
            if frame.problem is None and self.wants(frame, CONTAINERS):
                self._note_container(frame)
        self.chosen = set(self.described)
        if self.target.name is not None and len(self.described) > 1:
            self.chosen = {key for key, found in self.described.items() if self.target.name in (key, found.name)}
            if len(self.chosen) != 1:
                names = ", ".join(found.name for found in self.described.values())
                raise UnusableFile(f"The file holds several containers ({names}). Name one of them, or leave --container out.")

    def _note_container(self, frame: Frame) -> None:
        try:
            document = unwrap(decode(frame.raw).record)
            if kind_of(document) == CONTAINER:
                self.described.update((document.id, found) for found in read_container(document) if isinstance(found, FoundContainer))
        except Refused:
            return  # told of when the record is read

    def wants(self, frame: Frame, stage: str) -> bool:
        indexes = _INDEX.findall(frame.raw)
        return not indexes or any(_NAMES[stage] in index for index in indexes)

    def read(self, record: Record, stage: str) -> Iterator[Outcome]:
        document = unwrap(record)
        try:
            kind = kind_of(document)
        except Refused:
            if stage == REST:
                raise
            return
        if stage != {CONTAINER: CONTAINERS, ItemType.SESSION: SESSIONS}.get(kind, REST):
            return
        if kind == CONTAINER:
            yield from read_container(document) if document.id in self.chosen else [_elsewhere()]
            return
        yield from self._items(document)

    def missing(self) -> Iterator[Refused]:
        return iter(())

    def _items(self, document: Document) -> Iterator[Outcome]:
        owner = self._owner(document)
        if owner is not None and self.described and owner not in self.chosen:
            yield _elsewhere()
            return
        if owner is not None and owner != self.current:
            self.current = owner
            yield self._container_of(owner)
        yield from read_document(document, container_uid=self.target.container.uid, now=self.target.now)

    def _owner(self, document: Document) -> str | None:
        """Return the source's id of the document's container. Raises Refused where it could be either of several."""
        owner = identifier(document.source, "memory_container_id")
        if owner is None and len(self.described) == 1:
            return next(iter(self.described))
        if owner is None and self.described:
            raise Refused("container_unknown", "the file holds several containers, and this record names none", field="memory_container_id")
        if owner is not None and self.described and owner not in self.described:
            raise Refused("other_container", "this record belongs to a container that is not in the file", field="memory_container_id")
        if owner is not None and not self.described and self.current not in (None, owner):
            raise Refused("other_container", "this record belongs to another container than those before it", field="memory_container_id")
        return owner

    def _container_of(self, owner: str) -> FoundContainer:
        if owner in self.described:
            return self.described[owner]
        found = FoundContainer(name=self.target.name or "", external_id=owner)
        if self.target.name is None and self.target.same(found) is None:
            raise UnusableFile("The file does not describe its container. Name one with --container.")
        return found


def _elsewhere() -> Noted:
    return Noted("other_container", "left out: it belongs to another container of the file", field="memory_container_id")
