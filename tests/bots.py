"""A bot's container and what is put into it, over the API."""

from typing import Any

from tests.tokens import ApiClient

SAID = [
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
]
BASIC = {"messages": SAID, "payload_type": "conversational", "namespace": {"user_id": "bob"}}


def create(api: ApiClient, **configuration: Any) -> str:
    return str(api.post("/_create", {"name": "bot", "configuration": configuration}).json()["memory_container_id"])


def add(api: ApiClient, cid: str, **body: Any) -> Any:
    answer = api.post(f"/{cid}/memories", {**BASIC, **body})
    assert answer.status_code == 200, answer.content
    return answer.json()


def working(api: ApiClient, cid: str, **body: Any) -> str:
    """Store a payload and return its path."""
    return f"/{cid}/memories/working/{add(api, cid, **body)['working_memory_id']}"


def long_term(api: ApiClient, cid: str, **body: Any) -> str:
    given = {"memory": "likes tea", "namespace": {"user_id": "bob"}, **body}
    return f"/{cid}/memories/long-term/{api.post(f'/{cid}/memories/long-term', given).json()['memory_id']}"


def session(api: ApiClient, cid: str, **body: Any) -> str:
    return f"/{cid}/memories/sessions/{api.post(f'/{cid}/memories/sessions', {'summary': 'tea', **body}).json()['session_id']}"
