"""Which model endpoints this installation has. Both are optional; without one, what needs it says so."""

from __future__ import annotations

from django.conf import settings

from memadmin.llm.client import Endpoint


def chat_endpoint() -> Endpoint | None:
    return _endpoint(settings.LLM_URL, settings.LLM_MODEL, settings.LLM_API_KEY)


def embedding_endpoint() -> Endpoint | None:
    return _endpoint(settings.EMBEDDING_URL, settings.EMBEDDING_MODEL, settings.EMBEDDING_API_KEY)


def _endpoint(url: str | None, model: str, key: str) -> Endpoint | None:
    return None if url is None else Endpoint(url=url, model=model, key=key, timeout=float(settings.LLM_TIMEOUT_SECONDS))
