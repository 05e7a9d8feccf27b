"""Writes that may be sent again: a request with an `Idempotency-Key` is done once, and answered the same each time for a day."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils.crypto import salted_hmac
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from memadmin.api.models import KeyedCall
from memadmin.api.v1.base import principal_of
from memadmin.api.v1.problems import Unprocessable

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
LONGEST_KEY = 200
KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Done:
    """What a write did: the status of its answer, and the uid or number of what it was about."""

    status: int
    identity: str


def answer_once(request: Request, act: Callable[[], Done], show: Callable[[str], Any], *, now: datetime) -> Response:
    """Carry out a write, or find that it was carried out under this key already; `show` makes the body from the identity.

    What is shown is as it stands now: a key keeps no content. A refused write is not remembered.
    """
    key = request.headers.get(HEADER)
    if key is None:
        done = act()
        return Response(show(done.identity), done.status)
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
        raise exceptions.ValidationError({HEADER: [f"A key has 1 to {LONGEST_KEY} printable characters."]})
    with transaction.atomic():
        call, is_new = _claim(request, key, now=now)
        if is_new:
            done = act()
            KeyedCall.objects.filter(pk=call.pk).update(status=done.status, identity=done.identity)
    if is_new:
        return Response(show(done.identity), done.status)
    if call.request_digest != _request_digest(request):
        raise Unprocessable(f"This {HEADER} was used for another request. Use a new one.")
    return Response(show(call.identity), call.status, headers={REPLAYED: "true"})


def _claim(request: Request, key: str, *, now: datetime) -> tuple[KeyedCall, bool]:
    """Return the call under this key and whether it is new. A second one at once waits here for the end of the first."""
    token, digest = principal_of(request).token, salted_hmac("memadmin.api.key", key, algorithm="sha256").hexdigest()
    KeyedCall.objects.filter(token=token, created_at__lt=now - KEPT)._raw_delete(connection.alias)
    try:
        with transaction.atomic():
            values = {"request_digest": _request_digest(request), "status": 0, "identity": "", "created_at": now}
            return KeyedCall.objects.create(token=token, key_digest=digest, **values), True
    except IntegrityError:
        return KeyedCall.objects.get(token=token, key_digest=digest), False


def _request_digest(request: Request) -> str:
    said = json.dumps([request.method, request.get_full_path(), request.data], sort_keys=True)
    return salted_hmac("memadmin.api.request", said, algorithm="sha256").hexdigest()
