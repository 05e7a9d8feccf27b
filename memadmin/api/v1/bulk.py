"""Many items in one request: a JSON object a line in, an answer for each line out. A bad line costs only itself.

The body is taken in whole before the first answer goes out: a client that does not read while it writes would stand still with us.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import IO, Any, NamedTuple

from django.db import transaction
from django.db.models import Model
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.api.authentication import NotAuthenticated, check_still
from memadmin.api.bodies import check_readable, read_part, too_large
from memadmin.api.v1.base import ApiView, body_of, container_of, principal_of
from memadmin.api.v1.streams import NdJson, Unread
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.lifecycle import embedding
from memadmin.store import arrivals, ingest
from memadmin.store.admission import uid_of
from memadmin.store.identity import item_uid
from memadmin.store.intake import Incoming, IncomingMemory, IncomingSession
from memadmin.store.models import Container, ItemType
from memadmin.store.querysets import with_uids
from memadmin.transfer import own
from memadmin.transfer.columns import MODELS, check
from memadmin.transfer.decoding import decode
from memadmin.transfer.frames import Frame, read_lines
from memadmin.transfer.importing import BATCH_BYTES, REFUSED_BY_STORE, SUPPRESSED, refusal
from memadmin.transfer.problems import Refused

LARGEST = 256 * 1024 * 1024  # bytes
IN_MEMORY = 1024 * 1024
CHUNK = 64 * 1024
AT_ONCE = 5_000  # lines
LONGEST_LINE = 10 * 1024 * 1024
SESSION = own.KIND_OF[ItemType.SESSION]
NOT_YOURS = Refused("not_yours", "another writer has stored an item with this id", field="id")
FOREIGN = Refused("uid_from_elsewhere", "this uid was made from the names of another container; leave it out", field="uid")
DERIVED = 5  # the version of uids that are made from names
NOT_FOR_AGENTS = {"pin": "pin it afterwards, with a reason", "owner": "it is the owner of the token"}
ENDED = {"code": "token_ended", "detail": "The token was ended, or its time is over: what has no answer here is not stored."}


class Bulk(ApiView):
    answers_once = False
    scopes = {"POST": Scope.MEMORY_WRITE}
    parser_classes = [Unread]
    renderer_classes = [NdJson]

    @extend_schema(request={"application/x-ndjson": OpenApiTypes.BINARY}, responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY})
    def post(self, request: Request, cid: str) -> StreamingHttpResponse:
        """Store many items, one JSON object a line in our own format (docs/transfer.md). Each line is answered by one."""
        container, body = container_of(request, cid), body_of(request, lambda: _whole_body(request))
        answers = Writer(container, principal_of(request), now=self.now).answers(read_lines(body, limit=LONGEST_LINE))
        return StreamingHttpResponse(_sent(answers, body), content_type=NdJson.media_type)


def _whole_body(request: Request) -> IO[bytes]:
    check_readable(request._request, largest=LARGEST)
    body, size = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY), 0  # noqa: SIM115 (closed when all is answered)
    while chunk := read_part(request._request, CHUNK):
        size += len(chunk)
        if size > LARGEST:
            raise too_large(LARGEST)
        body.write(chunk)
    body.seek(0)
    return body


def _sent(answers: Iterator[bytes], body: IO[bytes]) -> Iterator[bytes]:
    with body:
        yield from answers


class Line(NamedTuple):
    """A line with what it holds, or why that cannot be stored."""

    number: int
    held: Incoming | Refused
    status: str = "stored"  # of what is not refused


class Writer:
    """Stores lines in batches, under the token's name."""

    def __init__(self, container: Container, principal: Principal, *, now: datetime) -> None:
        self.container, self.principal, self.now = container, principal, now
        self.counts: Counter[str] = Counter(stored=0, refused=0)
        self.erased = 0  # of the refused: what was erased before

    def answers(self, frames: Iterator[Frame]) -> Iterator[bytes]:
        """Yield the answers to all lines, in order, a batch at a time, and one for the whole. A token that is ended ends it too."""
        ended: dict[str, str] = {}
        try:
            for batch in _batches(frames):
                check_still(self.principal, now=timezone.now())
                yield "".join([self._answered(line) for line in self._stored(self._known([self._read(frame) for frame in batch]))]).encode()
        except NotAuthenticated:
            ended = ENDED
        finally:
            self._note()
        yield _as_line({"done": not ended, **self.counts, **ended}).encode()

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
        values = own.read_values(record, kind, rename=_as_given)
        values["owner"] = self.principal.name
        values["created_at"] = values.get("created_at") or self.now
        if kind != SESSION and not values.get("uid"):
            values["uid"] = self._uid_of(kind, values) or uuid.uuid4()
        item = own.KINDS[kind](**values)
        check(item)
        if isinstance(item, IncomingMemory) and not (item.text or "").strip() and not item.parts:
            raise Refused("missing", "a memory has a text, or parts", field="text")
        return item

    def _uid_of(self, kind: str, values: Mapping[str, Any]) -> uuid.UUID | None:
        """Return the uid that follows from the writer's own id of an item."""
        external_id = values.get("external_id")
        if not isinstance(external_id, str):
            return None
        return item_uid(self.container.uid, own.KINDS[kind].item_type, values["user_id"], external_id)

    def _known(self, lines: list[Line]) -> list[Line]:
        """Refuse uids that were made from names elsewhere: whether they are taken there is not for every writer to find out."""
        if self.principal.sees_everything:
            return lines
        derived = {line.held.uid for line in lines if isinstance(line.held, Incoming) and self._is_from_elsewhere(line.held)}
        own = {uid for model in MODELS.values() if derived for uid in self._own_uids(model, derived)}
        return [
            line._replace(held=FOREIGN) if isinstance(line.held, Incoming) and line.held.uid in derived - own else line for line in lines
        ]

    def _is_from_elsewhere(self, item: Incoming) -> bool:
        if item.uid is None or item.uid.version != DERIVED:
            return False
        return item.external_id is None or item.uid != item_uid(self.container.uid, item.item_type, item.user_id, item.external_id)

    def _own_uids(self, model: type[Model], uids: Iterable[uuid.UUID | None]) -> Iterable[uuid.UUID]:
        rows = with_uids(model, [uid for uid in uids if uid]).filter(container=self.container)
        return (rows if self.principal.all_access else rows.filter(owner=self.principal.name)).values_list("uid", flat=True)

    @transaction.atomic
    def _stored(self, lines: Sequence[Line]) -> list[Line]:
        """Store a batch. What cannot be stored is found by halving: a few bad lines among thousands cost a few further attempts each."""
        try:
            aside = self._write([line.held for line in lines if isinstance(line.held, Incoming)])
        except ingest.OfAnother as error:
            return self._stored([line._replace(held=NOT_YOURS) if error.names & _names(line.held) else line for line in lines])
        except REFUSED_BY_STORE as error:
            if len(lines) == 1:
                return [lines[0]._replace(held=refusal(error))]
            half = len(lines) // 2
            return self._stored(lines[:half]) + self._stored(lines[half:])
        return [line._replace(status="set_aside") if self._is_among(aside, line.held) else line for line in lines] if aside else list(lines)

    def _write(self, items: Sequence[Incoming]) -> set[uuid.UUID]:
        """Store items; return the uids of those that were erased before and wait for a person."""
        if not items:
            return set()
        owner = None if self.principal.all_access else self.principal.name
        return ingest.write(self.container, items, actor=self.principal.actor, now=self.now, owner=owner).aside

    def _is_among(self, uids: set[uuid.UUID], held: Incoming | Refused) -> bool:
        return isinstance(held, Incoming) and uid_of(self.container, held) in uids

    def _answered(self, line: Line) -> str:
        held = line.held
        if isinstance(held, Refused):
            self.counts["refused"] += 1
            self.erased += held.code == SUPPRESSED
            return _as_line({"line": line.number, "status": "refused", "code": held.code, "detail": held.words, "field": held.field})
        self.counts[line.status] += 1
        if isinstance(held, IncomingSession):
            return _as_line({"line": line.number, "status": line.status, "type": SESSION, "id": held.external_id})
        # Written out: a dictionary and an encoder for each line cost a tenth of all.
        return f'{{"line": {line.number}, "status": "{line.status}", "type": "{own.KIND_OF[held.item_type]}", "uid": "{held.uid}"}}\n'

    @transaction.atomic
    def _note(self) -> None:
        target = f"containers/{self.container.uid}"
        arrivals.note_refused(self.container, arrivals.Way.BULK, self.erased, actor=self.principal.actor, now=self.now)
        log.append(Action.IMPORT_FINISHED, actor=self.principal.actor, target=target, at=self.now, reason_code="bulk", counts=self.counts)
        embedding.request(actor=self.principal.actor, now=self.now)


def _batches(frames: Iterator[Frame]) -> Iterator[list[Frame]]:
    batch, size = [], 0
    for frame in frames:
        batch.append(frame)
        size += len(frame.raw)
        if len(batch) >= AT_ONCE or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _as_line(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer) + "\n"


def _as_given(uid: uuid.UUID) -> uuid.UUID:
    return uid


def _names(held: Incoming | Refused) -> set[Any]:
    if isinstance(held, Refused):
        return set()
    return {(held.user_id, held.external_id)} if isinstance(held, IncomingSession) else {held.uid}
