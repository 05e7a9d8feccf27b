import json

import pytest

from memadmin.llm import client
from memadmin.llm.client import BadAnswer, Endpoint, Message, Refused, Unreachable, chat, embed
from tests.model_server import DIMENSION, ModelServer, embeds, fails, raw, says, slow

ASKED = [Message("user", "What does Ann like?")]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "PAUSE", 0)


def endpoint(server: ModelServer, *, timeout: float = 5.0, key: str = "") -> Endpoint:
    return Endpoint(url=server.url, model="small", key=key, timeout=timeout)


def test_a_chat_sends_model_messages_and_key_and_returns_the_text(model: ModelServer):
    model.answer(says("Tea."))

    text = chat(endpoint(model, key="k-1"), ASKED, max_tokens=50)

    assert text == "Tea."
    assert model.keys == ["Bearer k-1"]
    assert model.requests[0] == {
        "path": "/v1/chat/completions",
        "model": "small",
        "messages": [{"role": "user", "content": "What does Ann like?"}],
        "temperature": 0,
        "max_tokens": 50,
    }


def test_embeddings_come_back_in_the_order_of_the_texts(model: ModelServer):
    model.answer(lambda body: (200, json.dumps({"data": [{"index": 1, "embedding": [2, 0]}, {"index": 0, "embedding": [1, 0]}]}).encode()))

    assert embed(endpoint(model), ["one", "two"]) == [[1.0, 0.0], [2.0, 0.0]]


def test_the_protocol_of_embeddings_is_spoken(model: ModelServer):
    model.answer(embeds)

    vectors = embed(endpoint(model), ["likes tea", "likes coffee"])

    assert [len(vector) for vector in vectors] == [DIMENSION, DIMENSION]
    assert embed(endpoint(model), []) == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_that_may_pass_is_tried_once_more(status: int, model: ModelServer):
    model.answer(fails(status), says("Tea."))

    assert chat(endpoint(model), ASKED, max_tokens=50) == "Tea."


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_keeps_failing_is_unreachable(status: int, model: ModelServer):
    model.answer(fails(status))

    with pytest.raises(Unreachable):
        chat(endpoint(model), ASKED, max_tokens=50)
    assert len(model.requests) == 2


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_a_refusal_is_not_tried_again(status: int, model: ModelServer):
    model.answer(fails(status))

    with pytest.raises(Refused):
        chat(endpoint(model), ASKED, max_tokens=50)
    assert len(model.requests) == 1


def test_a_slow_server_is_given_up_in_time(model: ModelServer):
    model.answer(slow(0.4, says("Tea.")))

    with pytest.raises(Unreachable):
        chat(endpoint(model, timeout=0.1), ASKED, max_tokens=50)


def test_no_server_is_unreachable():
    with pytest.raises(Unreachable):
        chat(Endpoint(url="http://127.0.0.1:9/v1", model="small"), ASKED, max_tokens=50)


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b"null", b"[]", b'{"choices": []}', b'{"choices": [{"message": {"content": 7}}]}', b"\xff\xfe", b"[" * 100_000],
)
def test_what_is_not_of_the_protocol_is_a_bad_answer(content: bytes, model: ModelServer):
    model.answer(raw(content))

    with pytest.raises(BadAnswer):
        chat(endpoint(model), ASKED, max_tokens=50)


@pytest.mark.parametrize(
    "content",
    [
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": ["x"]}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999]}]}',
    ],
)
def test_embeddings_that_do_not_fit_the_texts_are_a_bad_answer(content: bytes, model: ModelServer):
    model.answer(raw(content))

    with pytest.raises(BadAnswer):
        embed(endpoint(model), ["one"])


def test_an_endless_answer_is_not_read_to_its_end(model: ModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "MOST_BYTES", 1_000)
    model.answer(says("x" * 10_000))

    with pytest.raises(BadAnswer):
        chat(endpoint(model), ASKED, max_tokens=50)
