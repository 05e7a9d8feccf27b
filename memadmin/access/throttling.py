"""Who has failed to sign in too often waits. Counted from the audit log, so that every node and process counts the same.

What was typed and where from stand in the log as short keyed digests only, which tell two apart and name nobody.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from memadmin.access.actors import actor_of
from memadmin.access.models import Person, tidy_login
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, Outcome, Stream

WINDOW = timedelta(minutes=15)
MOST_FOR_LOGIN, MOST_FROM_ADDRESS = 5, 30  # failures in the window; an address can be a whole office
THROTTLED = "throttled"
LOOPBACK = {"127.0.0.1", "::1"}
NOBODY = "system/login"
_ENDS_COUNTING = {Action.LOGIN_SUCCEEDED, Action.PERSON_PASSWORD_RESET}


def wait_before(login: str, request: HttpRequest, *, now: datetime) -> timedelta | None:
    """Return how long this login or this address has to wait, None when it may try. The first refusal of a wait is audited."""
    target = target_of(login)
    since = AuditEntry.objects.in_stream(Stream.GOVERNANCE).not_before(now - WINDOW)
    of_login = list(since.on_target(target).newest_first()[: 4 * MOST_FOR_LOGIN])
    from_address = since.by_actor(actor_at(request, now=now)).of_actions([Action.LOGIN_FAILED]).newest_first()[: 2 * MOST_FROM_ADDRESS]
    longest = max(_left(_failures(of_login), MOST_FOR_LOGIN, now=now), _left(_failures(from_address), MOST_FROM_ADDRESS, now=now))
    if longest <= timedelta(0):
        return None
    if not any(entry.reason_code == THROTTLED for entry in of_login):
        _note(target, request, longest, now=now)
    return longest


def target_of(login: str) -> str:
    """Return what the log calls the account; for a login that nobody has, people type passwords there, a digest too short to guess from."""
    person = Person.objects.filter(login=tidy_login(login)).first()
    return actor_of(person) if person else f"person/unknown/{_digest(tidy_login(login))[:4]}"


def actor_at(request: HttpRequest | None, *, now: datetime) -> str:
    """Return what the log calls somebody at this address who has not signed in; something else each day."""
    if request is None:
        return NOBODY
    return f"{NOBODY}.{_digest(f'{now.date()} {address_of(request)}')[:16]}"


def address_of(request: HttpRequest) -> str:
    """Return the client's address; what the nearest proxy says of it, where the request came through a proxy of ours."""
    direct = str(request.META.get("REMOTE_ADDR", ""))
    trusted = LOOPBACK | set(settings.TRUSTED_PROXIES)
    said = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    return said if said and (direct in trusted or "*" in trusted) else direct


def _failures(newest_first: Iterable[AuditEntry]) -> list[datetime]:
    """Return when the failures since the last success were, newest first."""
    found = []
    for entry in newest_first:
        if entry.action in _ENDS_COUNTING:
            break
        if entry.action == Action.LOGIN_FAILED and entry.reason_code != THROTTLED:
            found.append(entry.at)
    return found


def _left(failures: list[datetime], most: int, *, now: datetime) -> timedelta:
    return failures[most - 1] + WINDOW - now if len(failures) >= most else timedelta(0)


@transaction.atomic
def _note(target: str, request: HttpRequest, wait: timedelta, *, now: datetime) -> None:
    seconds = {"wait_seconds": int(wait.total_seconds())}
    actor, refused = actor_at(request, now=now), Outcome.REFUSED
    log.append(Action.LOGIN_FAILED, actor=actor, target=target, at=now, outcome=refused, reason_code=THROTTLED, counts=seconds)


def _digest(text: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), f"throttling {text}".encode(), sha256).hexdigest()
