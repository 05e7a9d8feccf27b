"""The verbs on API tokens. A token works from the moment it is made until it is revoked or past its time."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from memadmin.access.models import ApiToken
from memadmin.access.scopes import Scope
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.store.models import Container
from memadmin.store.text import clean

MARK = "mem_"  # what scanners for leaked secrets look for
SECRET_BYTES = 32
BEGINNING_LENGTH = len(MARK) + 6
LABEL_LENGTH, NAME_LENGTH = 200, 512


class BadToken(ValueError):
    """The token cannot be made as described; the message says why."""


class AlreadyRevoked(Exception):
    """There is nothing left to revoke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSpec:
    """What a new token is for. `containers` None: all, now and later."""

    label: str
    owner_name: str
    scopes: tuple[Scope, ...]
    containers: tuple[Container, ...] | None = ()
    backend_roles: tuple[str, ...] = ()
    all_access: bool = False
    tenant: str | None = None
    expires_at: datetime | None = None


@transaction.atomic
def create_token(spec: TokenSpec, *, actor: str, now: datetime) -> tuple[ApiToken, str]:
    """Store a token and return it with its secret, which is not kept. Raises BadToken."""
    _check(spec, now=now)
    secret = MARK + secrets.token_urlsafe(SECRET_BYTES)
    token = ApiToken.objects.create(
        label=clean(spec.label.strip()),
        digest=digest_of(secret),
        beginning=secret[:BEGINNING_LENGTH],
        scopes=[scope.value for scope in spec.scopes],
        all_containers=spec.containers is None,
        owner_name=clean(spec.owner_name.strip()),
        backend_roles=[clean(role) for role in spec.backend_roles],
        all_access=spec.all_access,
        tenant=spec.tenant,
        created_at=now,
        created_by=actor,
        expires_at=spec.expires_at,
    )
    token.containers.set(spec.containers or ())
    payload = {
        "scopes": token.scopes,
        "containers": None if spec.containers is None else [str(container.uid) for container in spec.containers],
        "all_access": token.all_access,
        "expires_at": None if spec.expires_at is None else spec.expires_at.isoformat(),
    }
    log.append(Action.TOKEN_CREATED, actor=actor, target=f"token/{token.uid}", at=now, payload=payload)
    return token, secret


@transaction.atomic
def revoke_token(token: ApiToken, *, actor: str, now: datetime) -> None:
    """End a token at once. Raises AlreadyRevoked."""
    if not ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=now):
        raise AlreadyRevoked("This token was revoked already.")
    token.refresh_from_db()
    log.append(Action.TOKEN_REVOKED, actor=actor, target=f"token/{token.uid}", at=now)


@transaction.atomic
def admit(uid: UUID, container: Container) -> None:
    """Add a container that a token has made to those it lists, so that it can go on with it."""
    token = ApiToken.objects.get(uid=uid)
    if not token.all_containers:
        token.containers.add(container)


def find(secret: str) -> ApiToken | None:
    """Return the token of a secret, whether it works or has ended."""
    # Written out, because putting it together costs the ORM more than the database takes to answer, and every request asks it.
    return next(iter(ApiToken.objects.raw("SELECT * FROM access_apitoken WHERE digest = %s", [digest_of(secret)])), None)


def note_use(token: ApiToken, *, now: datetime, requests: int = 1) -> int:
    """Count requests, in one statement for all processes, and return how many this minute has seen with them."""
    if token.last_used_on != now.date():
        ApiToken.objects.filter(pk=token.pk).update(last_used_on=now.date())
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO access_tokenuse (token_id, minute, requests) VALUES (%s, %s, %s) ON CONFLICT (token_id) DO UPDATE SET "
            "requests = excluded.requests + CASE WHEN access_tokenuse.minute = excluded.minute THEN access_tokenuse.requests ELSE 0 END, "
            "minute = excluded.minute RETURNING requests",
            [token.pk, int(now.timestamp() // 60), requests],
        )
        return int(cursor.fetchone()[0])


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _check(spec: TokenSpec, *, now: datetime) -> None:
    _check_line(spec.label, "A label", LABEL_LENGTH)
    _check_line(spec.owner_name, "The name of the owner", NAME_LENGTH)
    _check_lines(spec.backend_roles, "A backend role", NAME_LENGTH)
    if not spec.scopes:
        raise BadToken("Choose at least one thing that the token may do.")
    if spec.expires_at is not None and spec.expires_at <= now:
        raise BadToken("The token would be past its time already. Choose a later day.")


def _check_lines(texts: Iterable[str], what: str, longest: int) -> None:
    for text in texts:
        _check_line(text, what, longest)


def _check_line(text: str, what: str, longest: int) -> None:
    if not text.strip() or len(text) > longest or not clean(text).isprintable():
        raise BadToken(f"{what} has 1 to {longest} printable characters.")
