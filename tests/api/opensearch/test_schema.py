"""Every address of the compatible API, with bodies of any shape: an answer of the documented form, and never a 500.

MEMADMIN_API_EXAMPLES sets how many requests of each kind are tried.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.urls import URLPattern, get_resolver
from hypothesis import HealthCheck
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from memadmin.wsgi import application
from tests.factories import a_memory, a_pin, a_session, store
from tests.runs import a_policy, governed
from tests.tokens import make_token

EXAMPLES = int(os.environ.get("MEMADMIN_API_EXAMPLES", "3"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
REASONS = {"type": "object", "required": ["type", "reason", "root_cause"]}
ENVELOPE = {
    "type": "object",
    "required": ["error", "status"],
    "properties": {"status": {"type": "integer"}, "error": {"oneOf": [REASONS, {"type": "string"}]}},
}
ANY_OBJECT = {"type": "object", "additionalProperties": True}
FIELDS = (
    "name",
    "description",
    "configuration",
    "backend_roles",
    "query",
    "messages",
    "namespace",
    "pinned",
    "memory",
    "summary",
    "tags",
    "size",
    "sort",
)


def json_of(shape: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": shape}}


def operation(parts: list[str], method: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "parameters": [{"name": part, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for part in parts],
        "responses": {
            "200": {"description": "", "content": json_of(ANY_OBJECT)},
            "default": {"description": "", "content": json_of(ENVELOPE)},
        },
    }
    if method != "get":
        body = {"type": "object", "properties": {name: {} for name in FIELDS}, "additionalProperties": True}
        described["requestBody"] = {"required": False, "content": json_of(body)}
    return described


def addresses(patterns: Any) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield str(pattern.pattern), pattern.callback
        else:
            yield from addresses(pattern.url_patterns)


def description() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for route, view in addresses(get_resolver("memadmin.api.opensearch.urls").url_patterns):
        if route.startswith("_<"):
            continue  # every other address
        parts = re.findall(r"<\w+:(\w+)>", route)
        path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)
        paths[path] = {method.lower(): operation(parts, method.lower()) for method in view.scopes if method != "HEAD"}
    return {"openapi": "3.0.3", "info": {"title": "compatible", "version": "1"}, "paths": paths}


schema = schemathesis.openapi.from_dict(description())
schema.app = application


@pytest.fixture
def secret(db: None) -> Iterator[str]:
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    container = governed(a_policy(relevance={"max_records": 1}), external_id="c1")
    store(container, a_memory("likes tea"), a_memory("pinned", pin=a_pin()), a_session())
    yield make_token("root", all_access=True)[1]
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def aim(case: Any) -> None:
    """Let most requests reach something that is there."""
    places = case.path_parameters
    if len(str(places.get("cid", "none"))) < 4:
        places["cid"] = "c1"
    if len(str(places.get("name", "none"))) < 3:
        places["name"] = "working"
    if len(str(places.get("mid", "none"))) < 3:
        places["mid"] = "s-1"


@hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
@schema.parametrize()
def test_every_address_answers_in_the_documented_form(case: Any, secret: str):
    aim(case)
    response = case.call(headers={**(case.headers or {}), "Authorization": f"Bearer {secret}"})
    case.validate_response(response, checks=CHECKS)
