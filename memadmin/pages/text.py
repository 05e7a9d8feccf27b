"""Text that people or agents wrote, made fit for a page. Nothing here marks anything safe: templates escape."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice

EMPTY = "(empty)"
ELLIPSIS = "…"
OPEN_BOX = "␣"
CLUSTER_LIMIT = 32  # characters; a longer pile of marks is an attack on the layout, not a letter

_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_FLAG_TAGS = range(0xE0020, 0xE0080)
_HANGUL_LEADS, _HANGUL_TAILS = range(0x1100, 0x1160), range(0x1160, 0x1200)
# Characters that stand alone in any company, from the usual scripts: a text of these alone need not be looked at one by one.
_ALONE = re.compile(
    "[\x00-\u02ff\u0370-\u0482\u048a-\u0590\u05d0-\u060f\u0620-\u064a\u0660-\u066f\u0671-\u06d5\u1e00-\u200c\u2010-\u20cf"
    "\u2100-\u2cee\u3000-\u3029\u3030-\u3098\u309b-\ua66e\uac00-\ud7a3\uff00-\uffef]*"
)
_OVERRIDES = "\u202d\u202e"  # they make text read backwards: shown, never obeyed
_CONTROLS = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_OVERRIDES}]")
_CONTROLS_OF_IDS = re.compile(f"[\x00-\x1f\x7f-\x9f{_OVERRIDES}]")
_BLANKS = re.compile(r"[^\S\x00-\x1f\x85]+")
# What takes no room, or looks like a blank, although it is no blank: joiners, fillers, marks of direction, selectors of a form.
_UNSEEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")
_FORM_SELECTORS = range(0xFE00, 0xFE10)
_KEYCAP = "\u20e3"
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]+)*(;base64)?,([A-Za-z0-9+/=_%.~!*'()-]{64,})")


def excerpt(text: str | None, length: int = 160, *, more: bool = False) -> str:
    """Return the beginning of the text on one line, at most `length` visible characters, never cut inside one.

    Data URIs become "[image/png, 300 kB]", control characters their symbols, nothing at all "(empty)".
    `more` says that the text is itself only a beginning, cut anywhere by the database.
    """
    flat = visible(text, keep_lines=False)
    kept = flat[: length + 1] if _ALONE.fullmatch(flat) else list(islice(clusters(flat), length + 1))
    if len(kept) > length or (more and len(kept) > 1):
        return "".join(kept[:-1]).rstrip() + ELLIPSIS
    return flat


def visible(text: str | None, *, keep_lines: bool = True) -> str:
    """Return the whole text with data URIs named and control characters shown; with its lines, or on one line."""
    shown = _DATA_URI.sub(_name_data, text or "")
    shown = shown if keep_lines else " ".join(shown.split())
    return _CONTROLS.sub(_symbol, shown) if shown.strip() else EMPTY


def shown_id(text: str, length: int = 60) -> str:
    """Return an id on one line, at most `length` visible characters, so that no two look alike for what cannot be seen.

    Shown as symbols: blanks at its ends or beside each other, every blank but the usual one, control characters with line
    breaks among them, and what takes no room, save inside an emoji.
    """
    marked = _BLANKS.sub(_boxes, text)
    if not marked.isascii():
        marked = "".join(_seen(marked, place) for place in range(len(marked)))
    kept = list(islice(clusters(_CONTROLS_OF_IDS.sub(_symbol, marked)), length + 1))
    return "".join(kept[:-1]) + ELLIPSIS if len(kept) > length else "".join(kept)


def clusters(text: str) -> Iterator[str]:
    """Yield what people call characters: a letter with its accents, a flag, a family of emoji, a Hangul syllable."""
    current = ""
    for char in text:
        if current and not _joins(current, char):
            yield current
            current = ""
        current += char
    if current:
        yield current


def file_size(size: int) -> str:
    """Return a size in bytes in the largest unit that fits, in steps of 1000."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}"
        size = round(size / 1000)
    return f"{size:,.0f} GB"


def _joins(cluster: str, char: str) -> bool:
    """True when `char` belongs to the same visible character as `cluster`."""
    if len(cluster) >= CLUSTER_LIMIT:
        return False
    point, last = ord(char), ord(cluster[-1])
    if unicodedata.category(char) in {"Mn", "Me", "Mc"} or char == _ZERO_WIDTH_JOINER or point in _SKIN_TONES or point in _FLAG_TAGS:
        return True
    if cluster[-1] == _ZERO_WIDTH_JOINER:
        return unicodedata.category(char) in {"So", "Sm", "Lo"}
    if point in _FLAG_LETTERS:
        return last in _FLAG_LETTERS and len(cluster) % 2 == 1
    return point in _HANGUL_TAILS and (last in _HANGUL_LEADS or last in _HANGUL_TAILS)


def _boxes(match: re.Match[str]) -> str:
    blanks = match[0]
    if blanks == " " and match.start() > 0 and match.end() < len(match.string):
        return blanks
    return "".join(OPEN_BOX if blank == " " else f"⟨U+{ord(blank):04X}⟩" for blank in blanks)


def _seen(text: str, place: int) -> str:
    """Return the character at a place, or its number where nobody would see it."""
    char = text[place]
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    unseen = char in _UNSEEN_LETTERS or unicodedata.category(char) == "Cf" or ord(char) in _FORM_SELECTORS
    return f"⟨U+{ord(char):04X}⟩" if unseen and not _part_of_emoji(char, before, after) else char


def _part_of_emoji(char: str, before: str, after: str) -> bool:
    if not before:
        return False
    if char == _ZERO_WIDTH_JOINER:
        drawn = unicodedata.category(before) in {"So", "Sk"} or ord(before) in _FORM_SELECTORS
        return drawn and after != "" and unicodedata.category(after) in {"So", "Sm"}
    if ord(char) in _FORM_SELECTORS:
        return after == _KEYCAP or (not before.isascii() and unicodedata.category(before) in {"So", "Sm", "Po", "Pd"})
    return ord(char) in _FLAG_TAGS and (before == "\U0001f3f4" or ord(before) in _FLAG_TAGS)


def _symbol(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x20:
        return chr(0x2400 + point)
    return "\u2421" if point == 0x7F else f"⟨U+{point:04X}⟩"


def _name_data(match: re.Match[str]) -> str:
    kind, base64, data = match[1] or "text/plain", match[2], match[3]
    size = len(data.rstrip("=")) * 3 // 4 if base64 else len(data)
    return f"[{kind}, {file_size(size)}]"


def changed_text(body: object) -> str:
    """Return what history keeps of a memory, before or after a change: its text, or whatever else the source sent."""
    if isinstance(body, Mapping) and isinstance(body.get("memory"), str):
        return str(body["memory"])
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
