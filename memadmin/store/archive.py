"""Copies of evicted memories and sessions, and the way back. Off the read path; each copy names its last day.

A restored item is the same item: uid, counters, times and links as they were, under a new row number.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db import connection, models, transaction

from memadmin.store import bars, counters, embeddings, quarantine, suppression
from memadmin.store.bulk import insert_rows
from memadmin.store.models import Archived, Container, ItemType, LongTermMemory, Mode, Pin, Session, WorkingMemory
from memadmin.store.said import texts_of
from memadmin.store.suppression import Verdict

PINNED_BEFORE = "pinned before it went to the archive; the reason was not kept"
NOT_KEPT = {"id", "embedding", "embedding_model"}


@dataclass(frozen=True, slots=True)
class ArchiveNote:
    """What an archived copy says of its eviction. `expires_at` None keeps it."""

    run_number: int | None
    now: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Restored:
    """How many came back, how many were there again already, how many were refused, and how many of each run came back."""

    items: int
    already_there: int
    refused: int = 0  # erased since, or asked to be: they stay in the archive until somebody decides
    by_run: Mapping[int, int] = field(default_factory=dict)


def pack(row: Mapping[str, Any], working: Sequence[Mapping[str, Any]] = (), pin: Mapping[str, Any] | None = None) -> bytes:
    """Return the compressed copy of a row, for a session with its working memories. Only an import brings copies that have a pin."""
    body = {"row": _plain(row), "working": [_plain(memory) for memory in working], **({"pin": dict(pin)} if pin else {})}
    return zlib.compress(json.dumps(body, default=_text, ensure_ascii=False).encode())


def unpack(payload: bytes | memoryview) -> dict[str, Any]:
    """Return {"row": …, "working": […]}, for a pinned item also "pin", with times and uids as text."""
    packed = bytes(payload)
    body: dict[str, Any] = json.loads(packed if packed.startswith(b"{") else zlib.decompress(packed))
    return body


def holding_messages(sessions: Iterable[Archived], uids: Collection[UUID]) -> dict[UUID, Archived]:
    """Return by uid which copy of a session holds which of the working memories. Reads no further once all are found."""
    found: dict[UUID, Archived] = {}
    for copy in sessions:
        inside = {UUID(memory["uid"]) for memory in unpack(copy.payload)["working"]}
        found |= dict.fromkeys(inside.intersection(uids) - found.keys(), copy)
        if len(found) == len(uids):
            break
    return found


def content_at(row: Mapping[str, Any], *, now: datetime) -> datetime | None:
    """Return when a row last changed, else was made, else was stored. Of a date that lies ahead the day of storing counts."""
    stored: datetime | None = row.get("stored_at")
    known: datetime | None = row.get("last_updated_at") or row.get("created_at") or stored
    return stored if known is not None and known > now else known


def content_at_sql(alias: str) -> str:
    """Return SQL that says the same of a row, with one parameter: now."""
    known = f"coalesce({alias}.last_updated_at, {alias}.created_at, {alias}.stored_at)"
    return f"CASE WHEN {known} > %s THEN {alias}.stored_at ELSE {known} END"


def packed_sql(model: type[models.Model], alias: str) -> str:
    """Return SQL for PostgreSQL that makes a copy of a row as `unpack` reads it. The database compresses it where it is long."""
    names = [column.attname for column in model._meta.concrete_fields if column.attname not in NOT_KEPT]
    row = ", ".join(f"'{name}', {alias}.{name}" for name in names)
    return f"convert_to('{{\"row\": ' || json_build_object({row})::text || ', \"working\": []}}', 'UTF8')"


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what a restored row gets anew: its number, and what is derived from its text."""
    return {name: value for name, value in row.items() if name not in NOT_KEPT}


