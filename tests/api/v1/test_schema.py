"""The API keeps to its description, whatever is sent. MEMADMIN_API_EXAMPLES sets how many requests of each kind are tried."""

import os

import hypothesis
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from memadmin.lifecycle.models import Run
from memadmin.store.models import LongTermMemory
from memadmin.wsgi import application
from tests.factories import a_memory, a_pin, a_session, store
from tests.runs import a_policy, governed, preview
from tests.tokens import make_token

EXAMPLES = int(os.environ.get("MEMADMIN_API_EXAMPLES", "3"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
STREAMED = "/api/v1/containers/{cid}/bulk"

schema = schemathesis.openapi.from_dict(SchemaGenerator(urlconf="memadmin.api.v1.urls").get_schema(request=None, public=True))
schema.app = application


@schemathesis.serializer("application/x-ndjson")
def as_lines(context, value):
    return value if isinstance(value, bytes) else b'{"type": "long-term", "user_id": "ann", "text": "x"}\n{'


@pytest.fixture
def keeping_the_connection():
    """As Django's own test client does: the end of a request closes nothing, so that the test's transaction goes on."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def aim(case):
    """Let most requests reach something that is there."""
    places, memory, run = case.path_parameters, LongTermMemory.objects.order_by("id").first(), Run.objects.first()
    if len(str(places.get("cid", "none"))) < 4:
        places["cid"] = "c1"
    if str(places.get("uid", "f"))[0] in "0123456789abcde" and memory:
        places["uid"] = str(memory.uid)
    if "number" in places and len(str(places["number"])) < 4 and run:
        places["number"] = run.number


@pytest.fixture
def secret(db, keeping_the_connection):
    container = governed(a_policy(relevance={"max_records": 1}), external_id="c1")
    store(container, *(a_memory(f"m{number}") for number in range(3)), a_memory("pinned", pin=a_pin()), a_session())
    preview(container)
    return make_token("root", all_access=True)[1]


PHASES = [hypothesis.Phase.explicit, hypothesis.Phase.generate]


@hypothesis.settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@schema.parametrize()
def test_every_address_answers_as_described(case, secret):
    aim(case)
    response = case.call(headers={**(case.headers or {}), "Authorization": f"Bearer {secret}"})
    case.validate_response(response, checks=CHECKS)
