"""The JSON body of a request, whatever its method, within limits and safe against hostile input."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.http import HttpRequest
from django.http.request import UnreadablePostError

from memadmin.transfer.decoding import decode
from memadmin.transfer.problems import Refused

LARGEST = 10 * 1024 * 1024  # bytes
MOST_VALUES = 150_000  # 10,000 messages have 60,000. What a value costs here and in the database is many times what it costs to send
DRAINED = 2 * LARGEST  # a client that sends somewhat too much has sent all of it, and reads why it is refused
CHUNK = 64 * 1024


def read_json(request: HttpRequest) -> dict[str, Any] | None:
    """Return the JSON object of the body, or None where there is no body. Raises Refused."""
    raw = read_body(request)
    return read_object(raw) if raw.strip() else None


def read_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a body. Raises Refused."""
    record = decode(raw).record
    at_most = raw.count(b",") + raw.count(b":") + raw.count(b"[")  # quick: texts may hold these too
    if at_most > MOST_VALUES and _values_in(record) > MOST_VALUES:
        raise Refused("too_many_values", f"the body has more than {MOST_VALUES} fields and list items; send it in parts")
    return record


def _values_in(record: dict[str, Any]) -> int:
    number, waiting = 0, [record.values()]
    while waiting:
        for value in waiting.pop():
            number += 1
            if isinstance(value, dict | list):
                waiting.append(value.values() if isinstance(value, dict) else value)  # type: ignore[arg-type]
    return number


def read_body(request: HttpRequest) -> bytes:
    """Return the bytes of the body. Raises Refused."""
    check_readable(request, largest=LARGEST)
    raw = read_part(request, LARGEST + 1)
    if len(raw) > LARGEST:
        raise too_large(LARGEST)
    return raw


def check_readable(request: HttpRequest, *, largest: int) -> None:
    """Look at what is said of the body before any of it is read. Raises Refused."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refused("encoding", "a compressed body is not read; send it plain")
    length = request.headers.get("Content-Length", "")
    if not length and request.headers.get("Transfer-Encoding"):
        raise Refused("length", "the length of the body is needed in Content-Length")
    if length.isdigit() and int(length) > largest:
        raise too_large(largest)


def read_part(request: HttpRequest, most: int) -> bytes:
    """Return at most so many of the next bytes, none at the end. Raises Refused."""
    try:
        return request.read(most)
    except (UnreadablePostError, OSError):
        raise Refused("cut_off", "the body ended too early") from None


def drain(request: HttpRequest) -> None:
    """Read what is left of a body that is refused unread, up to a limit: otherwise the server has to cut the connection."""
    with suppress(UnreadablePostError, OSError):
        for _ in range(DRAINED // CHUNK):
            if not request.read(CHUNK):
                break


def too_large(largest: int) -> Refused:
    return Refused("too_large", f"the body has more than {largest} bytes; send it in parts")
