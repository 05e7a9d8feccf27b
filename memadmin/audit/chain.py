"""The arithmetic of the log: canonical text, hashes, payload commitments. Pure; the format is fixed for ever.

    row_hash       = SHA-256(len(tag) tag len(leaf) leaf)        lengths as 8 bytes, big-endian
    payload_digest = HMAC-SHA256(salt, body)

The leaf is canonical JSON in ASCII and holds every field of its row, the hash of the row before it included, but its own hash.
The chain commits to the payload's digest, so that a payload can go, with its salt, and the chain stays valid.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

TAG = b"memadmin.audit.leaf.v1"
VERSION = 1
GENESIS = "0" * 64  # what the first row of a stream names as the hash before it


class NotCanonical(ValueError):
    """The value has no canonical JSON."""


@dataclass(frozen=True)
class Leaf:
    """One row as it is hashed. `at` must know its zone; hashes are lower-case hex; `payload_digest` is "" where there is no payload."""

    stream: str
    seq: int
    at: datetime
    actor: str
    action: str
    outcome: str
    target: str
    request_id: str
    reason_code: str
    counts: Mapping[str, int]
    payload_digest: str
    prev_hash: str

    def text(self) -> str:
        """Return the exact text that is hashed and stored."""
        return canonical({**asdict(self), "v": VERSION, "at": timestamp(self.at), "counts": dict(self.counts)})


def canonical(value: object) -> str:
    """Return JSON with sorted keys, no spaces, ASCII only: NUL and lone surrogates become escapes. Raises NotCanonical."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotCanonical(str(error)) from error


def timestamp(at: datetime) -> str:
    """Return the instant in UTC with six decimals: every database keeps microseconds, and a second more or less would break the hash."""
    if at.tzinfo is None:
        raise NotCanonical("the time does not name its zone")
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def digest(tag: bytes, *fields: bytes) -> str:
    """Return the SHA-256 of the tag and the fields, each after its length, so that no two lists of fields look alike."""
    whole = hashlib.sha256()
    for field in (tag, *fields):
        whole.update(len(field).to_bytes(8, "big"))
        whole.update(field)
    return whole.hexdigest()


def row_hash(leaf: str) -> str:
    """Return the hash of a leaf. A text that is no leaf of ours has one too: the verifier asks for it."""
    return digest(TAG, leaf.encode("utf-8", "surrogatepass"))


def payload_digest(salt: str, body: str) -> str:
    """Return the commitment to a payload's canonical text. The salt is hex; without it nobody can test a guess. Raises ValueError."""
    return hmac.new(bytes.fromhex(salt), body.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
