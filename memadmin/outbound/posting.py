"""Messages to other systems: signed, sent once, and judged by the status of the answer alone. What the answer says is not read."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import httpx2

from memadmin.outbound.addresses import ForbiddenAddress, address_of

TIMEOUT = 5.0  # seconds, of each wait for the network
DEADLINE = 15.0  # seconds, of an attempt
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 360, 720, 1440))  # after each attempt; then it is given up
SIGNATURE = "X-Memadmin-Signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What to send where. `uid` stays the same in every attempt, so that the receiver can tell a repetition."""

    url: str
    secret: str
    event: str
    uid: str
    body: bytes


def signature(secret: str, body: bytes, *, sent_at: datetime) -> str:
    """Return `t=<epoch seconds>,v1=<hex>`: HMAC-SHA256 of "<epoch seconds>.<body>". The time keeps an old body from being sent again."""
    seconds = int(sent_at.timestamp())
    digest = hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def post(message: Message, *, now: datetime) -> tuple[int | None, str]:
    """Send once. Return the status, or None and what went wrong by the name of its kind. Redirects are not followed."""
    parts = urlsplit(message.url)
    host = parts.hostname or ""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "memadmin",
        "Host": parts.netloc,
        "X-Memadmin-Event": message.event,
        "X-Memadmin-Delivery": message.uid,
        SIGNATURE: signature(message.secret, message.body, sent_at=now),
    }
    try:
        address = address_of(host, parts.port or (443 if parts.scheme == "https" else 80))
        url = httpx2.URL(message.url).copy_with(host=address)
        return asyncio.run(_status_of(url, message.body, headers=headers, host=host)), ""
    except (httpx2.HTTPError, httpx2.InvalidURL, ForbiddenAddress, TimeoutError) as problem:
        return None, type(problem).__name__


async def _status_of(url: httpx2.URL, body: bytes, *, headers: Mapping[str, str], host: str) -> int:
    """Send, and return the status of the answer. Raises TimeoutError: an answer that trickles in byte by byte meets no other limit."""
    async with (
        asyncio.timeout(DEADLINE),
        httpx2.AsyncClient(timeout=TIMEOUT, follow_redirects=False, trust_env=False, verify=ssl.create_default_context()) as client,
        client.stream("POST", url, content=body, headers=headers, extensions={"sni_hostname": host}) as response,
    ):
        return response.status_code
