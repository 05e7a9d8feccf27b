"""A small server that speaks the protocol of model endpoints, and misbehaves on request. No model: answers are given by the test."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 512
Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


class ModelServer:
    """`answers` are given in turn, the last one again and again; `requests` are the bodies that came, `keys` their authorizations."""

    def __init__(self) -> None:
        self.answers: list[Answer] = [says("{}")]
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = ""

    def answer(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def material(self, number: int) -> dict[str, Any]:
        """Return what the model was shown with request `number`: the JSON of its last message."""
        shown: dict[str, Any] = json.loads(self.requests[number]["messages"][-1]["content"])
        return shown


def says(text: str) -> Answer:
    """Chat: the model's message is this text."""
    return lambda body: (200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode())


def says_json(value: Any) -> Answer:
    return says(json.dumps(value))


def fails(status: int) -> Answer:
    return lambda body: (status, b'{"error": {"message": "no"}}')


def raw(content: bytes) -> Answer:
    return lambda body: (200, content)


def slow(seconds: float, then: Answer) -> Answer:
    def answer(body: dict[str, Any]) -> tuple[int, bytes]:
        time.sleep(seconds)
        return then(body)

    return answer


def embeds(body: dict[str, Any]) -> tuple[int, bytes]:
    """Embeddings: words hashed into places, so that texts with the same words are near to each other."""
    rows = [{"index": place, "embedding": hashed(text)} for place, text in enumerate(body["input"])]
    return 200, json.dumps({"data": rows}).encode()


def hashed(text: str) -> list[float]:
    vector = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.casefold()):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % DIMENSION] += 1.0
    return vector


@contextmanager
def running() -> Iterator[ModelServer]:
    server = ModelServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(server))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _handler_of(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append({"path": self.path, **body})
            server.keys.append(self.headers["Authorization"])
            status, content = server.next_answer()(body)
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                return  # the client has given up, as it should with a slow server

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

    return Handler
