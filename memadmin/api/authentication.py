"""Who comes with this request. A token is the only proof: the session cookie of a browser means nothing here."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from django.http import HttpRequest
from django.utils import timezone

from memadmin.access import tokens
from memadmin.access.models import ApiToken
from memadmin.access.principals import Principal
from memadmin.api.noting import note_ended
from memadmin.api.throttling import check_rate
from memadmin.store import configuration

TENANT_HEADER = "x-tenant-id"
SLOW = 1.0  # seconds
_Read = TypeVar("_Read")


class NotAuthenticated(Exception):
    """No token, or none that works. One sentence for every cause: it must not say which tokens there are."""

    def __init__(self) -> None:
        super().__init__("An API token that works is needed, as a Bearer token or as the password of Basic authentication.")


class ForeignTenant(Exception):
    """The header names another tenant than the token."""

    def __init__(self) -> None:
        super().__init__("You don't have permission to access this resource")


def authenticate(request: HttpRequest, *, now: datetime) -> Principal:
    """Return the bearer of the request's token. Raises NotAuthenticated, TooManyRequests and ForeignTenant."""
    secret = _secret(request.headers.get("Authorization", ""))
    token = _working(tokens.find(secret) if secret else None, now=now)
    settings = configuration.values()
    check_rate(token, limit=settings["api_requests_per_minute"], now=now)
    principal = principal_of(token, header=request.headers.get(TENANT_HEADER) or None, tenancy=settings["multi_tenancy_enabled"])
    return replace(principal, switched_on=settings["agentic_memory_enabled"])


def check_still(principal: Principal, *, now: datetime) -> None:
    """Ask again for the token of a request that goes on: it may have been ended meanwhile. Raises NotAuthenticated."""
    _working(ApiToken.objects.filter(uid=principal.token).first(), now=now)


def after_reading(principal: Principal, read: Callable[[], _Read]) -> _Read:
    """Read a body. Of one that takes its time the token is asked for again, before anything is done. Raises NotAuthenticated."""
    begun = time.monotonic()
    body = read()
    if time.monotonic() - begun > SLOW:
        check_still(principal, now=timezone.now())
    return body


def _working(token: ApiToken | None, *, now: datetime) -> ApiToken:
    if token is not None and token.works(now):
        return token
    if token is not None:
        note_ended(token, now=now)
    raise NotAuthenticated


def _secret(header: str) -> str:
    kind, _, rest = header.strip().partition(" ")
    if kind.lower() == "bearer":
        return rest.strip()
    if kind.lower() != "basic":
        return ""
    try:
        pair = base64.b64decode(rest.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return pair.partition(":")[2]  # the user name may be anything: the password says who it is


def principal_of(token: ApiToken, *, header: str | None, tenancy: bool) -> Principal:
    """Return what the token says, for a request with this tenant header. Raises ForeignTenant."""
    tenant = header if tenancy else token.tenant
    if tenancy and header and token.tenant is not None and header != token.tenant:
        raise ForeignTenant
    listed = None if token.all_containers else frozenset(token.containers.values_list("pk", flat=True))
    return Principal(
        token=token.uid,
        name=token.owner_name,
        scopes=frozenset(token.scopes),
        containers=listed,
        backend_roles=frozenset(token.backend_roles),
        all_access=token.all_access,
        tenant=tenant,
        tenancy=tenancy,
    )
