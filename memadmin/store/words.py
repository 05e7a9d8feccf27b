r"""How texts are cut into words, and regular expressions that find a word so cut, the same in Python and in PostgreSQL.

A word is a run of letters, digits, marks and _; punctuation, symbols and blanks cut. A character of a script without blanks
(Chinese, Japanese, Korean, Thai …) or an emoji is a word of its own. Upper and lower case are the same, character by character.
Every character stands in the expressions as \u…, so that no database's locale or escaping takes part.
"""

from __future__ import annotations

import functools
import unicodedata
from collections import defaultdict
from collections.abc import Iterator

_DENSE = (
    (0x0E00, 0x0EFF),
    (0x1100, 0x11FF),
    (0x2E80, 0xA4CF),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),
    (0x1F000, 0x1FAFF),
    (0x20000, 0x3FFFF),
)
_CUTTING = ("P", "Z", "S", "Cc", "Cf")  # beginnings of general categories: punctuation, separators, symbols, control characters
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x1FB00  # behind the last character, before those of the second plane, that an expression takes for none of a word


def words_of(text: str) -> list[str]:
    """Return the different words of a text, in the order in which they first stand there."""
    return list(dict.fromkeys(_cut(text)))


def _cut(text: str) -> Iterator[str]:
    word = ""
    for letter in text:
        if is_dense(letter) or is_cut(letter):
            if word:
                yield word
            word = ""
            if is_dense(letter):
                yield letter
        else:
            word += fold(letter)
    if word:
        yield word


@functools.lru_cache(maxsize=65_536)
def fold(letter: str) -> str:
    """Return the lower case of one character, where that is one character too."""
    small = letter.lower()
    return small if len(small) == 1 else letter


@functools.lru_cache(maxsize=65_536)
def is_dense(letter: str) -> bool:
    """True for a character that is a word of its own."""
    code = ord(letter)
    in_range = any(first <= code <= last for first, last in _DENSE)
    return in_range and (code >= 0x1F000 or not unicodedata.category(letter).startswith(_CUTTING))


@functools.lru_cache(maxsize=65_536)
def is_cut(letter: str) -> bool:
    """True for a character that parts words and is in none."""
    return letter != "_" and unicodedata.category(letter).startswith(_CUTTING)


def has_word(word: str, text: str) -> bool:
    """Whether the expression of `word_pattern` finds the word, which is one of `words_of` and no dense one.

    Without the expression: whoever compiles one keeps its word, and so perhaps a name, for as long as the process lives.
    """
    folded = _folded(text)
    at = folded.find(word)
    while at >= 0:
        behind = at + len(word)
        if (at == 0 or parts(text[at - 1])) and (behind == len(text) or parts(text[behind])):
            return True
        at = folded.find(word, at + 1)
    return False


def _folded(text: str) -> str:
    small = text.lower()  # goes by single characters too, but for a sigma at an end and for those that become two
    return small if len(small) == len(text) and "\N{GREEK CAPITAL LETTER SIGMA}" not in text else "".join(map(fold, text))


@functools.lru_cache(maxsize=65_536)
def parts(letter: str) -> bool:
    """True for a character that is no part of a longer word: one of `between`."""
    code = ord(letter)
    return (code < _LAST or 0x20000 <= code < 0x40000) and (is_dense(letter) or is_cut(letter))


def word_pattern(word: str) -> str | None:
    """Return the expression that finds a word as `words_of` gives it; None for what is no such word and so stands nowhere."""
    if words_of(word) != [word]:
        return None
    return _escaped(word) if is_dense(word[0]) else whole("".join(any_case(letter) for letter in word))


def whole(inner: str) -> str:
    """Return the expression for something that is not a part of a longer word."""
    return rf"(\A|[{between()}]){inner}(\Z|[{between()}])"


def any_case(letter: str) -> str:
    """Return the expression for a character in all its cases."""
    forms = _forms().get(letter, letter)
    return _escaped(letter) if len(forms) == 1 else f"[{''.join(map(_escaped, forms))}]"


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@functools.cache
def _forms() -> dict[str, str]:
    """Return all characters that fold into one, for each one that has several."""
    forms: defaultdict[str, str] = defaultdict(str)
    for code in range(1, 0x1F000):
        if code not in _SURROGATES:
            forms[fold(chr(code))] += chr(code)
    return {letter: all_of_it for letter, all_of_it in forms.items() if len(all_of_it) > 1}


@functools.cache
def between() -> str:
    """Return, as ranges, every character that is no part of a longer word."""
    codes = [code for code in range(1, _LAST) if code not in _SURROGATES and (is_dense(chr(code)) or is_cut(chr(code)))]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    ranges.append([0x20000, 0x3FFFF])
    return "".join(_escaped(chr(first)) + (f"-{_escaped(chr(last))}" if last > first else "") for first, last in ranges)
