"""Many items in one request: a JSON object a line in, an answer for each line out. A bad line costs only itself.

The body is taken in whole before the first answer goes out: a client that does not read while it writes would stand still with us.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import IO, Any

from django.db import transaction
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.api.v1.base import ApiView, container_of, principal_of
from memadmin.api.v1.streams import NdJson, Unread
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle import embedding
from memadmin.store import ingest
from memadmin.store.identity import item_uid
from memadmin.store.intake import Incoming, IncomingSession
from memadmin.store.models import Container, HistoryEntry, LongTermMemory, Session, Subject, WorkingMemory
from memadmin.transfer import own
from memadmin.transfer.columns import check
from memadmin.transfer.decoding import decode
from memadmin.transfer.frames import Frame, read_lines
from memadmin.transfer.importing import REFUSED_BY_STORE
from memadmin.transfer.problems import Refused

LARGEST = 256 * 1024 * 1024  # bytes
IN_MEMORY = 1024 * 1024
CHUNK = 64 * 1024
AT_ONCE = 2_000  # lines
LONGEST_LINE = 10 * 1024 * 1024
NOT_FOR_AGENTS = {"pin": "pin it afterwards, with a reason", "owner": "it is the owner of the token"}

Answer = dict[str, Any]


class Bulk(ApiView):
    answers_once = False
    scopes = {"POST": Scope.MEMORY_WRITE}
    parser_classes = [Unread]
    renderer_classes = [NdJson]

    @extend_schema(request={"application/x-ndjson": OpenApiTypes.BINARY}, responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY})
    def post(self, request: Request, cid: str) -> StreamingHttpResponse:
        """Store many items, one JSON object a line in our own format (docs/transfer.md). Each line is answered by one."""
        container, body = container_of(request, cid), _whole_body(request)
        answers = Writer(container, principal_of(request), now=self.now).answers(read_lines(body, limit=LONGEST_LINE))
        return StreamingHttpResponse(_encoded(answers, body), content_type=NdJson.media_type)


def _whole_body(request: Request) -> IO[bytes]:
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refused("encoding", "a compressed body is not read; send it plain")
    if not request.headers.get("Content-Length") and request.headers.get("Transfer-Encoding"):
        raise Refused("length", "the length of the body is needed in Content-Length")
    body, size = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY), 0  # noqa: SIM115 (closed when all is answered)
    while chunk := request._request.read(CHUNK):
        size += len(chunk)
        if size > LARGEST:
            raise Refused("too_large", f"the body has more than {LARGEST} bytes; send it in parts")
        body.write(chunk)
    body.seek(0)
    return body


def _encoded(answers: Iterator[Answer], body: IO[bytes]) -> Iterator[bytes]:
    with body:
        for answer in answers:
            yield json.dumps(answer).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Line:
    """A line with what it holds, or why that cannot be stored."""

    number: int
    held: Incoming | Refused


class Writer:
    """Stores lines in batches, under the token's name."""

    def __init__(self, container: Container, principal: Principal, *, now: datetime) -> None:
        self.container, self.principal, self.now = container, principal, now
        self.counts: Counter[str] = Counter(stored=0, refused=0)

    def answers(self, frames: Iterator[Frame]) -> Iterator[Answer]:
        """Yield an answer for each line, in order, and one for the whole."""
        try:
            while batch := list(islice(frames, AT_ONCE)):
                yield from [self._answered(line) for line in self._stored([self._read(frame) for frame in batch])]
        finally:
            self._note()
        yield {"done": True, **self.counts}

    @transaction.atomic
    def _stored(self, lines: Sequence[Line]) -> list[Line]:
        """Store a batch. Its users are held, so that nobody else writes an item between the look at whose it is and the writing."""
        users = {line.held.user_id for line in lines if isinstance(line.held, Incoming)}
        ingest.hold_users(self.container, users, actor=self.principal.actor, now=self.now)
        return list(self._written(self._own(lines)))

    def _answered(self, line: Line) -> Answer:
        if isinstance(line.held, Refused):
            self.counts["refused"] += 1
            return {"line": line.number, "status": "refused", "code": line.held.code, "detail": line.held.words, "field": line.held.field}
        self.counts["stored"] += 1
        name = {"id": line.held.external_id} if isinstance(line.held, IncomingSession) else {"uid": str(line.held.uid)}
        return {"line": line.number, "status": "stored", "type": own.KIND_OF[line.held.item_type], **name}

    def _read(self, frame: Frame) -> Line:
        try:
            if frame.problem:
                raise frame.problem
            return Line(frame.line, self._item(decode(frame.raw).record))
        except Refused as problem:
            return Line(frame.line, problem)

    def _item(self, record: dict[str, Any]) -> Incoming:
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in own.KINDS:
            raise Refused("unknown_type", f"one of {', '.join(own.KINDS)} is needed here", field="type")
        for name, words in NOT_FOR_AGENTS.items():
            if record.get(name) is not None:
                raise Refused("not_taken", f"this is not taken here: {words}", field=name)
        if unknown := own.unknown_fields(record, kind):
            raise Refused("field_unknown", "there is no such field", field=unknown[0][:100])
        item = own.read_item(record, kind, rename=lambda uid: uid)
        uid = item.uid if item.uid or isinstance(item, IncomingSession) else self._uid_of(item)
        item = replace(item, owner=self.principal.name, created_at=item.created_at or self.now, uid=uid)
        check(item)
        return item

    def _uid_of(self, item: Incoming) -> uuid.UUID:
        if item.external_id is None:
            return uuid.uuid4()
        return item_uid(self.container.uid, item.item_type, item.user_id, item.external_id)

    def _own(self, lines: Sequence[Line]) -> list[Line]:
        """Refuse what would change an item that somebody else has written."""
        if self.principal.all_access:
            return list(lines)
        items = [line.held for line in lines if isinstance(line.held, Incoming)]
        uids = {item.uid for item in items if item.uid}
        others: set[Any] = set()
        for model in (Session, WorkingMemory, LongTermMemory, HistoryEntry):
            rows = model._default_manager.filter(uid__in=uids).exclude(owner=self.principal.name)
            others |= set(rows.values_list("uid", flat=True))
        others |= self._sessions_of_others([item for item in items if isinstance(item, IncomingSession)])
        problem = Refused("not_yours", "another writer has stored an item with this id", field="id")
        return [Line(line.number, problem) if _names(line.held) & others else line for line in lines]

    def _sessions_of_others(self, items: Sequence[IncomingSession]) -> set[tuple[str | None, str | None]]:
        users = Subject.objects.filter(container=self.container, user_id__in={item.user_id for item in items if item.user_id is not None})
        found = dict(users.values_list("user_id", "id")) if items else {}
        wanted = [(found[item.user_id], item.external_id) for item in items if item.user_id in found]
        rows = Session.objects.named(wanted).exclude(owner=self.principal.name) if wanted else Session.objects.none()
        return set(rows.values_list("subject__user_id", "external_id"))

    def _written(self, lines: Sequence[Line]) -> Iterator[Line]:
        items = [line.held for line in lines if isinstance(line.held, Incoming)]
        try:
            self._write(items)
        except REFUSED_BY_STORE:
            yield from map(self._written_alone, lines)
        else:
            yield from lines

    def _written_alone(self, line: Line) -> Line:
        if isinstance(line.held, Refused):
            return line
        try:
            self._write([line.held])
        except ingest.UidTaken:
            return Line(line.number, Refused("uid_taken", "the uid belongs to an item of another user", field="uid"))
        except REFUSED_BY_STORE as error:  # its own words would quote the line
            return Line(line.number, Refused("database", f"the database refuses this line ({type(error).__name__})"))
        return line

    def _write(self, items: Sequence[Incoming]) -> None:
        if items:
            ingest.write(self.container, items, actor=self.principal.actor, now=self.now)

    @transaction.atomic
    def _note(self) -> None:
        target = f"containers/{self.container.uid}"
        log.append(Action.IMPORT_FINISHED, actor=self.principal.actor, target=target, at=self.now, reason_code="bulk", counts=self.counts)
        embedding.request(actor=self.principal.actor, now=self.now)


def _names(held: Incoming | Refused) -> set[Any]:
    if isinstance(held, Refused):
        return set()
    return {held.uid, (held.user_id, held.external_id)} if isinstance(held, IncomingSession) else {held.uid}
