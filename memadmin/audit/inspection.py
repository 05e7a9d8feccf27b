"""What one row of the log says about itself: do its hash, its leaf and its columns agree, and is its payload the one it committed to?"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memadmin.audit.chain import VERSION, NotCanonical, canonical, payload_digest, row_hash, timestamp
from memadmin.audit.raw import Row

_COPIED = ("actor", "action", "outcome", "target", "request_id", "reason_code", "payload_digest", "prev_hash")


@dataclass(frozen=True)
class Inspected:
    """`altered` names each field that was changed and says how it shows; `follows` is the hash that the row claims to come after."""

    altered: Mapping[str, str]
    follows: str | None
    hashes: frozenset[str]  # what the next row may call the hash of this one
    payload_missing: bool


def inspect(row: Row) -> Inspected:
    """Judge one row by itself; where it stands among the others is for the caller."""
    leaf, stored_hash = row.columns["leaf"] or "", row.columns["row_hash"] or ""
    hashed, said, shown = row_hash(leaf), _parsed(leaf), _shown(row)
    altered = {name: "the column is not what the leaf says" for name in shown if said.get(name) != shown[name]}
    truth = said
    if hashed != stored_hash:
        if _hash_of(shown) == stored_hash:  # then the columns are what was hashed
            altered, truth = {"leaf": "the leaf is not what was hashed; the columns are"}, shown
        elif not altered:
            altered = {"row_hash": "it is not the hash of the leaf: one of the two was changed"}
        else:
            altered = {"leaf": "its hash is not row_hash"} | altered
    missing, fault = _payload(row, str(truth.get("payload_digest") or ""))
    return Inspected(
        altered=altered | fault,
        follows=truth.get("prev_hash"),
        hashes=frozenset({stored_hash, hashed}),
        payload_missing=missing,
    )


def _parsed(leaf: str) -> dict[str, Any]:
    """Return the leaf's fields, counts as canonical text; {} for a text that is no leaf."""
    try:
        fields = json.loads(leaf)
        return {**fields, "counts": canonical(fields["counts"])}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def _shown(row: Row) -> dict[str, Any]:
    """Return what the columns say, in the form of the leaf's fields."""
    copied = {name: row.columns[name] for name in _COPIED}
    return {
        "v": VERSION,
        "stream": row.stream,
        "seq": row.seq,
        **copied,
        "at": _instant(row),
        "counts": _counts(row.columns["counts"]),
    }


def instant(row: Row) -> datetime | None:
    """Return the time that a row's column says, None where it says none."""
    try:
        at = datetime.fromisoformat(row.columns["at"] or "")
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)  # SQLite keeps UTC without saying so
    except (ValueError, OverflowError):
        return None


def _instant(row: Row) -> str | None:
    at = instant(row)
    return None if at is None else timestamp(at)


def _counts(text: str | None) -> str | None:
    try:
        return canonical(json.loads(text or ""))
    except (ValueError, RecursionError):
        return None


def _hash_of(shown: Mapping[str, Any]) -> str | None:
    try:
        return row_hash(canonical({**shown, "counts": json.loads(shown["counts"])}))
    except (NotCanonical, TypeError):
        return None


def _payload(row: Row, committed: str) -> tuple[bool, dict[str, str]]:
    if row.payload is None:
        return bool(committed), {}
    if not committed:
        return False, {"payload": "the entry was written without one"}
    salt, body = row.payload
    try:
        good = payload_digest(salt or "", body or "") == committed
    except ValueError:
        good = False
    return False, {} if good else {"payload": "it is not what the entry committed to"}
