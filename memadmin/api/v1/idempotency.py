"""Writes that may be sent again: a request with an `Idempotency-Key` is done once, and answered the same each time for a day."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
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


class NotedRefusal(Exception):
    """An act was refused, and the log says so, which has to stay there; `answer` is what the caller is told."""

    def __init__(self, answer: exceptions.APIException) -> None:
        super().__init__(str(answer))
        self.answer = answer


def answer_once(request: Request, act: Callable[[], Done], show: Callable[[str], Any], *, now: datetime) -> Response:
    """Carry out a write, or find that it was carried out under this key already; `show` makes the body from the identity.

    What is shown is as it stands now: a key keeps no content. A refused write is not remembered.
    """
    key = request.headers.get(HEADER)
    try:
        if key is None:
            done = act()
            return Response(show(done.identity), done.status)
        call, done_now = _once(request, key, act, now=now)
    except NotedRefusal as refusal:
        raise refusal.answer from None
    if done_now:
        return Response(show(done_now.identity), done_now.status)
    if call.request_digest != _request_digest(request):
        raise Unprocessable(f"This {HEADER} was used for another request. Use a new one.")
    return Response(_as_it_stands(show, call.identity), call.status, headers={REPLAYED: "true"})


def _as_it_stands(show: Callable[[str], Any], identity: str) -> Any:
    """Return what a write was about. Raises NotFound for what has gone since."""
    try:
        return show(identity)
    except ObjectDoesNotExist:
        raise exceptions.NotFound("This was done, and what it was about has gone since.") from None


def _once(request: Request, key: str, act: Callable[[], Done], *, now: datetime) -> tuple[KeyedCall, Done | None]:
    """Return the call under this key, and what it did if that was now. Raises NotedRefusal."""
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
        raise exceptions.ValidationError({HEADER: [f"A key has 1 to {LONGEST_KEY} printable characters."]})
    done, refused = None, None
    with transaction.atomic():
        call, is_new = _claim(request, key, now=now)
        if is_new:
            try:
                done = act()
                KeyedCall.objects.filter(pk=call.pk).update(status=done.status, identity=done.identity)
            except NotedRefusal as refusal:  # its note would go with the transaction
                refused = refusal
                KeyedCall.objects.filter(pk=call.pk)._raw_delete(connection.alias)
    if refused:
        raise refused
    return call, done


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
