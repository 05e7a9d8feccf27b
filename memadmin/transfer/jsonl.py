"""The reader of `jsonl`: our own complete format, and hand-written records of several shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

from memadmin.store.identity import item_uid
from memadmin.store.intake import Incoming, IncomingSession, IncomingUser
from memadmin.transfer import own
from memadmin.transfer.decoding import decode
from memadmin.transfer.frames import Frame
from memadmin.transfer.loose import read_memory, read_session, read_tree
from memadmin.transfer.messages import counted_name, read_row
from memadmin.transfer.opensearch_documents import Document, read_document, unwrap
from memadmin.transfer.outcomes import CopiedFrom, Outcome, Said
from memadmin.transfer.problems import Noted, Refused, UnusableFile
from memadmin.transfer.scratch import Scratch
from memadmin.transfer.sources import Source
from memadmin.transfer.targets import Target, find_by_name, is_free
from memadmin.transfer.values import Record, identifier

UNKNOWN = "no shape that is known: neither a `type` of ours, nor `messages`, `memory`, `content`, `mapping` or an OpenSearch document"


class JsonlReader:
    stages = ("all",)

    def __init__(self, target: Target, scratch: Scratch) -> None:
        self.target = target
        self.scratch = scratch
        self.renamed_from: UUID | None = None  # the file's container, where ours has another uid
        self.copied_from: str | None = None  # the container that the last OpenSearch document named
        self.is_export = False
        self.ended = False

    def prepare(self, source: Source) -> None:
        """Read the header of an export, and find out whether its uids can be kept."""
        header = _header(source)
        if header is None:
            return
        if header["memadmin"] != own.VERSION:
            raise UnusableFile(f"The file is of version {header['memadmin']!r} of our format; this program reads version {own.VERSION}.")
        self.is_export = True
        containers = header.get("containers")
        if self.target.name is None or not isinstance(containers, list):
            return
        if len(containers) > 1:
            raise UnusableFile("The file holds several containers, each under its own name. Leave --container out.")
        uid = own.read_uid(containers[0], "uid") if containers and isinstance(containers[0], dict) else None
        self.target.copied_from(CopiedFrom(uid=uid))
        if uid and not self._keeps(uid):
            self.renamed_from = uid
            self._name_anew(source, uid)

    def _keeps(self, uid: UUID) -> bool:
        """Whether the target has the uid of the file's container, or will be made with it."""
        assert self.target.name is not None
        existing = find_by_name(self.target.name)
        return existing.uid == uid if existing else is_free(uid=uid)

    def _name_anew(self, source: Source, file_uid: UUID) -> None:
        """Note for every item of the file the uid that it gets here, so that all references can follow."""
        target_uid = self.target.container.uid
        for frame in source.frames():
            for record in _items(frame):
                try:
                    self._note_name(record, file_uid=file_uid, target_uid=target_uid)
                except Refused:
                    continue  # told of when the record is read

    def _note_name(self, record: Record, *, file_uid: UUID, target_uid: UUID) -> None:
        uid, external_id = own.read_uid(record, "uid"), record.get("external_id")
        if uid is None:
            return
        item_type = own.KINDS[record["type"]].item_type
        user_id = identifier(record, "user_id")
        if not isinstance(external_id, str) or item_uid(file_uid, item_type, user_id, external_id) != uid:
            external_id = f"uid:{uid}"
        self.scratch.rename(uid, item_uid(target_uid, item_type, user_id, external_id))

    def _renamed(self, uid: UUID) -> UUID:
        if self.renamed_from is None:
            return uid
        return self.scratch.renamed(uid) or item_uid(self.target.container.uid, "gone", None, f"uid:{uid}")

    def wants(self, frame: Frame, stage: str) -> bool:
        return True

    def read(self, record: Record, stage: str) -> Iterator[Outcome]:
        if "memadmin" in record:
            return
        kind = record.get("type")
        if kind == "end":
            self.ended = True
        elif kind in own.KINDS or kind in ("container", "policy", "user", "archived"):
            yield from self._own(record, str(kind))
        else:
            yield from self._loose(record)

    def missing(self) -> Iterator[Refused]:
        if self.is_export and not self.ended:
            yield Refused("cut_off", "the export has no end: it was cut off, or is of a later version")

    def _own(self, record: Record, kind: str) -> Iterator[Outcome]:
        if kind == "container":
            yield own.read_container(record)
        elif kind == "policy":
            if policy := own.read_policy(record):
                yield policy
            else:
                yield Noted("superseded_policy", "a policy that was superseded at the source is left out")
        elif kind == "user":
            yield IncomingUser(user_id=identifier(record, "user_id"))
        elif kind == "archived":
            yield own.read_archived(record, rename=self._renamed)
        else:
            for name in own.unknown_fields(record, kind):
                yield Noted("field_dropped", "this version does not know the field", field=name)
            yield self._named(own.read_item(record, kind, rename=self._renamed), record)

    def _named(self, item: Incoming, record: Record) -> Incoming:
        """An item that was written by hand, without any id, goes by what it says: imported again it is the same one."""
        if item.uid is not None or item.external_id is not None or isinstance(item, IncomingSession):
            return item
        return replace(item, external_id=counted_name(record, scratch=self.scratch))

    def _loose(self, record: Record) -> Iterator[Outcome]:
        if "user_id" not in record and record.keys() & {"_source", "memory_container_id", "namespace"}:
            yield from self._document(unwrap(record))
        elif "messages" in record:
            yield from read_session(record, scratch=self.scratch)
        elif "memory" in record or "text" in record:
            yield from read_memory(record, container_uid=self.target.container.uid, scratch=self.scratch, now=self.target.now)
        elif "mapping" in record:
            yield from read_tree(record, scratch=self.scratch)
        elif "role" in record or "content" in record:
            yield from self._row(record)
        else:
            raise Refused("unknown_shape", UNKNOWN)

    def _document(self, document: Document) -> Iterator[Outcome]:
        owner = identifier(document.source, "memory_container_id")
        if owner is not None and owner != self.copied_from:
            self.copied_from = owner
            yield CopiedFrom(external_id=owner)
        yield from read_document(document, container_uid=self.target.container.uid, now=self.target.now)

    def _row(self, record: Record) -> Iterator[Said]:
        yield read_row(record, scratch=self.scratch)


def _header(source: Source) -> dict[str, Any] | None:
    """Return the first record if it says that the file is an export of ours."""
    for frame in itertools.islice(source.frames(), 1):
        if b'"memadmin"' in frame.raw:
            try:
                record = decode(frame.raw).record
            except Refused:
                return None
            return record if "memadmin" in record else None
    return None


def _items(frame: Frame) -> Iterator[dict[str, Any]]:
    """Yield the records of items in a frame, those of the archive too."""
    try:
        record = decode(frame.raw).record
    except Refused:
        return
    user = {"user_id": record.get("user_id")}
    inner = [record.get("item"), *_list(record.get("working"))] if record.get("type") == "archived" else [record]
    yield from ({**item, **user} for item in inner if isinstance(item, dict) and item.get("type") in own.KINDS)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
