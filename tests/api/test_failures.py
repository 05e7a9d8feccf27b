import pytest
from django.core.exceptions import SuspiciousOperation

from memadmin.access.roles import Role
from memadmin.api.opensearch import cluster_settings
from memadmin.api.v1 import rendering
from tests.factories import make_container
from tests.people import a_browser_of
from tests.tokens import api_of, make_token, reason_of

pytestmark = pytest.mark.django_db


def test_a_client_with_a_token_learns_who_answers():
    api = api_of("ana")

    answer = api.get("/").json()

    assert (answer["version"]["distribution"], answer["version"]["number"]) == ("opensearch", "3.8.0")
    assert (api.call("HEAD", "/").status_code, api.call("HEAD", "/").content) == (200, b"")
    assert api.post("/").status_code == 405


def test_a_client_with_a_wrong_token_learns_nothing(client):
    assert reason_of(client.get("/", headers={"Authorization": "Bearer mem_x"}))[0] == 401


def test_a_person_behind_a_proxy_with_a_password_gets_the_overview():
    answer = a_browser_of(Role.AUDITOR).get("/", headers={"Authorization": "Basic eDp5", "Accept": "text/html,*/*"})

    assert b"Overview" in answer.content


@pytest.mark.parametrize(("error", "status"), [(RuntimeError("the text of a memory"), 500), (SuspiciousOperation("x"), 400)])
def test_what_breaks_answers_in_the_envelope_and_says_nothing(monkeypatch, error, status):
    def fail(key):
        raise error

    api = api_of("ana")
    api.client.raise_request_exception = False
    monkeypatch.setattr(cluster_settings, "_text", fail)

    answer = api.get("/_cluster/settings?include_defaults=true")

    assert reason_of(answer)[0] == status
    assert b"memory" not in answer.content


def test_each_api_refuses_in_its_own_shape(client):
    foreign = {"Host": "evil.example"}

    assert reason_of(client.get("/_cluster/settings", headers=foreign))[0] == 400
    assert client.get("/api/v1/containers", headers=foreign).json()["errors"][0]["code"] == "bad_request"
    assert client.get("/api/nothing/at/all").json().keys() == {"type", "errors"}


def test_a_page_that_is_missing_stays_a_page(client):
    make_token("ana")

    assert b"<html" in client.get("/nothing/").content


@pytest.mark.parametrize("address", ["/some-index/_search", "/nothing", "/users/_doc/1"])
def test_a_program_that_asks_for_something_else_reads_no_page(address):
    answer = api_of("ana").client.get(address, headers={"Authorization": "Basic eDp5", "Accept": "*/*"})

    assert reason_of(answer)[0] == 404


@pytest.mark.parametrize("address", ["/api", "/api/", "/api/v1", "/api/v1/", "/api/nothing"])
def test_our_own_api_has_one_shape_above_its_addresses_too(client, address):
    answer = client.get(address)

    assert answer.json().keys() == {"type", "errors"}


def test_what_only_begins_like_our_api_is_a_page(client):
    assert b"<html" in client.get("/apiary").content


def test_what_breaks_in_our_own_api_is_named_and_says_nothing(monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("the text of a memory")

    api = api_of("ana")
    api.client.raise_request_exception = False
    monkeypatch.setattr(rendering, "container", fail)
    make_container(external_id="c1", owner={"name": "ana"})

    answer = api.get("/api/v1/containers/c1")

    assert (answer.status_code, answer.json()["type"], answer.json()["errors"][0]["attr"]) == (500, "server_error", None)
    assert b"memory" not in answer.content
    assert answer["X-Error-Id"] in caplog.text