def _text(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in an archive")


def copies(
    rows: Iterable[Mapping[str, Any]],
    item_type: ItemType,
    *,
    reasons: Mapping[int, str],
    note: ArchiveNote,
    working: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
) -> list[dict[str, Any]]:
    """Return the archive rows for rows that are about to go."""
    return [
        {
            "uid": row["uid"],
            "container_id": row["container_id"],
            "subject_id": row["subject_id"],
            "item_type": item_type,
            "owner": row["owner"],
            "payload": pack(row, (working or {}).get(row["id"], ())),
            "reason": reasons[row["id"]],
            "run_number": note.run_number,
            "archived_at": note.now,
            "content_at": content_at(row, now=note.now),
            "expires_at": note.expires_at,
        }
        for row in rows
    ]


@transaction.atomic
def restore(archived_ids: Sequence[int], *, actor: str = "system/archive", now: datetime) -> Restored:
    """Put archived items back into the store. One that is there again already keeps its newer form and its copy.

    One whose user or words were erased meanwhile is not put back, nor one that an open request for erasure asks about.
    """
    subject_ids = Archived.objects.filter(id__in=archived_ids).values_list("subject_id", flat=True)
    counters.lock(subject_ids)
    found = list(Archived.objects.filter(id__in=archived_ids).select_related("subject").order_by("id"))
    present = _present(found)
    wanted = [copy for copy in found if copy.uid not in present]
    judged = _judged(wanted, now=now)
    erased = _staying(wanted, judged)
    returning = [copy for copy in found if copy.uid not in present and copy.pk not in erased]
    moves = counters.Moves()
    _restore_memories([copy for copy in returning if copy.item_type == ItemType.LONG_TERM], moves)
    for copy in returning:
        if copy.item_type == ItemType.SESSION:
            _restore_session(copy, moves)
        moves.add(copy.subject_id, archived=-1)
    _restore_pins(returning, now=now)
    _mark([copy for copy in returning if copy.pk in judged], judged, actor=actor, now=now)
    Archived.objects.filter(id__in=[copy.pk for copy in returning])._raw_delete(connection.alias)
    moves.apply()
    by_run = Counter(copy.run_number for copy in returning if copy.run_number is not None)
    already_there = len(found) - len(returning) - len(erased)
    return Restored(items=len(returning), already_there=already_there, refused=len(erased), by_run=by_run)


def staying(copies: Sequence[Archived], *, now: datetime) -> set[int]:
    """Return the keys of those copies that restoring leaves where they are, for the sake of an erasure."""
    return _staying(copies, _judged(copies, now=now))


def _staying(copies: Sequence[Archived], judged: Mapping[int, Verdict]) -> set[int]:
    return {key for key, verdict in judged.items() if verdict.mode is not Mode.FLAG} | bars.barred(copies)


def _judged(copies: Sequence[Archived], *, now: datetime) -> dict[int, Verdict]:
    """Return what is said of copies that are of users, or say what, was erased. Of a user who is only flagged their own row says so."""
    found: dict[int, Verdict] = {}
    by_container: defaultdict[int, list[Archived]] = defaultdict(list)
    for copy in copies:
        by_container[copy.container_id].append(copy)
    for container in Container.objects.filter(pk__in=by_container):
        own = by_container[container.pk]
        users = {copy.pk: copy.subject.user_id for copy in own}
        of_users = suppression.verdicts(container, users.values(), now=now)
        shut = {user_id: verdict for user_id, verdict in of_users.items() if verdict.mode is not Mode.FLAG}
        found |= {key: shut[user_id] for key, user_id in users.items() if user_id in shut}
        if suppression.texts_here(container).exists():
            said = {copy.pk: set(said_in(copy)) for copy in own}
            of_texts = suppression.text_verdicts(container, set().union(*said.values()), now=now)
            met = {key: [of_texts[text] for text in texts if text in of_texts] for key, texts in said.items() if key not in found}
            found |= {key: suppression.strictest(verdicts) for key, verdicts in met.items() if verdicts}
    return found


def _mark(copies: Sequence[Archived], judged: Mapping[int, Verdict], *, actor: str, now: datetime) -> None:
    """Mark what comes back although its text was erased once, as what is written anew is."""
    for container in Container.objects.filter(pk__in={copy.container_id for copy in copies}).order_by("pk"):
        own = [copy for copy in copies if copy.container_id == container.pk]
        arrived = [quarantine.Arrived(copy.uid, copy.subject_id, copy, judged[copy.pk]) for copy in own]
        quarantine.mark(container, arrived, actor=actor, now=now)


def said_in(copy: Archived) -> Iterator[str]:
    """Yield the words of a copy: a memory's text, or a session's summary and messages."""
    body = unpack(copy.payload)
    yield from (text for name in ("text", "summary") if isinstance(text := body["row"].get(name), str))
    for working in body["working"]:
        yield from texts_of(working.get("messages"))


def _present(found: Sequence[Archived]) -> set[UUID]:
    """Return which of them are in the store again; a session also when it is back under the agent's id for it."""
    uids = [copy.uid for copy in found]
    named = {
        (copy.subject_id, unpack(copy.payload)["row"]["external_id"]): copy.uid for copy in found if copy.item_type == ItemType.SESSION
    }
    back = Session.objects.filter(subject_id__in={key[0] for key in named}, external_id__in={key[1] for key in named})
    return {
        *LongTermMemory.objects.with_uids(uids).values_list("uid", flat=True),
        *Session.objects.with_uids(uids).values_list("uid", flat=True),
        *(named[key] for key in back.values_list("subject_id", "external_id") if key in named),
    }


def _restore_memories(copies: Sequence[Archived], moves: counters.Moves) -> None:
    rows = [{**_row(LongTermMemory, unpack(copy.payload)["row"]), **embeddings.missing(), **_bound(copy)} for copy in copies]
    insert_rows(LongTermMemory, rows)
    for row in rows:
        moves.add(row["subject_id"], long_term=1, tokens=row["tokens"], pinned_long_term=int(row["pinned"]))


def _restore_session(copy: Archived, moves: counters.Moves) -> None:
    body = unpack(copy.payload)
    session = {**_row(Session, body["row"]), **_bound(copy)}
    insert_rows(Session, [session])
    key = Session.objects.values_list("id", flat=True).get(uid=session["uid"], subject=session["subject_id"])
    rows = [_row(WorkingMemory, {**row, "session_id": key, **_bound(copy)}) for row in body["working"]]
    working = _missing(rows, session["subject_id"])
    insert_rows(WorkingMemory, working)
    messages = sum(row["message_count"] for row in working)
    moves.add(session["subject_id"], sessions=1, pinned_sessions=int(session["pinned"]), working=len(working), messages=messages)


def _bound(copy: Archived) -> dict[str, bool]:
    """What binds the copy binds what comes out of it."""
    return {"held": copy.held, "restricted": copy.restricted}


def _missing(working: Sequence[dict[str, Any]], subject_id: int) -> list[dict[str, Any]]:
    """Return what is not there yet. A message that came back by itself keeps its newer form, and its session if it has one now."""
    uids = [row["uid"] for row in working]
    there = WorkingMemory.objects.with_uids(uids).filter(subject_id=subject_id)
    present = set(there.values_list("uid", flat=True))
    if present:
        there.filter(session__isnull=True).update(session_id=working[0]["session_id"])
    return [row for row in working if row["uid"] not in present]


def _restore_pins(copies: Sequence[Archived], *, now: datetime) -> None:
    """A copy that was pinned when it went comes back with its pin, so that the flag is no flag without a reason."""
    pinned = [(copy, body) for copy in copies if (body := unpack(copy.payload))["row"].get("pinned")]
    for copy, body in pinned:
        pin = pin_in(body) or Pin(reason=PINNED_BEFORE, actor="system/archive", created_at=now)
        pin.container_id, pin.subject_id, pin.target_type, pin.target_uid = copy.container_id, copy.subject_id, copy.item_type, copy.uid
        pin.save(force_insert=True)


def pin_in(body: Mapping[str, Any]) -> Pin | None:
    """Return the pin, not saved, that the item of an unpacked copy had; None where none was kept."""
    kept = body.get("pin")
    if not kept:
        return None
    columns = [column for column in Pin._meta.concrete_fields if column.name in _OF_PIN]
    return Pin(**{column.name: column.to_python(kept.get(column.name) or column.get_default()) for column in columns})


_OF_PIN = ("reason", "actor", "created_at", "review_on", "reviewed_at", "reviewed_by")


def _row(model: type[models.Model], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of today's columns: an older copy may lack some and carry others."""
    row = {}
    for column in model._meta.concrete_fields:
        if not column.primary_key:
            value = stored.get(column.attname, column.get_default())
            row[column.attname] = value if isinstance(column, models.JSONField) else column.to_python(value)
    return row
