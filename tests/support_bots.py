"""Containers made over the compatible API, with every detail that a request can give."""

from typing import Any

from tests.tokens import ApiClient, reason_of

LLM = {"llm_id": "m-1"}
EMBEDDING = {"embedding_model_type": "TEXT_EMBEDDING", "embedding_model_id": "e-1", "embedding_dimension": 1024}
STRATEGY = {"type": "SEMANTIC", "namespace": ["user_id"]}
LEARNING = {**LLM, **EMBEDDING, "strategies": [STRATEGY]}


def create(api: ApiClient, configuration: Any = None, **details: Any) -> str:
    body = {"name": "support-bot", **({} if configuration is None else {"configuration": configuration}), **details}
    answer = api.post("/_create", body)
    assert answer.status_code == 200, answer.content
    return str(answer.json()["memory_container_id"])


def refused(api: ApiClient, configuration: Any = None, **details: Any) -> tuple[int, str, str]:
    return reason_of(api.post("/_create", {"name": "support-bot", "configuration": configuration, **details}))


def configuration_of(api: ApiClient, cid: str) -> Any:
    return api.get(f"/{cid}").json()["configuration"]
