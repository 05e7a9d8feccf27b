"""One delivery: signed, sent once, and judged by the status of the answer alone. What the answer says is not read."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import httpx2
from django.db import transaction
from django.db.models import F, QuerySet

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.webhooks.addresses import ForbiddenAddress, address_of
from memadmin.webhooks.models import Delivery, State, Subscription

ACTOR = "job/webhooks"
TIMEOUT = 5.0  # seconds, of each wait for the network
DEADLINE = 15.0  # seconds, of an attempt
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 360, 720, 1440))  # after each attempt; then it is given up
SIGNATURE = "X-Memadmin-Signature"


def signature(secret: str, body: bytes, *, sent_at: datetime) -> str:
    """Return `t=<epoch seconds>,v1=<hex>`: HMAC-SHA256 of "<epoch seconds>.<body>". The time keeps an old body from being sent again."""
    seconds = int(sent_at.timestamp())
    digest = hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def due(now: datetime) -> list[Delivery]:
    """Return what is to be sent now, the longest waiting first."""
    pending = Delivery.objects.filter(state=State.PENDING, due_at__lte=now, subscription__enabled=True)
    return list(pending.select_related("subscription").order_by("due_at", "id")[:20])


def send(delivery: Delivery, *, now: datetime) -> None:
    """Try once, and write down how it went."""
    subscription = delivery.subscription
    status, error_code = _post(subscription, delivery.body.encode(), event=delivery.event, uid=str(delivery.uid), now=now)
    note(delivery, status=status, error_code=error_code, now=now)


def note(delivery: Delivery, *, status: int | None, error_code: str, now: datetime) -> None:
    """Write down how an attempt went: it was delivered, is due again later, or is given up."""
    if status is not None and 200 <= status < 300:
        _end(delivery, State.DELIVERED, now=now, status=status)
    elif delivery.attempts < len(WAITS):
        later = now + WAITS[delivery.attempts]
        _pending(delivery).update(attempts=F("attempts") + 1, due_at=later, status=status, error_code=error_code)
    else:
        _give_up(delivery, delivery.subscription, now=now, status=status, error_code=error_code)


def _post(subscription: Subscription, body: bytes, *, event: str, uid: str, now: datetime) -> tuple[int | None, str]:
    """Return the status, or None and what went wrong by the name of its kind."""
    parts = urlsplit(subscription.url)
    host = parts.hostname or ""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "memadmin",
        "Host": parts.netloc,
        "X-Memadmin-Event": event,
        "X-Memadmin-Delivery": uid,
        SIGNATURE: signature(subscription.secret, body, sent_at=now),
    }
    try:
        address = address_of(host, parts.port or (443 if parts.scheme == "https" else 80))
        url = httpx2.URL(subscription.url).copy_with(host=address)
        return asyncio.run(_status_of(url, body, headers=headers, host=host)), ""
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


@transaction.atomic
def _give_up(delivery: Delivery, subscription: Subscription, *, now: datetime, status: int | None, error_code: str) -> None:
    """An address that did not answer for two days is paused: what happens from now on waits in the log for somebody to mend it."""
    _end(delivery, State.FAILED, now=now, status=status, error_code=error_code)
    if Subscription.objects.filter(pk=subscription.pk, enabled=True).update(enabled=False):
        log.append(Action.WEBHOOK_PAUSED, actor=ACTOR, target=f"webhooks/{subscription.uid}", at=now, reason_code="no_answer")


def _end(delivery: Delivery, state: State, *, now: datetime, status: int | None, error_code: str = "") -> None:
    _pending(delivery).update(state=state, attempts=F("attempts") + 1, ended_at=now, status=status, error_code=error_code)


def _pending(delivery: Delivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(pk=delivery.pk, state=State.PENDING)
