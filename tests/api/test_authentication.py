import base64
import json
from datetime import timedelta

import pytest
import time_machine
from django.core.handlers.wsgi import WSGIRequest
from django.utils import timezone

from memadmin.access import tokens
from memadmin.access.models import ApiToken
from memadmin.access.roles import Role
from memadmin.access.scopes import Scope
from memadmin.api import authentication
from memadmin.audit.models import AuditPending
from memadmin.store import configuration
from memadmin.store.models import LongTermMemory, Session
from tests.factories import ACTOR, NOON, make_container
from tests.people import a_browser_of
from tests.tokens import BASE, ApiClient, api_of, make_token, reason_of

pytestmark = pytest.mark.django_db


def basic(pair: str) -> str:
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


@pytest.fixture
def url():
    make_container(external_id="c1", owner={"name": "ana"})
    return f"{BASE}/c1"


@pytest.mark.parametrize("header", ["Bearer {}", "bearer  {}", "basic"])
def test_a_token_comes_as_bearer_or_as_the_password_of_any_user(url, client, header):
    _, secret = make_token("ana")

    given = basic(f"anybody:{secret}") if header == "basic" else header.format(secret)

    assert client.get(url, headers={"Authorization": given}).status_code == 200


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer mem_wrong", "Basic !!!", "Basic /w==", basic("anybody"), basic("mem_wrong:"), "Digest x", "\ud7ff"],
)
def test_without_a_token_that_works_nothing_is_said(url, client, header):
    make_token("ana")

    answer = client.get(url, headers={"Authorization": header} if header else {})

    assert reason_of(answer)[:2] == (401, "security_exception")
    assert answer["WWW-Authenticate"].startswith("Basic")
    assert answer["Cache-Control"] == "private, no-store"


def test_a_revoked_token_is_refused_at_once(url):
    token, secret = make_token("ana")
    api = ApiClient(secret)
    assert api.get(url).status_code == 200

    tokens.revoke_token(token, actor=ACTOR, now=NOON)

    assert api.get(url).status_code == 401


def test_a_token_past_its_time_is_refused(url):
    _, secret = make_token("ana", expires_at=timezone.now() + timedelta(hours=1))
    api = ApiClient(secret)
    assert api.get(url).status_code == 200

    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        assert api.get(url).status_code == 401


FAMILIES = [
    ("GET", f"{BASE}/c1"),
    ("POST", f"{BASE}/_search"),
    ("POST", f"{BASE}/c1/memories/sessions"),
    ("POST", f"{BASE}/_retention/_dry_run"),
    ("GET", "/_cluster/settings"),
    ("GET", "/"),
    ("GET", "/api/v1/containers"),
    ("POST", "/api/v1/containers/c1/memories"),
    ("POST", "/api/v1/containers/c1/bulk"),
    ("GET", "/api/v1/containers/c1/export"),
    ("GET", "/api/v1/audit"),
    ("GET", "/api/v1/schema"),
    ("GET", "/api/v1/nowhere"),
]


@pytest.mark.parametrize(("method", "path"), FAMILIES)
def test_at_the_second_at_which_a_token_ends_each_address_refuses_it_in_its_own_envelope(url, client, method, path):
    end = timezone.now() + timedelta(minutes=1)
    _, secret = make_token("ana", all_access=True, expires_at=end)

    def ask(at):
        with time_machine.travel(at, tick=False):
            return client.generic(method, path, b"{}", content_type="application/json", headers={"Authorization": f"Bearer {secret}"})

    before, after = ask(end - timedelta(milliseconds=1)), ask(end)

    assert before.status_code != 401
    assert (after.status_code, "An API token that works is needed" in after.content.decode()) == (401, True)
    assert "WWW-Authenticate" in after
    assert after.headers["Content-Type"].split(";")[0] == "application/json"


@pytest.mark.parametrize("code", ["token_expired", "token_revoked"])
def test_who_comes_with_a_token_that_has_ended_is_in_the_log_once_however_often_it_tries(url, code):
    token, secret = make_token("ana", expires_at=timezone.now() + timedelta(hours=1))
    if code == "token_revoked":
        tokens.revoke_token(token, actor=ACTOR, now=timezone.now())

    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        answers = {ApiClient(secret).get(url).status_code for _ in range(3)}
    ApiClient("mem_unknown").get(url)

    [entry] = [json.loads(row.facts) for row in AuditPending.objects.filter(facts__contains="access.refused")]
    assert answers == {401}
    assert (entry["actor"], entry["reason_code"], entry["outcome"]) == (f"token/{token.uid}", code, "refused")


