"""Text that every database takes."""

import re
import unicodedata

_SHOW_NOTHING = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffd")  # letters and symbols by their category, and yet empty, or what was lost
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Return the text with every NUL and lone surrogate replaced by U+FFFD: PostgreSQL stores neither."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def says_something(text: str) -> bool:
    """True when at least one character can be seen: blanks, marks alone and what is invisible say nothing to the next reader."""
    return any(unicodedata.category(char)[0] in "LNPS" and char not in _SHOW_NOTHING for char in text)
