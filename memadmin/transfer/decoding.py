"""One record's bytes into a JSON object that every database takes. Pure, and safe against hostile records."""

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from memadmin.store.text import clean
from memadmin.transfer.problems import Noted, Refused

DEEPEST = 200  # levels of lists and objects in one record; the parser itself recurses
LONGEST_TEXT = 4 * 1024 * 1024  # characters of one text value
LARGEST_FLOAT_AS_WRITTEN = 1e16  # from here on PostgreSQL gives a float back as an integer, so that is what we store everywhere

BOM = b"\xef\xbb\xbf"

_BRACKETS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\x00")


class Decoded(NamedTuple):
    record: dict[str, Any]
    noted: tuple[Noted, ...]


def decode(raw: bytes) -> Decoded:
    """Return the JSON object in `raw`; of a key that is there twice the last value counts.

    NUL and lone surrogates become U+FFFD, which is noted. Raises Refused for anything but an object of finite numbers,
    at most 200 levels deep, in UTF-8, with no text over 4 Mi characters.
    """
    text = _as_text(raw.removeprefix(BOM))
    _check_depth(raw)
    record = _parse(text)
    if not isinstance(record, dict):
        raise Refused("not_an_object", "the record is not a JSON object")
    if len(raw) > LONGEST_TEXT:
        _each_text(record, _check_length)
    if (b"\\u" in raw or b"\0" in raw) and _SUSPECT.search(raw):
        return _cleaned(record)
    return Decoded(record, ())


def _as_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("not_utf8", f"byte {error.start + 1} of the record (0x{raw[error.start]:02x}) is not UTF-8") from None


def _check_depth(raw: bytes) -> None:
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return
    depth = 0
    for match in _BRACKETS.finditer(raw):
        first = match[0][:1]
        if first in b"[{":
            depth += 1
            if depth > DEEPEST:
                raise Refused("too_deep", f"nested too deep: more than {DEEPEST} levels of lists and objects")
        elif first in b"]}":
            depth -= 1


def _parse(text: str) -> Any:
    try:
        return _STRICT.decode(text)
    except _NotFinite:
        raise _not_finite(text) from None
    except json.JSONDecodeError as error:
        raise Refused("not_json", f"not valid JSON at character {error.pos + 1}: {error.msg}") from None
    except ValueError:  # Python's own limit on the digits of an integer
        raise Refused("number_too_long", "a number of more than 4,300 digits") from None


class _NotFinite(Exception):
    pass


def _refuse_constant(name: str) -> float:
    raise _NotFinite(name)


def _storable_float(text: str) -> float | int:
    value = float(text)
    if abs(value) < LARGEST_FLOAT_AS_WRITTEN:
        return value or 0.0  # no negative zero: PostgreSQL has none
    if math.isinf(value):
        raise _NotFinite(text)
    return int(Decimal(repr(value)))


_STRICT = json.JSONDecoder(parse_float=_storable_float, parse_constant=_refuse_constant, strict=False)
_LENIENT = json.JSONDecoder(strict=False)


def _not_finite(text: str) -> Refused:
    try:
        fields = [path for path, value in _leaves(_LENIENT.decode(text), "") if isinstance(value, float) and not math.isfinite(value)]
    except ValueError:
        fields = []
    return Refused("not_finite", "NaN and Infinity are not JSON, and a number this large is infinite", field=fields[0] if fields else "")


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in _leaves(part, f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [leaf for index, part in enumerate(value) for leaf in _leaves(part, f"{path}[{index}]")]
    return [(path, value)]


def _check_length(text: str, path: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise Refused("text_too_long", f"{len(text)} characters, at most {LONGEST_TEXT}", field=path)
    return text


def _cleaned(record: dict[str, Any]) -> Decoded:
    changed: list[str] = []

    def clean_and_tell(text: str, path: str) -> str:
        cleaned = clean(text)
        if cleaned != text:
            changed.append(path)
        return cleaned

    record = _each_text(record, clean_and_tell)
    noted = [Noted("characters_replaced", "NUL or half a surrogate pair replaced by U+FFFD", field=path) for path in changed]
    return Decoded(record, tuple(noted))


def _each_text(value: Any, change: Callable[[str, str], str], path: str = "") -> Any:
    """Return the value with every text in it, keys too, sent through `change`."""
    if isinstance(value, str):
        return change(value, path)
    if isinstance(value, list):
        return [_each_text(part, change, f"{path}[{index}]") for index, part in enumerate(value)]
    if isinstance(value, dict):
        changed = {}
        for key, part in value.items():
            inner = clean(f"{path}.{key}" if path else key)
            changed[change(key, inner)] = _each_text(part, change, inner)
        return changed
    return value
