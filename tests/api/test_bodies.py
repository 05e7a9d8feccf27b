"""Hostile bodies: refused with a reason, or accepted as documented, and nothing else is harmed."""

import json

import pytest

from memadmin.api import bodies
from memadmin.store.check import check
from memadmin.store.models import WorkingMemory
from memadmin.transfer.problems import Refused
from tests.tokens import BASE, api_of, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def api():
    return api_of("ana")


@pytest.fixture
def path(api):
    return f"/{api.post('/_create', {'name': 'bot'}).json()['memory_container_id']}/memories"


def message(text="hi"):
    return {"role": "user", "content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"{", 400, "json_parse_exception"),
        (b"nonsense", 400, "json_parse_exception"),
        (b'{"tags": {"a": "\xff"}}', 400, "json_parse_exception"),
        (b'{"message_id": NaN}', 400, "json_parse_exception"),
        (b'{"message_id": 1e999}', 400, "json_parse_exception"),
        (b'{"message_id": ' + b"9" * 5_000 + b"}", 400, "json_parse_exception"),
        (b'{"message_id": ' + b"9" * 50 + b"}", 400, "illegal_argument_exception"),
        (b"[1]", 400, "parsing_exception"),
        (b'"text"', 400, "parsing_exception"),
        (b'{"parameters": ' + b'{"a":' * 200 + b"1" + b"}" * 201, 400, "illegal_argument_exception"),
        (b"[" * 100_000, 400, "illegal_argument_exception"),
        (json.dumps({"messages": [message("x" * (4 * 1024 * 1024 + 1))]}).encode(), 400, "illegal_argument_exception"),
        (b"{" + b" " * bodies.LARGEST + b"}", 413, "content_too_long_exception"),
    ],
    ids=["cut", "word", "utf8", "nan", "infinite", "digits", "large", "list", "text", "deep", "deeper", "long text", "large body"],
)
def test_what_cannot_be_read_is_refused_with_a_reason(api, path, body, status, kind):
    assert reason_of(api.post(path, body))[:2] == (status, kind)
    assert not WorkingMemory.objects.exists()


def test_a_compressed_body_is_refused(api, path):
    assert reason_of(api.post(path, b"\x1f\x8b", **{"Content-Encoding": "gzip"}))[0] == 415


def test_ten_megabytes_are_stored(api, path):
    texts = ["x" * 1_000_000] * 10
    assert api.post(path, {"messages": [message(text) for text in texts]}).status_code == 200

    assert WorkingMemory.objects.get().message_count == 10


def test_of_a_body_that_is_somewhat_too_large_nothing_is_left_unread(rf):
    request = rf.post("/", b"x" * (bodies.LARGEST + 1_000), content_type="application/json")

    with pytest.raises(Refused):
        bodies.read_body(request)
    bodies.drain(request)

    assert request.read(1) == b""


def test_ten_thousand_messages_are_stored_and_counted(api, path):
    assert api.post(path, {"messages": [message()] * 10_000}).status_code == 200

    assert WorkingMemory.objects.select_related("subject").get().subject.messages == 10_000
    assert list(check()) == []


@pytest.mark.parametrize(
    "given", [{"tags": {str(number): 0 for number in range(51)}}, {"blob": [[], {}] * 26}, {"blob": [{"a": [1] * 49}]}]
)
def test_more_values_than_a_body_may_hold_are_refused(api, path, given, monkeypatch):
    monkeypatch.setattr(bodies, "MOST_VALUES", 50)

    assert reason_of(api.post(path, given))[:2] == (413, "content_too_long_exception")
    assert api.post(path, {"messages": [message("a, b: c; " * 100)]}).status_code == 200


def test_a_hundred_and_ninety_levels_come_back(api, path):
    deep = 1
    for _ in range(190):
        deep = {"a": deep}

    mid = api.post(path, {"parameters": deep}).json()["working_memory_id"]

    assert api.get(f"{path}/working/{mid}").json()["parameters"] == deep


def test_of_a_key_that_is_there_twice_the_last_counts(api, path):
    mid = api.post(path, b'{"checkpoint_id": "a", "checkpoint_id": "b"}').json()["working_memory_id"]

    assert api.get(f"{path}/working/{mid}").json()["checkpoint_id"] == "b"


def test_what_no_database_stores_is_replaced(api, path):
    mid = api.post(path, b'{"tags": {"a": "x\\u0000y\\ud800"}}').json()["working_memory_id"]

    assert api.get(f"{path}/working/{mid}").json()["tags"] == {"a": "x\ufffdy\ufffd"}


def test_an_id_in_the_address_may_be_anything(api, path):
    for mid in ("%00", "a%00b", "%27%20OR%201=1", "\u65e5\u672c", "x" * 3_000, "%ff"):
        assert reason_of(api.get(f"{path}/working/{mid}"))[0] == 404
        assert reason_of(api.get(f"/{mid}"))[0] == 404


@pytest.mark.parametrize(
    ("method", "where", "status"),
    [
        ("PATCH", f"{BASE}/x", 405),
        ("POST", "/_plugins/nope", 400),
        ("POST", "/some-index/_doc", 404),
        ("PUT", "/api", 404),
        ("PUT", "/api/v1/audit", 405),
    ],
)
def test_what_a_client_still_sends_is_read_before_it_is_refused(api, method, where, status):
    headers = {"Authorization": f"Bearer {api.secret}"}

    answer = api.client.generic(method, where, b"x" * 300_000, content_type="application/json", headers=headers)

    assert (answer.status_code, answer.wsgi_request.read(1)) == (status, b"")
