"""Text that every database takes."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Return the text with every NUL and lone surrogate replaced by U+FFFD: PostgreSQL stores neither."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
