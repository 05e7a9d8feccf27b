"""A client of our own API for tests."""

import json
from typing import Any

from django.http import HttpResponse
from django.test import Client

from tests.tokens import make_token


class Caller:
    """Calls /api/v1 with a token: `api.post("/containers/c1/memories", {...})`."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.client = Client()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        given = {"Authorization": f"Bearer {self.secret}", **{name.replace("_", "-"): value for name, value in headers.items()}}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        return self.client.generic(method, f"/api/v1{path}", data, content_type=kind, headers=given)  # type: ignore[return-value]

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.call("GET", path, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("PUT", path, body, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("POST", path, body, **headers)


def caller_of(owner: str = "ana", **details: Any) -> Caller:
    return Caller(make_token(owner, **details)[1])


def said(answer: HttpResponse, status: int = 200) -> Any:
    """Return the body of an answer after checking its status."""
    assert answer.status_code == status, (answer.status_code, answer.content)
    return json.loads(answer.content)


def problem(answer: HttpResponse) -> tuple[int, str, str | None]:
    """Return status, code and field of the first problem, after checking the shape."""
    body = json.loads(answer.content)
    assert set(body) <= {"type", "errors", "yours", "current"}
    first = body["errors"][0]
    assert set(first) == {"code", "detail", "attr"}
    return answer.status_code, first["code"], first["attr"]
