"""Names of rows that stay the same when the same thing arrives twice."""

import re
import unicodedata
import uuid
from json.encoder import encode_basestring_ascii as _quoted

_PLAIN = re.compile(r"[A-Za-z]+(?:[ _-][A-Za-z]+)*|[0-9]+")
MAX_ID_LENGTH = 512  # characters; four bytes each still fit an index entry of PostgreSQL


def item_uid(container_uid: uuid.UUID, item_type: str, user_id: str | None, external_id: str) -> uuid.UUID:
    """Return the uid of an item that its source names by an id of its own, unique within one user and type."""
    # JSON keeps the parts apart: ("a:b", "c") and ("a", "b:c") must not become one name.
    user = "null" if user_id is None else _quoted(user_id)
    return uuid.uuid5(container_uid, f'["{item_type}", {user}, {_quoted(external_id)}]')


def canonical_id(user_id: str) -> str:
    """Return the form in which ids that look alike are equal. For showing them side by side, never for matching."""
    return unicodedata.normalize("NFKC", user_id).casefold().strip()


def is_plain(user_id: str) -> bool:
    """Whether an id is plain words or a number, as records of the program have them too: `session`, `long-term`, `2026`."""
    return _PLAIN.fullmatch(user_id.strip()) is not None
