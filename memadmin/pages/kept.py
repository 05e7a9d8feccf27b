"""What the next page of a browser needs and no address may say: kept with its session for a while, under a random name."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any

from memadmin.pages.htmx import PersonRequest

KEPT = "kept"
FOR = timedelta(minutes=30)
MOST = 8  # of one browser


def new_name() -> str:
    return secrets.token_urlsafe(12)


def keep(request: PersonRequest, name: str, said: dict[str, Any], *, now: datetime) -> None:
    """Keep it under this name. The oldest one gives way."""
    standing = [*_standing(request, now=now).items(), (name, {**said, "until": (now + FOR).isoformat()})]
    request.session[KEPT] = dict(standing[-MOST:])


def find(request: PersonRequest, name: str, *, now: datetime) -> dict[str, Any] | None:
    """Return what is kept under the name; None where it was taken, is too old, or was never there."""
    return _standing(request, now=now).get(name)


def take(request: PersonRequest, name: str, *, now: datetime) -> dict[str, Any] | None:
    """Return what is kept under the name, once."""
    standing = _standing(request, now=now)
    found = standing.pop(name, None)
    if KEPT in request.session:
        request.session[KEPT] = standing
    return found


def _standing(request: PersonRequest, *, now: datetime) -> dict[str, dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = request.session.get(KEPT, {})
    return {name: said for name, said in kept.items() if datetime.fromisoformat(said["until"]) > now}
