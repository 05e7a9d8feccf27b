"""Patterns with * and ?: as a database's LIKE, as a regular expression, and matched in Python in time that no pattern can blow up."""

from __future__ import annotations

from memadmin.api.opensearch.querying.queries import Glob, QueryRefused, Wild
from memadmin.store.words import any_case, between, fold, is_cut, is_dense, whole

LONGEST = 1_000  # characters
MOST_STARS = 8
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def exactly(text: str) -> Glob:
    return (text,) if text else ()


def prefix_glob(beginning: str) -> Glob:
    """Return the pattern of what begins with a text."""
    _check_length(beginning)
    return (*exactly(beginning), Wild.ANY)


def wildcard_glob(pattern: str) -> Glob:
    """Read * and ?; a backslash takes away the meaning of what follows. Raises QueryRefused for one that is too long or too wild."""
    _check_length(pattern)
    pieces: list[str | Wild] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == "*":
            if not pieces or pieces[-1] is not Wild.ANY:
                pieces.append(Wild.ANY)
        elif letter == "?":
            pieces.append(Wild.ONE)
        else:
            _add_literal(pieces, next(letters, "\\") if letter == "\\" else letter)
    if pieces.count(Wild.ANY) > MOST_STARS:
        raise QueryRefused(f"a pattern has at most {MOST_STARS} stars", kind="illegal_argument_exception")
    return tuple(pieces)


def _check_length(pattern: str) -> None:
    if len(pattern) > LONGEST:
        raise QueryRefused(f"a pattern has at most {LONGEST} characters", kind="illegal_argument_exception")


def _add_literal(pieces: list[str | Wild], letter: str) -> None:
    last = pieces[-1] if pieces else None
    if isinstance(last, str):
        pieces[-1] = last + letter
    else:
        pieces.append(letter)


def lowered(text: str) -> str:
    """Return the text with its ASCII letters in lower case, as `case_insensitive` means it."""
    return text.translate(_LOWER)


def like_pattern(glob: Glob) -> str:
    r"""Return the pattern for LIKE with the escape character \."""
    wild = {Wild.ANY: "%", Wild.ONE: "_"}
    return "".join(
        wild[piece] if isinstance(piece, Wild) else piece.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for piece in glob
    )


def matches(glob: Glob, text: str) -> bool:
    """True when the whole text has this form. Goes back to the last star only, so it takes at most pattern times text."""
    units = [unit for piece in glob for unit in ([piece] if isinstance(piece, Wild) else piece)]
    at = place = 0
    star, resume = -1, 0
    while place < len(text):
        if at < len(units) and (units[at] is Wild.ONE or units[at] == text[place]):
            at, place = at + 1, place + 1
        elif at < len(units) and units[at] is Wild.ANY:
            star, resume = at, place
            at += 1
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return all(unit is Wild.ANY for unit in units[at:])


def word_form(glob: Glob) -> str | None:
    """Return the expression for a word of this form; None where there can be none. Words of scripts without blanks have no forms."""
    parts = []
    for piece in glob:
        if isinstance(piece, Wild):
            parts.append(f"[^{between()}]" + ("*" if piece is Wild.ANY else ""))
        elif any(is_dense(letter) or is_cut(letter) or fold(letter) != letter for letter in piece):
            return None
        else:
            parts.append("".join(any_case(letter) for letter in piece))
    # Only stars and nothing else would find the empty word between any two cuts.
    return whole("".join(parts) if set(glob) != {Wild.ANY} else f"[^{between()}]+")
