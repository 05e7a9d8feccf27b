"""Tokens for tests, and a client that comes with one."""

import json
from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from django.test import Client

from memadmin.access.models import ApiToken
from memadmin.access.principals import Principal
from memadmin.access.scopes import Scope
from memadmin.access.tokens import TokenSpec, create_token
from memadmin.api.authentication import principal_of
from memadmin.store.models import Container
from tests.factories import ACTOR, NOON

BASE = "/_plugins/_ml/memory_containers"


def make_token(
    owner: str = "ana", *, scopes: Iterable[Scope] = tuple(Scope), containers: Iterable[Container] | None = None, **details: Any
) -> tuple[ApiToken, str]:
    """Store a token that may everything in all containers, unless told otherwise; return it with its secret."""
    listed = None if containers is None else tuple(containers)
    spec = TokenSpec(label=f"token of {owner}", owner_name=owner, scopes=tuple(scopes), containers=listed, **details)
    return create_token(spec, actor=ACTOR, now=NOON)


def a_principal(owner: str = "ana", **details: Any) -> Principal:
    return principal_of(make_token(owner, **details)[0], header=None, tenancy=False)


class ApiClient:
    """Calls the compatible API with a token: `api.get("/c1/memories/working/m1")`. The path is below memory_containers."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.client = Client()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        where = path if path.startswith(("/_plugins", "/_cluster", "/api/")) or path == "/" else BASE + path
        given = {"Authorization": f"Bearer {self.secret}", **headers}
        return self.client.generic(method, where, data, content_type="application/json", headers=given)  # type: ignore[return-value]

    def get(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("GET", path, body, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("PUT", path, body, **headers)

    def delete(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("DELETE", path, body, **headers)


def api_of(owner: str = "ana", **details: Any) -> ApiClient:
    return ApiClient(make_token(owner, **details)[1])


def reason_of(answer: HttpResponse) -> tuple[int, str, str]:
    """Return status, type and reason of an error, after checking that the envelope says each of them twice."""
    body = json.loads(answer.content)
    cause = {"type": body["error"]["type"], "reason": body["error"]["reason"]}
    assert body["error"]["root_cause"] == [cause]
    assert body["status"] == answer.status_code
    return answer.status_code, cause["type"], cause["reason"]
