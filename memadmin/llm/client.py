"""Calls of a model endpoint that speaks OpenAI's protocol: chat and embeddings. What comes back is data from outside, and checked.

Errors say what kind of thing went wrong, never what was sent: prompts quote people's memories.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

MOST_BYTES = 8 << 20  # of one answer
TRIES = 2
PAUSE = 0.5  # seconds before the second try
NO_ANSWER = 0  # in the place of a status
MAY_PASS = {NO_ANSWER, 408, 425, 429, 500, 502, 503, 504}


class Unreachable(Exception):
    """The endpoint did not answer, or answered that it cannot now. Worth another attempt later."""


class Refused(Exception):
    """The endpoint refused the request: a wrong key, an unknown model, a prompt that is too long."""


class BadAnswer(Exception):
    """The endpoint answered something that is not of the protocol."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked. `url` ends before `/chat/completions` and `/embeddings`; `timeout` in seconds."""

    url: str
    model: str
    key: str = ""
    timeout: float = 20.0


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


def chat(endpoint: Endpoint, messages: Sequence[Message], *, max_tokens: int) -> str:
    """Return the text that the model answers, at temperature 0. Raises Unreachable, Refused or BadAnswer."""
    body = {
        "model": endpoint.model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "temperature": 0,
        "max_tokens": max_tokens,
    }
    answer = _post(endpoint, "chat/completions", body)
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise BadAnswer("no choice with a message") from None
    if not isinstance(text, str):
        raise BadAnswer("the message is not a text")
    return text


def embed(endpoint: Endpoint, texts: Sequence[str]) -> list[list[float]]:
    """Return a vector for each text, in their order, all of one length. Raises Unreachable, Refused or BadAnswer."""
    if not texts:
        return []
    answer = _post(endpoint, "embeddings", {"model": endpoint.model, "input": list(texts)})
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = [[float(number) for number in row["embedding"]] for row in rows]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadAnswer("no list of embeddings") from None
    finite = all(math.isfinite(number) for vector in vectors for number in vector)
    if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1 or not vectors[0] or not finite:
        raise BadAnswer("not one embedding of the same length for each text")
    return vectors


def _post(endpoint: Endpoint, path: str, body: Mapping[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    with httpx2.Client(timeout=endpoint.timeout, follow_redirects=False, headers=headers) as client:
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE)
            until = time.monotonic() + endpoint.timeout
            status, content = _once(client, f"{endpoint.url.rstrip('/')}/{path}", body, until=until)
            if status not in MAY_PASS:
                return _read(status, content)
    raise Unreachable("no answer" if status == NO_ANSWER else f"status {status}")


def _once(client: httpx2.Client, url: str, body: Mapping[str, Any], *, until: float) -> tuple[int, bytes]:
    """Return status and body; NO_ANSWER when it has not come by `until`. A body over the limit is not read to its end."""
    try:
        with client.stream("POST", url, json=body) as response:
            content = bytearray()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > MOST_BYTES:
                    raise BadAnswer(f"more than {MOST_BYTES} bytes")
                if time.monotonic() > until:  # the client's own limit is for each piece: a trickle would hold us for ever
                    return NO_ANSWER, b""
            return response.status_code, bytes(content)
    except httpx2.TimeoutException:
        return NO_ANSWER, b""
    except httpx2.DecodingError:
        raise BadAnswer("a body that cannot be decompressed") from None
    except httpx2.TransportError:
        return NO_ANSWER, b""


def _read(status: int, content: bytes) -> Any:
    if status != 200:
        raise Refused(f"status {status}")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise BadAnswer("not JSON") from None
