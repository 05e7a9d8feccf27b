"""The one way into the log, and the short way out of it.

Invariant: seq has no gaps and the chain no forks, because every writer of a stream queues on its head row.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from memadmin.audit.actions import Action
from memadmin.audit.chain import GENESIS, Leaf, NotCanonical, canonical, payload_digest, row_hash, timestamp
from memadmin.audit.models import AuditEntry, AuditHead, AuditPayload, AuditPending, Outcome, Stream

SALT_BYTES = 32
MOST_COUNTS = 100
BIGGEST_COUNT = 2**63 - 1
REDACTED_AT_ONCE = 90
SEALED_AT_ONCE = 500

# Names, e-mail addresses and sentences do not fit these: what a person wrote belongs into the payload.
_ACTOR = re.compile(r"(?:person|job|command|token|system)/[A-Za-z0-9._:-]{1,80}")
_TARGET = re.compile(r"[a-z][a-z0-9_-]{0,39}/[A-Za-z0-9._:/-]{1,200}")
_CODE = re.compile(r"(?:[a-z][a-z0-9_.-]{0,63})?")
_COUNT_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{0,64}")


class InvalidEntry(ValueError):
    """A field does not have the form that keeps personal data out of the chain. The message names the field, never its value."""


class OutsideTransaction(Exception):
    """An entry belongs to the transaction of its act: both happen, or neither."""


def append(
    action: Action,
    *,
    actor: str,
    target: str,
    at: datetime,
    outcome: str = Outcome.OK,
    reason_code: str = "",
    counts: Mapping[str, int] | None = None,
    payload: Mapping[str, Any] | None = None,
    request_id: str = "",
) -> AuditEntry:
    """Chain one act to the governance stream, in the transaction of the act. Make it the last statement: it holds the stream's lock.

    Texts that people wrote, and before and after values, go into `payload` (JSON), which can be redacted; all else is for ever.
    Raises InvalidEntry, and OutsideTransaction where no transaction is open.
    """
    if not transaction.get_connection().in_atomic_block:
        raise OutsideTransaction
    facts = {
        "at": at,
        "actor": actor,
        "action": str(action),
        "outcome": str(outcome),
        "target": target,
        "request_id": request_id,
        "reason_code": reason_code,
        "counts": dict(counts or {}),
    }
    _check(facts)
    body = None if payload is None else _canonical(payload)
    return _chain(Stream.GOVERNANCE, facts, body)


def note(
    action: Action,
    *,
    actor: str,
    target: str,
    at: datetime,
    outcome: str = Outcome.OK,
    reason_code: str = "",
    counts: Mapping[str, int] | None = None,
    payload: Mapping[str, Any] | None = None,
) -> None:
    """Put an act that happens by the thousand into the activity stream, in the transaction of the act: `seal` chains it later.

    It locks nothing, so that many writers do not queue. Raises as `append`.
    """
    details = {"outcome": str(outcome), "reason_code": reason_code, "counts": dict(counts or {})}
    _note(action, [target], actor=actor, at=at, body=None if payload is None else _canonical(payload), **details)


def note_each(action: Action, targets: Sequence[str], *, actor: str, at: datetime, reason_code: str = "") -> None:
    """Put the same act on many things into the activity stream, an entry each, by one statement. Otherwise as `note`."""
    _note(action, targets, actor=actor, at=at, body=None, outcome=Outcome.OK.value, reason_code=reason_code, counts={})


def waiting_since() -> datetime | None:
    """Return when the oldest act happened that waits to be sealed."""
    oldest = AuditPending.objects.order_by("pk").values_list("facts", flat=True).first()
    return datetime.fromisoformat(json.loads(oldest)["at"]) if oldest else None


@transaction.atomic
def seal(*, actor: str, now: datetime, at_most: int = SEALED_AT_ONCE) -> int:
    """Chain the oldest acts that wait, and name the new end of the stream in the governance stream. Returns how many were sealed."""
    _locked_head(Stream.ACTIVITY)  # one sealer at a time
    waiting = list(AuditPending.objects.order_by("pk")[:at_most])
    entry = None
    for each in waiting:
        facts = json.loads(each.facts)
        entry = _chain(Stream.ACTIVITY, {**facts, "at": datetime.fromisoformat(facts["at"])}, each.body)
    if entry is None:
        return 0
    AuditPending.objects.filter(pk__in=[each.pk for each in waiting]).delete()
    append(Action.AUDIT_SEALED, actor=actor, target=f"audit/activity/{entry.row_hash}", at=now, counts={"seq": entry.seq})
    return len(waiting)


@transaction.atomic
def redact_payload(keys: Sequence[tuple[str, int]], *, actor: str, at: datetime, reason_code: str, request_id: str = "") -> int:
    """Take out what was written beside these entries, given as (stream, seq), with the salts, and return how many payloads went.

    The chain stays valid: it commits to the digests alone, which say nothing without their salts. Entries without a payload are passed
    over. What was taken out is named in the chain itself, or the verifier would miss it.
    """
    gone = 0
    for stream in sorted({stream for stream, _ in keys}):
        wanted = sorted({seq for each, seq in keys if each == stream})
        for start in range(0, len(wanted), REDACTED_AT_ONCE):
            part = wanted[start : start + REDACTED_AT_ONCE]
            there = sorted(AuditPayload.objects.filter(stream=stream, seq__in=part).values_list("seq", flat=True))
            if not there:
                continue
            AuditPayload.objects.filter(stream=stream, seq__in=there)._raw_delete(transaction.get_connection().alias)
            counts = {f"seq.{place}": seq for place, seq in enumerate(there)}
            target = f"audit/{stream}"
            append(Action.AUDIT_REDACTED, actor=actor, target=target, at=at, reason_code=reason_code, counts=counts, request_id=request_id)
            gone += len(there)
    return gone


def latest(stream: str, n: int) -> list[AuditEntry]:
    """Return the newest n entries of the stream, newest first."""
    return list(AuditEntry.objects.in_stream(stream).newest_first()[:n])


def _note(action: Action, targets: Sequence[str], *, actor: str, at: datetime, body: str | None, **details: Any) -> None:
    if not transaction.get_connection().in_atomic_block:
        raise OutsideTransaction
    alike = {"at": at, "actor": actor, "action": str(action), "request_id": "", **details}
    every = [{**alike, "target": target} for target in targets]
    for facts in every:
        _check(facts)
    AuditPending.objects.bulk_create([AuditPending(facts=canonical({**facts, "at": timestamp(at)}), body=body) for facts in every])


def _chain(stream: Stream, facts: Mapping[str, Any], body: str | None) -> AuditEntry:
    salt = secrets.token_hex(SALT_BYTES)
    head = _locked_head(stream)
    sealed: dict[str, Any] = {"payload_digest": "" if body is None else payload_digest(salt, body), "prev_hash": head.row_hash}
    text = Leaf(stream=stream.value, seq=head.seq + 1, **facts, **sealed).text()
    entry = AuditEntry.objects.create(stream=stream.value, seq=head.seq + 1, leaf=text, row_hash=row_hash(text), **facts, **sealed)
    if body is not None:
        AuditPayload.objects.create(stream=entry.stream, seq=entry.seq, salt=salt, body=body)
    AuditHead.objects.filter(stream=stream).update(seq=entry.seq, row_hash=entry.row_hash)
    return entry


def _locked_head(stream: Stream) -> AuditHead:
    heads = AuditHead.objects.select_for_update().filter(stream=stream)  # SQLite: the transaction began IMMEDIATE, which locks more
    head = heads.first()
    if head is None:
        AuditHead.objects.bulk_create([AuditHead(stream=stream.value, seq=0, row_hash=GENESIS)], ignore_conflicts=True)
        head = heads.get()
    return head


def _canonical(payload: Mapping[str, Any]) -> str:
    try:
        return canonical(dict(payload))
    except NotCanonical as error:
        raise InvalidEntry("payload must be plain JSON") from error


def _check(facts: Mapping[str, Any]) -> None:
    for field, pattern in (("actor", _ACTOR), ("target", _TARGET), ("reason_code", _CODE), ("request_id", _REQUEST_ID)):
        if not isinstance(facts[field], str) or not pattern.fullmatch(facts[field]):
            raise InvalidEntry(f"{field} must match {pattern.pattern}")
    if facts["action"] not in Action.values:
        raise InvalidEntry("action is not in audit/actions.py")
    if facts["outcome"] not in Outcome.values:
        raise InvalidEntry(f"outcome must be one of {', '.join(Outcome.values)}")
    if not isinstance(facts["at"], datetime) or facts["at"].tzinfo is None:
        raise InvalidEntry("at must be a time that knows its zone")
    _check_counts(facts["counts"])


def _check_counts(counts: Mapping[str, int]) -> None:
    if len(counts) > MOST_COUNTS:
        raise InvalidEntry(f"counts holds more than {MOST_COUNTS} numbers")
    for name, number in counts.items():
        if not isinstance(name, str) or not _COUNT_NAME.fullmatch(name):
            raise InvalidEntry(f"the names in counts must match {_COUNT_NAME.pattern}")
        if type(number) is not int or abs(number) > BIGGEST_COUNT:  # a bool is an int to isinstance
            raise InvalidEntry("counts holds whole numbers of at most 64 bits")