@pytest.mark.parametrize("path", [f"{BASE}/c1/memories/sessions", "/api/v1/containers/c1/memories", "/api/v1/containers/c1/bulk"])
@pytest.mark.parametrize("is_slow", [True, False])
def test_a_token_that_is_ended_while_a_slow_body_arrives_writes_nothing(url, client, monkeypatch, path, is_slow):
    _, secret = make_token("ana")
    read, is_bulk = WSGIRequest.read, path.endswith("bulk")

    def arrives(request, *args):
        ApiToken.objects.update(revoked_at=NOON)
        return read(request, *args)

    monkeypatch.setattr(WSGIRequest, "read", arrives)
    monkeypatch.setattr(authentication, "SLOW", 0.0 if is_slow else 60.0)
    body = {"user_id": "ann", "text": "tea"} | ({"type": "long-term"} if is_bulk else {})
    body = json.dumps({} if path.endswith("sessions") else body).encode()
    answer = client.generic("POST", path, body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"})
    said = b"".join(answer.streaming_content) if answer.streaming else answer.content

    is_written = Session.objects.exists() or LongTermMemory.objects.exists()
    assert is_written == (not is_slow and not is_bulk)  # a bulk upload is asked before each part as well
    assert (answer.status_code == 401) == is_slow
    assert (b"token_ended" in said) == (is_bulk and not is_slow)


def test_the_cookie_of_a_person_opens_nothing(url):
    browser = a_browser_of(Role.ADMINISTRATOR)

    assert browser.get(url).status_code == 401
    assert browser.post(f"{BASE}/_create", {"name": "x"}, content_type="application/json").status_code == 401


def test_a_token_opens_no_page(client):
    _, secret = make_token("ana")

    assert client.get("/containers/", headers={"Authorization": f"Bearer {secret}"}).status_code == 302


def test_a_token_needs_no_token_against_forgery():
    _, secret = make_token("ana")
    api = ApiClient(secret)
    api.client.handler.enforce_csrf_checks = True

    assert api.post("/_create", {"name": "x"}).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_a_verb_on_the_root_is_refused_as_json(method, client):
    client.handler.enforce_csrf_checks = True
    _, secret = make_token("ana")

    answer = client.generic(method, "/", b"{}", content_type="application/json", headers={"Authorization": f"Bearer {secret}"})

    assert answer.status_code == 405
    assert answer.json()["error"].startswith("Incorrect HTTP method for uri [/]")
    assert client.generic(method, "/").status_code in {302, 405}


def test_a_token_does_only_what_its_scopes_say(url):
    reader = api_of("ana", scopes=[Scope.CONTAINER_READ])

    assert reader.get(url).status_code == 200
    status, kind, reason = reason_of(reader.put(url, {"name": "x"}))
    assert (status, kind) == (403, "security_exception")
    assert "container.write" in reason


def test_a_token_that_asks_too_often_waits_for_the_next_minute(url):
    configuration.change("api_requests_per_minute", 2, actor=ACTOR, now=NOON)
    api, other = api_of("ana"), api_of("ana")

    with time_machine.travel(NOON + timedelta(seconds=20), tick=False):
        answers = [api.get(url) for _ in range(3)]
        assert other.get(url).status_code == 200
    with time_machine.travel(NOON + timedelta(seconds=60), tick=False):
        assert api.get(url).status_code == 200

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2]["Retry-After"] == "40"
    assert reason_of(answers[2])[1] == "too_many_requests_exception"


def test_a_wrong_method_names_the_right_ones(url):
    answer = api_of("ana").call("PATCH", "/c1")

    assert (answer.status_code, answer["Allow"]) == (405, "DELETE, GET, HEAD, PUT")
    assert json.loads(answer.content)["status"] == 405


def test_an_address_that_is_not_ours_is_no_page(client):
    assert reason_of(client.get("/_plugins/_ml/models/x"))[0] == 401
    answer = api_of("ana").get("/_plugins/_ml/models/x")
    assert (answer.status_code, list(json.loads(answer.content))) == (400, ["error"])


def test_pretty_answers_are_indented(url):
    assert b"\n  " in api_of("ana").get(f"{url}?pretty").content


def test_the_day_of_use_is_noted(url):
    api_of("ana").get(url)

    assert ApiToken.objects.get().last_used_on == timezone.now().date()
