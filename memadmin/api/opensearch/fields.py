"""Single fields of a request body: read as OpenSearch reads them, or refused with the name of the field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from memadmin.api.opensearch.errors import PARSING, ApiError, bad_argument

Document = Mapping[str, Any]
LOWEST, HIGHEST = -(2**31), 2**31 - 1  # numbers are 32 bits on the wire

_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")  # not \d, which takes digits of every script


def text_of(document: Document, name: str) -> str | None:
    """Return a text; a number becomes its digits. Raises ApiError."""
    value = document.get(name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise wrong_shape(name, "a text")


def flag_of(document: Document, name: str, *, default: bool) -> bool:
    """Return true or false, also written as text. Raises ApiError."""
    value = document.get(name)
    if value is None:
        return default
    words = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in words:
        return words[value]
    raise bad_argument(f"Failed to parse value [{shown(value)}] of [{name}] as only [true] or [false] are allowed.")


def number_of(document: Document, name: str) -> int | None:
    """Return a whole number of 32 bits; text is coerced, a fraction cut. Raises ApiError."""
    value = document.get(name)
    if value is None:
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad_argument(f"Failed to parse value [{shown(value)}] of [{name}] as a whole number.")
    if not LOWEST <= value <= HIGHEST:
        raise bad_argument(f"Value [{shown(value)}] of [{name}] is out of range for an integer.")
    return int(value)


def object_of(document: Document, name: str) -> dict[str, Any] | None:
    """Return an object as it was given. Raises ApiError."""
    value = document.get(name)
    if value is None or isinstance(value, dict):
        return value
    raise wrong_shape(name, "an object")


def objects_of(document: Document, name: str) -> list[dict[str, Any]] | None:
    """Return a list of objects. Raises ApiError."""
    value = document.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise wrong_shape(name, "a list of objects")
    return value


def texts_of(document: Document, name: str) -> list[str] | None:
    """Return a list of texts; a single text is a list of one. Raises ApiError."""
    value = document.get(name)
    if value is None:
        return None
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise wrong_shape(name, "a list of texts")
    return parts


def text_map(document: Document, name: str) -> dict[str, str]:
    """Return an object of texts: whatever else a value is becomes its JSON, and null is left out. Raises ApiError."""
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for key, value in (object_of(document, name) or {}).items()
        if value is not None
    }


def wrong_shape(name: str, wanted: str) -> ApiError:
    return ApiError(400, PARSING, f"[{name}] must be {wanted}.")


def shown(value: object) -> str:
    """Return a value as a message may repeat it: short."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
